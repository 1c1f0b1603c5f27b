// Coroutines on a context: a write-ahead log with a deadline and a stop token, and reads at depth 32.
#include <qio/qio.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <vector>

using namespace std::chrono_literals;

qio::task<qio::result<std::size_t>> append(qio::async_cached_file& log, std::uint64_t offset,
                                           std::span<const std::byte> record, std::stop_token stop) {
  auto written = co_await log.async_write_at(offset, record, {.deadline = 500ms, .stop = stop});
  if (!written) co_return written;
  if (auto synced = co_await log.async_sync(qio::sync_kind::data_and_size); !synced) co_return synced.error();
  co_return written;
}

qio::task<std::size_t> read_block(qio::async_cached_file& log, std::uint64_t offset) {
  std::array<std::byte, 512> block;
  auto bytes = co_await log.async_read_at(offset, block);
  co_return bytes ? bytes.value() : 0;
}

int main() {
  auto context = qio::context::create().value();
  std::printf("%s", context.explain().text().c_str());
  auto log =
      qio::cached_file::open(context, "asynchronous.tmp", qio::access::read_write, qio::creation::always_new).value();

  std::stop_source stop;
  const std::vector<std::byte> record(32 * 512, std::byte{7});
  const std::size_t written = context.run(append(log, 0, record, stop.get_token())).value();

  std::vector<qio::task<std::size_t>> reads;
  for (std::uint64_t offset = 0; offset < written; offset += 512) reads.push_back(read_block(log, offset));
  std::size_t total = 0;
  for (std::size_t bytes : context.run(qio::when_all(std::move(reads)))) total += bytes;

  std::printf("wrote %zu bytes, read %zu back\n", written, total);
  std::remove("asynchronous.tmp");
  return total == written ? 0 : 1;
}
