// Counts the lines of a file that is read past the page cache, and writes those that are not empty to another one.
#include <qio/qio.hpp>
#include <qio/reader.hpp>
#include <qio/writer.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

using direct_file = qio::async_direct_file;

qio::task<qio::result<int>> copy_lines(direct_file& source, direct_file& target) {
  auto from = qio::reader<direct_file>::create(source);  // reads ahead, as far as the device needs it
  if (!from) co_return from.error();
  auto to = qio::writer<direct_file>::create(target);
  if (!to) co_return to.error();
  int lines = 0;
  std::byte last{'\n'};
  for (;;) {
    const auto bytes = co_await from.value().next();  // valid until the next call
    if (!bytes) co_return bytes.error();
    if (bytes.value().empty()) break;  // the end of the file
    std::string kept;
    for (const std::byte each : bytes.value()) {
      const bool is_end = each == std::byte{'\n'};
      lines += is_end ? 1 : 0;
      if (!is_end || last != each) kept += static_cast<char>(each);
      last = each;
    }
    const auto taken = co_await to.value().write(std::as_bytes(std::span(kept)));
    if (!taken) co_return taken.error();
  }
  // Only this writes the last block, and reports the errors of all.
  const auto finished = co_await to.value().finish({.durable = true});
  if (!finished) co_return finished.error();
  co_return lines;
}

int main() {
  auto context = qio::context::create().value();
  auto made = qio::cached_file::open("stream.tmp", qio::access::write, qio::creation::always_new).value();
  auto text = qio::writer<qio::cached_file>::create(made).value();  // without a context: it blocks
  for (int i = 0; i < 100'000; ++i) text.write(std::as_bytes(std::span("a line\n\n").first<8>())).value();
  text.finish().value();

  const qio::open_options options{.fallback = qio::if_unavailable::use_cache};
  auto source = qio::direct_file::open(context, "stream.tmp", qio::access::read, qio::creation::open_existing, options);
  auto target =
      qio::direct_file::open(context, "stream2.tmp", qio::access::read_write, qio::creation::always_new, options);
  const auto lines = context.run(copy_lines(source.value(), target.value()));
  const bool is_right = lines && lines.value() == 200'000 && target.value().size().value() == 700'000;
  std::printf("%s\n", lines ? std::to_string(lines.value()).c_str() : lines.error().message().c_str());
  std::remove("stream.tmp");
  std::remove("stream2.tmp");
  return is_right ? 0 : 1;
}
