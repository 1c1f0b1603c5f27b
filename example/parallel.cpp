// Reads many blocks at once. All of it ends after a deadline, or when another thread requests a stop.
#include <qio/qio.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stop_token>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;
constexpr std::size_t block = 4096, blocks = 64;

qio::task<qio::result<std::size_t>> read_block(qio::async_cached_file& file, std::size_t number,
                                               std::span<std::byte> buffer, qio::operation_options options) {
  co_return co_await file.async_read_at(number * block, buffer, options);
}

/// How many blocks were read, and what happened to the first that was not.
qio::task<std::size_t> read_all(qio::async_cached_file& file, std::span<std::byte> memory,
                                qio::operation_options options) {
  std::vector<qio::task<qio::result<std::size_t>>> reads;
  for (std::size_t i = 0; i < blocks; ++i)
    reads.push_back(read_block(file, i, memory.subspan(i * block, block), options));
  // The results are in the order of the tasks. An operation that was stopped may have completed nevertheless.
  const auto results = co_await qio::when_all(std::move(reads));
  const auto failed = std::ranges::find_if(results, [](const auto& each) { return !each; });
  if (failed != results.end()) {
    const bool was_late = failed->error() == std::errc::timed_out;
    std::printf("%s: %s\n", was_late ? "too late" : "stopped or failed", failed->error().message().c_str());
  }
  co_return static_cast<std::size_t>(std::ranges::count_if(results, [](const auto& each) { return each.has_value(); }));
}

int main() {
  auto context = qio::context::create().value();
  auto file =
      qio::cached_file::open(context, "parallel.tmp", qio::access::read_write, qio::creation::always_new).value();
  std::vector<std::byte> memory(blocks * block, std::byte{7});
  file.write_at(0, memory).value();

  std::stop_source stop;                                // request_stop() may be called from any thread
  const std::stop_token stopped_by = stop.get_token();  // the options refer to it
  const auto in_time = context.run(read_all(file, memory, {.deadline = 10s, .stop = stopped_by}));
  const auto too_late = context.run(read_all(file, memory, {.deadline = -1s}));
  stop.request_stop();
  const auto stopped = context.run(read_all(file, memory, {.stop = stopped_by}));
  std::printf("%zu, %zu and %zu blocks\n", in_time, too_late, stopped);
  std::remove("parallel.tmp");
  return in_time == blocks && too_late == 0 && stopped == 0 ? 0 : 1;
}
