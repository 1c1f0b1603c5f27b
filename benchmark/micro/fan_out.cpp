// SPDX-License-Identifier: BSL-1.0
// 4 KiB random reads of a hot file by as many coroutines as the argument says, on one thread.
#include "fixture.hpp"

#include <benchmark/benchmark.h>

#include <vector>

namespace {

qio::task<> read_times(qio::async_cached_file& file, std::uint64_t times, micro::hot_file::offsets& offsets) {
  auto buffer = qio::aligned_buffer::allocate(micro::block).value();
  for (std::uint64_t count = 0; count < times; ++count) {
    const auto bytes = co_await file.async_read_at(offsets.next(), buffer);
    micro::require(bytes && bytes.value() == micro::block, "asynchronous read");
  }
}

void coroutines(benchmark::State& state, qio::engine_kind engine) {
  const micro::hot_file hot;
  auto context = qio::context::create({.engine = engine}).value();
  auto file = qio::cached_file::open(context, hot.path()).value();
  constexpr std::uint64_t reads_each = 256;
  micro::hot_file::offsets offsets;
  for (auto _ : state) {
    std::vector<qio::task<>> readers;
    for (std::int64_t index = 0; index < state.range(0); ++index)
      readers.push_back(read_times(file, reads_each, offsets));
    context.run(qio::when_all(std::move(readers)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(reads_each));
}
BENCHMARK_CAPTURE(coroutines, default, qio::engine_kind::any)->Arg(1)->Arg(32)->Arg(1024);
BENCHMARK_CAPTURE(coroutines, workers, qio::engine_kind::workers)->Arg(1)->Arg(32);

}  // namespace

BENCHMARK_MAIN();
