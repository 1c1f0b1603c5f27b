// SPDX-License-Identifier: BSL-1.0
// A program with files and operations in every state, which check.py stops in gdb at stop_here(). Nothing depends on
// time: a worker is blocked until the end, and contexts run only where the program runs them.
#include <qio/call.hpp>
#include <qio/engine/simulated.hpp>
#include <qio/io_scheduler.hpp>
#include <qio/qio.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <semaphore>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

using simulated_context = qio::basic_context<qio::simulated>;
using simulated_file = qio::async_file<qio::cached, qio::simulated>;
using bytes = std::vector<std::byte>;

// What gdb cannot find in the frame of main().
struct {
  qio::task<std::size_t>* inner = nullptr;
  qio::task<std::size_t>* outer = nullptr;
} observed;

extern "C" [[gnu::noinline]] void stop_here() { asm volatile(""); }

qio::task<std::size_t> load(simulated_file& file, std::span<std::byte> into) {
  const auto loaded = co_await file.async_read_at(4096, into);
  co_return loaded ? loaded.value() : 0;
}

qio::task<std::size_t> load_twice(simulated_file& file, std::span<std::byte> into) {
  qio::task<std::size_t> first = load(file, into);
  observed.inner = &first;
  const std::size_t loaded = co_await std::move(first);
  co_return loaded + co_await load(file, into);
}

qio::task<> run_both(simulated_file& file, std::span<std::byte> into) {
  qio::task<std::size_t> both = load_twice(file, into);
  observed.outer = &both;
  static_cast<void>(co_await std::move(both));
}

qio::task<> nap(const simulated_context& context) {
  const auto slept = co_await context.sleep_for(std::chrono::seconds(5));
  if (!slept) std::puts("the context ended");
}

qio::task<> call(const simulated_context& context) {
  const auto called = co_await qio::async_call(context, [] {});  // whose type has no name
  if (!called) std::puts("not called");
}

qio::task<> stop_in_gdb() {
  stop_here();
  co_return;
}

int main() {
  using qio::access, qio::creation;
  const auto nothing = [](const auto&) {};
  bytes memory(4096);

  // --- errors and results ---
  [[maybe_unused]] const qio::error no_error;
  const qio::error misaligned(qio::errc::misaligned_offset, 1000, 512);
  [[maybe_unused]] const auto full = qio::error::of_transfer({ENOSPC, std::system_category()}, 1234);
  [[maybe_unused]] const qio::result<std::size_t> moved = std::size_t(77);
  [[maybe_unused]] const qio::result<void> done = qio::success();
  const auto missing = qio::cached_file::open("missing.tmp");
  const auto block = qio::aligned_buffer::allocate(8192, 512).value();
  const qio::const_buffer part(memory.data(), 100);

  // --- files without a context ---
  auto cached = qio::cached_file::open("cached\x1b.tmp", access::read_write, creation::always_new).value();
  cached.write_at(0, memory).value();
  auto mapped = qio::mapped_file::open("cached\x1b.tmp").value();
  auto direct =
      qio::direct_file::open("cached\x1b.tmp", access::read, {}, {.fallback = qio::if_unavailable::use_cache}).value();
  auto empty = qio::cached_file::open("cached\x1b.tmp").value();
  const auto moved_to = std::move(empty);

  // --- worker threads, of which the only one is blocked ---
  std::binary_semaphore begun(0), end(0);
  auto workers = qio::context::create({.engine = qio::engine_kind::workers, .workers = 1}).value();
  auto block_worker = qio::async_call(workers, [&] {
    begun.release();
    end.acquire();
  });
  block_worker.start(nothing);
  begun.acquire();
  auto by_workers = qio::cached_file::open(
                        workers, "workers.tmp", access::read, creation::always_new,
                        {.inline_reads = qio::inline_transfers::never, .inline_writes = qio::inline_transfers::never})
                        .value();
  auto waits_for_worker = by_workers.async_read_at(100, memory);
  waits_for_worker.start(nothing);
  auto refused = by_workers.async_read_at(~std::uint64_t(0), memory);
  refused.start(nothing);

  // --- a lock that another file holds ---
  auto holder = qio::cached_file::open("lock.tmp", access::read_write, creation::always_new).value();
  auto waits = qio::cached_file::open(workers, "lock.tmp", access::read_write).value();
  const bool is_locked = holder.try_lock(qio::lock_kind::exclusive).value();
  auto lock = waits.async_lock(qio::lock_kind::exclusive);
  lock.start(nothing);

  // --- the engine of this system ---
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "ring.tmp", access::read_write, creation::always_new,
                                     {.inline_reads = qio::inline_transfers::never})
                  .value();
  file.write_at(0, memory).value();
  auto ended = file.async_read_at(0, std::span(memory).first(5));
  ended.start(nothing);
  context.run();
  auto in_ring = file.async_read_at(0, memory);
  in_ring.start(nothing);

  // --- a simulated disk ---
  qio::simulated_disk disk({.seed = 1});
  auto simulation = simulated_context::create({.queue_depth = 3, .disk = &disk}).value();
  auto data = simulated_file::open(simulation, "data", access::read_write, creation::always_new).value();
  auto other = simulated_file::open(simulation, "other", access::read, creation::if_needed).value();
  [[maybe_unused]] const auto made = data.async_read_at(0, memory);
  auto write =
      data.async_write_at(8192, std::span(memory).first(1000), {.durable = true, .deadline = std::chrono::hours(1)});
  write.start([&write](const qio::result<std::size_t>&) { static_cast<void>(write); });
  auto sync = data.async_sync(qio::sync_kind::data);
  sync.start(nothing);
  std::array<bytes, 3> parts{bytes(10), bytes(20), bytes(30)};
  std::array<qio::read_request, 3> requests{qio::read_request{0, parts[0]}, qio::read_request{100, parts[1]},
                                            qio::read_request{200, parts[2]}};
  auto batch = other.async_read_many(requests);
  batch.start(nothing);
  qio::operation_slot<decltype(data.async_read_at(0, memory))> full_slot, empty_slot;
  full_slot.emplace([&] { return data.async_read_at(1, memory); });
  [[maybe_unused]] auto not_started = load(data, memory);

  // --- classes: a part is in flight, and one waits ---
  qio::io_scheduler scheduler;
  const qio::io_class background = scheduler.make_class({.bytes_per_second = 1});
  qio::simulated_disk own_disk({.seed = 1});
  auto scheduled = simulated_context::create({.io_class = background, .disk = &own_disk}).value();
  auto classed = simulated_file::open(scheduled, "classed", access::read_write, creation::always_new).value();
  auto has_part = classed.async_write_at(0, memory);
  has_part.start(nothing);
  auto waits_for_turn = classed.async_read_at(100, memory);
  waits_for_turn.start(nothing);

  simulation.run(qio::when_all(run_both(data, memory), nap(simulation), call(simulation), stop_in_gdb()));

  end.release();
  workers.poll();
  lock.cancel();
  workers.run();
  context.run();
  simulation.run();
  waits_for_turn.cancel();
  scheduled.run();
  for (const char* each : {"cached\x1b.tmp", "workers.tmp", "lock.tmp", "ring.tmp"}) std::remove(each);
  return is_locked ? 0 : 1;
}
