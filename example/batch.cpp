// Looks up many records of a file at once: one operation, an answer for each.
#include <qio/qio.hpp>

#include <array>
#include <cstdio>
#include <span>
#include <vector>

using namespace std::chrono_literals;
constexpr std::size_t record_bytes = 128, records = 10000;

struct lookup {
  std::size_t number;
  std::array<std::byte, record_bytes> record{};
};

/// Returns how many records were found.
qio::task<std::size_t> find(qio::async_cached_file& file, std::span<lookup> wanted) {
  std::vector<qio::read_request> batch;
  for (lookup& each : wanted) batch.push_back({.offset = each.number * record_bytes, .buffer = each.record});

  const auto failures = co_await file.async_read_many(batch, {.deadline = 10s});
  if (!failures) std::printf("the batch was refused: %s\n", failures.error().message().c_str());

  std::size_t found = 0;
  for (const qio::read_request& each : batch)
    if (!each.answer)
      std::printf("offset %llu: %s\n", static_cast<unsigned long long>(each.offset),
                  each.answer.error().message().c_str());
    else if (each.answer.value() == record_bytes)  // less at the end of the file
      ++found;
  co_return found;
}

int main() {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "batch.tmp", qio::access::read_write, qio::creation::always_new).value();

  // A batch of writes, without waiting for each.
  std::vector<std::byte> contents(record_bytes * records, std::byte{7});
  std::vector<qio::write_request> writes;
  for (std::size_t i = 0; i < 4; ++i)
    writes.push_back({.offset = i * contents.size() / 4,
                      .buffer = std::span(contents).subspan(i * contents.size() / 4, contents.size() / 4)});
  if (context.run(file.async_write_many(writes)).value() != 0) return 1;

  std::vector<lookup> wanted;
  for (std::size_t i = 0; i < 32; ++i) wanted.push_back({i * 7919 % records});
  wanted.push_back({records});  // past the end
  const std::size_t found = context.run(find(file, wanted));
  std::printf("%zu of %zu records\n", found, wanted.size());
  std::remove("batch.tmp");
  return found == 32 ? 0 : 1;
}
