// SPDX-License-Identifier: BSL-1.0
// 4 KiB random reads of a hot file, one at a time: qio beside the system calls that it is made of.
#include "fixture.hpp"

#include <benchmark/benchmark.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

namespace {

const micro::hot_file& hot_file() {
  static const micro::hot_file file;
  return file;
}

// `read(offset, buffer)` answers with the bytes read.
template <class Read>
void measure(benchmark::State& state, Read&& read) {
  auto buffer = qio::aligned_buffer::allocate(micro::block).value();
  micro::hot_file::offsets offsets;
  for (auto _ : state) micro::require(read(offsets.next(), buffer) == micro::block, "read");
}

void pread(benchmark::State& state) {
  const auto file = qio::cached_file::open(hot_file().path()).value();
  measure(state, [&](std::uint64_t offset, qio::aligned_buffer& buffer) {
    return static_cast<std::size_t>(
        ::pread(file.native_handle(), buffer.data(), buffer.size(), static_cast<off_t>(offset)));
  });
}
BENCHMARK(pread);

void preadv2_nowait(benchmark::State& state) {
  const auto file = qio::cached_file::open(hot_file().path()).value();
  measure(state, [&](std::uint64_t offset, qio::aligned_buffer& buffer) {
    const iovec vector{buffer.data(), buffer.size()};
    return static_cast<std::size_t>(
        ::preadv2(file.native_handle(), &vector, 1, static_cast<off_t>(offset), RWF_NOWAIT));
  });
}
BENCHMARK(preadv2_nowait);

void qio_blocking(benchmark::State& state) {
  const auto file = qio::cached_file::open(hot_file().path()).value();
  measure(state,
          [&](std::uint64_t offset, qio::aligned_buffer& buffer) { return file.read_at(offset, buffer).value(); });
}
BENCHMARK(qio_blocking);

qio::task<> read_until_enough(benchmark::State& state, qio::async_cached_file& file) {
  auto buffer = qio::aligned_buffer::allocate(micro::block).value();
  micro::hot_file::offsets offsets;
  for (auto _ : state) {
    const auto bytes = co_await file.async_read_at(offsets.next(), buffer);
    micro::require(bytes && bytes.value() == micro::block, "asynchronous read");
  }
}

void qio_asynchronous(benchmark::State& state) {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, hot_file().path()).value();
  context.run(read_until_enough(state, file));
}
BENCHMARK(qio_asynchronous);

void memcpy_from_mapping(benchmark::State& state) {
  const auto file = qio::mapped_file::open(hot_file().path()).value();
  const std::byte* const bytes = file.view(0, micro::blocks * micro::block).value().data();
  measure(state, [&](std::uint64_t offset, qio::aligned_buffer& buffer) {
    std::memcpy(buffer.data(), bytes + offset, buffer.size());  // of libc, as in qio: the size is no constant
    benchmark::ClobberMemory();
    return micro::block;
  });
}
BENCHMARK(memcpy_from_mapping);

void qio_mapped(benchmark::State& state) {
  const auto file = qio::mapped_file::open(hot_file().path()).value();
  measure(state,
          [&](std::uint64_t offset, qio::aligned_buffer& buffer) { return file.read_at(offset, buffer).value(); });
}
BENCHMARK(qio_mapped);

void qio_view(benchmark::State& state) {
  const auto file = qio::mapped_file::open(hot_file().path()).value();
  measure(state,
          [&](std::uint64_t offset, qio::aligned_buffer&) { return file.view(offset, micro::block).value().size(); });
}
BENCHMARK(qio_view);

}  // namespace

BENCHMARK_MAIN();
