// SPDX-License-Identifier: BSL-1.0
// What qio costs over the system call that it is made of, as ratios that hold still on a busy machine: both sides take
// turns of some hundred operations in one process, and what is compared are the medians of a turn.
#include "fixture.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

namespace {

using clock_type = std::chrono::steady_clock;
constexpr int rounds = 40, operations_a_turn = 200;

struct contender {
  const char* name;
  const char* beside;  ///< the name of the one it is compared with
  std::vector<double> latencies{}, medians{};

  void add(clock_type::time_point begin) {
    latencies.push_back(static_cast<double>((clock_type::now() - begin) / std::chrono::nanoseconds(1)));
  }
  void end_turn() { medians.push_back(median(std::exchange(latencies, {}))); }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
};

template <class Operation>
void take_turn(contender& which, Operation&& operation) {
  for (int i = 0; i < operations_a_turn; ++i) {
    const auto begin = clock_type::now();
    micro::require(operation() == micro::block, which.name);
    which.add(begin);
  }
  which.end_turn();
}

template <class Make>
qio::task<> take_awaited_turn(contender& which, Make make) {
  for (int i = 0; i < operations_a_turn; ++i) {
    const auto begin = clock_type::now();
    const qio::result<std::size_t> answer = co_await make();
    which.add(begin);
    micro::require(answer && answer.value() == micro::block, which.name);
  }
  which.end_turn();
}

void print(const std::vector<contender*>& all) {
  std::printf("%-28s %10s %8s\n", "", "median ns", "ratio");
  for (const contender* each : all) {
    std::printf("%-28s %10.0f", each->name, contender::median(each->medians));
    for (const contender* other : all) {
      if (each->beside == nullptr || std::strcmp(each->beside, other->name) != 0) continue;
      std::vector<double> ratios;
      for (int round = 0; round < rounds; ++round) {
        const auto at = static_cast<std::size_t>(round);
        ratios.push_back(each->medians[at] / other->medians[at]);
      }
      std::printf(" %8.3f of %s", contender::median(std::move(ratios)), other->name);
    }
    std::printf("\n");
  }
}

void compare() {
  using qio::access;
  using qio::creation;
  const micro::hot_file hot(micro::block);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, hot.path(), access::read_write).value();
  auto by_engine = qio::cached_file::open(context, hot.path(), access::read_write, creation::open_existing,
                                          {.inline_writes = qio::inline_transfers::never})
                       .value();
  auto mapped = qio::mapped_file::open(hot.path()).value();
  const std::byte* const bytes = mapped.view(0, micro::blocks * micro::block).value().data();
  auto buffer = qio::aligned_buffer::allocate(micro::block).value();
  std::memcpy(buffer.data(), bytes, micro::block);
  const int handle = file.native_handle();
  micro::hot_file::offsets offsets;
  const auto next = [&] { return static_cast<off_t>(offsets.next()); };
  const auto all_of = [](ssize_t answer) { return static_cast<std::size_t>(answer); };

  contender pread{"pread", nullptr}, blocking_read{"read_at", "pread"};
  contender nowait{"preadv2 with RWF_NOWAIT", nullptr}, async_read{"async_read_at", "preadv2 with RWF_NOWAIT"};
  contender pwrite{"pwrite", nullptr}, blocking_write{"write_at", "pwrite"}, async_write{"async_write_at", "pwrite"};
  contender engine_write{"async_write_at by engine", "pwrite"};
  contender copy{"memcpy from the mapping", nullptr}, mapped_read{"mapped read_at", "memcpy from the mapping"};
  for (int round = 0; round < rounds; ++round) {
    take_turn(pread, [&] { return all_of(::pread(handle, buffer.data(), micro::block, next())); });
    take_turn(blocking_read, [&] { return file.read_at(offsets.next(), buffer).value(); });
    take_turn(nowait, [&] {
      const iovec vector{buffer.data(), micro::block};
      return all_of(::preadv2(handle, &vector, 1, next(), RWF_NOWAIT));
    });
    context.run(take_awaited_turn(async_read, [&] { return file.async_read_at(offsets.next(), buffer); }));
    take_turn(pwrite, [&] { return all_of(::pwrite(handle, buffer.data(), micro::block, next())); });
    take_turn(blocking_write, [&] { return file.write_at(offsets.next(), buffer).value(); });
    context.run(take_awaited_turn(async_write, [&] { return file.async_write_at(offsets.next(), buffer); }));
    context.run(take_awaited_turn(engine_write, [&] { return by_engine.async_write_at(offsets.next(), buffer); }));
    take_turn(copy, [&] {
      std::memcpy(buffer.data(), bytes + offsets.next(), buffer.size());  // of libc, as in qio: the size is no constant
      asm volatile("" ::: "memory");                                      // the copy is not left out
      return micro::block;
    });
    take_turn(mapped_read, [&] { return mapped.read_at(offsets.next(), buffer).value(); });
  }
  print({&pread, &blocking_read, &nowait, &async_read, &pwrite, &blocking_write, &async_write, &engine_write, &copy,
         &mapped_read});
  const qio::file_statistics& paths = file.statistics();
  std::printf("served inline %llu, by the ring %llu, by workers %llu; blocked %llu\n",
              static_cast<unsigned long long>(paths.served_inline),
              static_cast<unsigned long long>(paths.served_by_ring),
              static_cast<unsigned long long>(paths.served_by_worker),
              static_cast<unsigned long long>(paths.blocked_submissions));
}

}  // namespace

int main() {
  try {
    compare();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "micro_ratios: %s\n", failure.what());
    return 1;
  }
  return 0;
}
