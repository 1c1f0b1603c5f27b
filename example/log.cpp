// A log whose records are durable when append() completes. Records of several tasks share each write.
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using cached_log = qio::log_writer<qio::cached>;

qio::task<qio::result<cached_log>> open(const qio::context& context, std::vector<std::string>& found) {
  auto file = qio::cached_file::open(context, "log.tmp", qio::access::read_write, qio::creation::if_needed);
  if (!file) co_return file.error();
  // The name of a new file is durable only after this.
  if (auto synced = co_await qio::async_sync_directory(context, "."); !synced) co_return synced.error();
  // Called for each record that survived. Here it would compare a checksum, and return whether that is right.
  const auto visit = [&found](const qio::log_record& each) {
    found.emplace_back(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
    return true;
  };
  co_return co_await qio::open_log(std::move(file).value(), visit, {.extent = 1 << 20});
}

qio::task<bool> append(cached_log& to, std::string_view record) {
  const qio::result<std::uint64_t> number = co_await to.append(std::as_bytes(std::span(record)));
  // After a failure, every append fails: destroy the log and open it again, which finds out what is there.
  if (!number) std::printf("%s\n", number.error().message().c_str());
  co_return number.has_value();
}

qio::task<bool> append_two(const qio::context& context) {
  std::vector<std::string> found;
  auto opened = co_await open(context, found);
  if (!opened) co_return false;
  std::printf("%zu records were there\n", found.size());
  std::vector<qio::task<bool>> both;
  both.push_back(append(opened.value(), "first"));
  both.push_back(append(opened.value(), "second"));
  const auto durable = co_await qio::when_all(std::move(both));  // in one write
  co_return durable[0] && durable[1];
}

int main() {
  std::remove("log.tmp");
  auto context = qio::context::create().value();
  const bool appended = context.run(append_two(context)) && context.run(append_two(context));
  std::vector<std::string> found;
  const bool is_complete = context.run(open(context, found)).has_value() && found.size() == 4 && found[1] == "second";
  std::remove("log.tmp");
  return appended && is_complete ? 0 : 1;
}
