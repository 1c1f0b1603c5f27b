// SPDX-License-Identifier: BSL-1.0
// 4 KiB random writes to a file in the page cache, one at a time: qio beside pwrite, and by way of the engine.
#include "fixture.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

namespace {

const micro::hot_file& hot_file() {
  static const micro::hot_file file(micro::block);
  return file;
}

// `write(offset, buffer)` answers with the bytes written.
template <class Write>
void measure(benchmark::State& state, Write&& write) {
  auto buffer = qio::aligned_buffer::allocate(micro::block).value();
  micro::hot_file::offsets offsets;
  for (auto _ : state) micro::require(write(offsets.next(), buffer) == micro::block, "write");
}

void pwrite(benchmark::State& state) {
  const auto file = qio::cached_file::open(hot_file().path(), qio::access::read_write).value();
  measure(state, [&](std::uint64_t offset, qio::aligned_buffer& buffer) {
    return static_cast<std::size_t>(
        ::pwrite(file.native_handle(), buffer.data(), buffer.size(), static_cast<off_t>(offset)));
  });
}
BENCHMARK(pwrite);

void qio_blocking(benchmark::State& state) {
  auto file = qio::cached_file::open(hot_file().path(), qio::access::read_write).value();
  measure(state,
          [&](std::uint64_t offset, qio::aligned_buffer& buffer) { return file.write_at(offset, buffer).value(); });
}
BENCHMARK(qio_blocking);

qio::task<> write_until_enough(benchmark::State& state, qio::async_cached_file& file) {
  auto buffer = qio::aligned_buffer::allocate(micro::block).value();
  micro::hot_file::offsets offsets;
  for (auto _ : state) {
    const auto bytes = co_await file.async_write_at(offsets.next(), buffer);
    micro::require(bytes && bytes.value() == micro::block, "asynchronous write");
  }
}

void measure_asynchronous(benchmark::State& state, qio::inline_transfers inline_writes) {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, hot_file().path(), qio::access::read_write, qio::creation::open_existing,
                                     {.inline_writes = inline_writes})
                  .value();
  context.run(write_until_enough(state, file));
  state.counters["inline"] = static_cast<double>(file.statistics().served_inline);
  state.counters["blocked"] = static_cast<double>(file.statistics().blocked_submissions);
}

void qio_asynchronous(benchmark::State& state) { measure_asynchronous(state, qio::inline_transfers::automatic); }
BENCHMARK(qio_asynchronous);

void qio_asynchronous_by_engine(benchmark::State& state) { measure_asynchronous(state, qio::inline_transfers::never); }
BENCHMARK(qio_asynchronous_by_engine);

}  // namespace

BENCHMARK_MAIN();
