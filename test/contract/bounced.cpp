// Reads and writes through a bounce_pool.
#include "world.hpp"
#include <qio/bounced.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace contract {

using namespace std::chrono_literals;

namespace {

qio::bounce_pool pool_of(std::size_t slots, std::size_t slot_bytes) {
  return qio::bounce_pool::allocate({.slots = slots, .slot_bytes = slot_bytes}).value();
}

template <class World>
qio::result<std::size_t> read(World& w, typename World::file& from, qio::bounce_pool& pool, std::uint64_t offset,
                              std::span<std::byte> into) {
  if constexpr (World::is_async)
    return w.template run<std::size_t>([&] { return qio::bounced(from, pool).async_read_at(offset, into); });
  else
    return qio::bounced(from, pool).read_at(offset, into);
}
template <class World>
qio::result<std::size_t> write(World& w, typename World::file& to, qio::bounce_pool& pool, std::uint64_t offset,
                               std::span<const std::byte> data) {
  if constexpr (World::is_async)
    return w.template run<std::size_t>([&] { return qio::bounced(to, pool).async_write_at(offset, data); });
  else
    return qio::bounced(to, pool).write_at(offset, data);
}
template <class World>
qio::result<std::size_t> read_many(World& w, typename World::file& from, qio::bounce_pool& pool,
                                   std::span<qio::read_request> requests, qio::bounce_options how = {}) {
  if constexpr (World::is_async)
    return w.template run<std::size_t>([&] { return qio::bounced(from, pool, how).async_read_many(requests); });
  else
    return qio::bounced(from, pool, how).read_many(requests);
}

/// Short reads at odd places of the file, each into memory of its own.
class odd_reads {
 public:
  odd_reads(std::size_t count, std::size_t bytes_of_file) : memory_(count * longest) {
    for (std::size_t i = 0; i < count; ++i)
      requests.push_back({.offset = (i * 7919 + 13) % bytes_of_file,
                          .buffer = memory_.part(i * longest + i % 3, 1 + i * 31 % (longest - 3))});
  }

  /// Each ended with all its bytes before the end of the file, or early with `why` and the bytes transferred by then.
  bool are_real(std::errc why, std::uint64_t size) const {
    return std::all_of(requests.begin(), requests.end(), [&](const qio::read_request& each) {
      if (!each.answer)
        return each.answer.error() == why &&
               holds_pattern(each.buffer.first(each.answer.error().transferred()), each.offset);
      const std::uint64_t there = each.offset < size ? size - each.offset : 0;
      return each.answer.value() == std::min<std::uint64_t>(there, each.buffer.size()) &&
             holds_pattern(each.buffer.first(each.answer.value()), each.offset);
    });
  }
  bool are_right(std::uint64_t size) const { return failures() == 0 && are_real(std::errc::io_error, size); }
  std::size_t failures() const {
    const auto failed = [](const qio::read_request& each) { return !each.answer; };
    return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(), failed));
  }

  std::vector<qio::read_request> requests;

 private:
  static constexpr std::size_t longest = 700;
  memory memory_;
};

/// What the file is after `data` was written at `offset` into `before`.
std::vector<std::byte> overwritten(std::vector<std::byte> before, std::size_t offset, std::span<const std::byte> data) {
  if (before.size() < offset + data.size()) before.resize(offset + data.size());
  std::copy(data.begin(), data.end(), before.begin() + static_cast<std::ptrdiff_t>(offset));
  return before;
}
std::vector<std::byte> patterned(std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = pattern(i);
  return made;
}

template <class World>
std::vector<std::byte> all_of(World& w, typename World::file& file) {
  auto pool = pool_of(1, 64 * block_size);
  std::vector<std::byte> found(static_cast<std::size_t>(file.size().value()) + 7);
  found.resize(read(w, file, pool, 0, found).value());
  return found;
}

}  // namespace

PROMISE(bounced_read, everywhere, "a bounced read has any offset, length and memory, and ends at the end of the file") {
  const std::size_t size = 5 * block_size + 100;
  auto file = w.with(size);
  auto pool = pool_of(2, 2 * block_size);  // shorter than the longest reads
  memory into(8 * block_size);
  for (const std::size_t offset : {std::size_t(0), std::size_t(1), block_size - 1, block_size, 3 * block_size + 511,
                                   size - 1, size, size + 1, 9 * block_size + 3})
    for (const std::size_t bytes :
         {std::size_t(0), std::size_t(1), std::size_t(100), block_size, block_size + 1, 7 * block_size}) {
      CAPTURE(offset, bytes);
      const auto buffer = into.part(offset % 5, bytes);
      std::fill(buffer.begin(), buffer.end(), std::byte{0});
      const std::size_t expected = offset < size ? std::min(bytes, size - offset) : 0;
      const std::uint64_t before = pool.statistics().requests;
      CHECK(read(w, file, pool, offset, buffer).value() == expected);
      CHECK(holds_pattern(buffer.first(expected), offset));
      // Behind the end, only what the kernel reads straight into this memory may touch it: btrfs does.
      const bool is_straight =
          std::is_same_v<typename Where::mode, qio::direct> && pool.statistics().requests == before;
      if (!is_straight) CHECK(holds_only(buffer.subspan(expected), std::byte{0}));
    }
  CHECK(pool.slots_in_use() == 0);
  CHECK((pool.statistics().requests != 0) == (file.alignment().read != 1));
}

PROMISE(bounced_batch, everywhere, "each read of a bounced batch has its own answer, merged with others or not") {
  const std::size_t size = 20 * block_size + w.unit / 2;
  auto file = w.with(size);
  auto pool = pool_of(3, 4 * block_size);
  for (const std::uint64_t gap : {0u, 100u, 5000u, 1u << 30})
    for (const std::size_t count : {0u, 1u, 2u, 3u, 40u, 300u}) {
      CAPTURE(gap, count);
      odd_reads reads(count, 21 * block_size);  // some are behind the end
      CHECK(read_many(w, file, pool, reads.requests, {.gap = gap}).value() == 0);
      CHECK(reads.are_right(size));
      CHECK(read_many(w, file, pool, reads.requests, {.gap = gap}).value() == 0);  // the same requests again
      CHECK(reads.are_right(size));
    }
  CHECK(pool.slots_in_use() == 0);
  CHECK(pool.statistics().transfers < pool.statistics().requests);
}

PROMISE(bounced_long, everywhere, "a batch may mix reads longer than a slot, aligned, empty and impossible ones") {
  auto file = w.with(32 * block_size);
  auto pool = pool_of(1, 2 * block_size);
  memory into(64 * block_size);
  std::vector<qio::read_request> requests{
      {.offset = 3, .buffer = into.part(1, 9 * block_size + 5)},
      {.offset = 20 * block_size, .buffer = into.part(10 * block_size, block_size)},
      {.offset = ~std::uint64_t(0) - 5, .buffer = into.part(12 * block_size, block_size)},
      {.offset = 777, .buffer = {}},
      {.offset = block_size + 1, .buffer = into.part(13 * block_size, 10)},
      {.offset = last_offset - 5, .buffer = into.part(14 * block_size, 100)},
      {.offset = 29 * block_size + 1, .buffer = into.part(16 * block_size, 10 * block_size)},
  };
  CHECK(read_many(w, file, pool, requests).value() == 2);
  CHECK(requests[0].answer.value() == 9 * block_size + 5);
  CHECK(holds_pattern(requests[0].buffer, 3));
  CHECK(requests[1].answer.value() == block_size);
  CHECK(holds_pattern(requests[1].buffer, 20 * block_size));
  CHECK(requests[2].answer.error() == errc::offset_too_large);
  CHECK(requests[3].answer.value() == 0);
  CHECK(requests[4].answer.value() == 10);
  CHECK(holds_pattern(requests[4].buffer, block_size + 1));
  CHECK(requests[5].answer.error() == errc::offset_too_large);
  CHECK(requests[6].answer.value() == 3 * block_size - 1);
  CHECK(holds_pattern(requests[6].buffer.first(3 * block_size - 1), 29 * block_size + 1));
}

PROMISE(bounced_merges, everywhere,
        "reads within the gap are merged, if a slot holds them; an aligned one goes alone") {
  auto file = w.with(32 * block_size);
  auto pool = pool_of(4, 4 * block_size);
  memory into(16 * block_size);
  const auto transfers_of = [&](std::vector<std::size_t> blocks, std::uint64_t gap) {
    std::vector<qio::read_request> requests;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      requests.push_back({.offset = blocks[i] * block_size, .buffer = into.part(i * block_size, block_size)});
    const qio::bounce_statistics before = pool.statistics();
    CHECK(read_many(w, file, pool, requests, {.gap = gap}).value() == 0);
    for (const auto& each : requests) CHECK(holds_pattern(each.buffer, each.offset));
    const qio::bounce_statistics& after = pool.statistics();
    return std::array<std::uint64_t, 4>{after.requests - before.requests, after.transfers - before.transfers,
                                        (after.transferred - before.transferred) / block_size,
                                        (after.copied - before.copied) / block_size};
  };
  using counts = std::array<std::uint64_t, 4>;
  CHECK(transfers_of({7}, block_size) == counts{0, 0, 0, 0});
  CHECK(transfers_of({1, 3, 5, 20}, block_size - 1) == counts{0, 0, 0, 0});
  CHECK(transfers_of({3, 1}, block_size) == counts{2, 1, 3, 2});
  CHECK(transfers_of({2, 1}, 0) == counts{2, 1, 2, 2});
  CHECK(transfers_of({1, 1}, 0) == counts{2, 1, 1, 2});
  CHECK(transfers_of({0, 1, 2, 3, 4, 5, 6, 7}, 0) == counts{8, 2, 8, 8});
  CHECK(transfers_of({0, 4}, 8 * block_size) == counts{0, 0, 0, 0});  // together longer than a slot
  if constexpr (Where::is_async) CHECK(file.statistics().bounced == pool.statistics().requests);
}

PROMISE(bounced_explicit, everywhere, "without bounced(), a file does not use a pool") {
  auto file = w.with(4 * block_size);
  std::array<std::byte, 100> into;
  if (file.alignment().read != 1) CHECK(w.read(file, 5, std::span<std::byte>(into)).error() == errc::misaligned_offset);
}

PROMISE(bounced_write, everywhere, "a bounced write changes its own bytes only, and the size only to its own end") {
  auto pool = pool_of(2, 2 * block_size);
  for (const std::size_t size :
       {std::size_t(0), std::size_t(1), block_size - 7, block_size, 3 * block_size + 100, 6 * block_size})
    for (const std::size_t offset :
         {std::size_t(0), std::size_t(5), block_size - 7, 2 * block_size + 1, 5 * block_size, 7 * block_size + 9})
      for (const std::size_t bytes :
           {std::size_t(0), std::size_t(1), std::size_t(600), block_size, 5 * block_size + 3}) {
        CAPTURE(size, offset, bytes);
        auto file = w.with(size);
        const std::vector<std::byte> data(bytes + 1, std::byte(0xa5));
        const auto buffer = std::span(data).subspan(1);
        CHECK(write(w, file, pool, offset, buffer).value() == bytes);
        const auto expected = bytes == 0 ? patterned(size) : overwritten(patterned(size), offset, buffer);
        CHECK(file.size().value() == expected.size());
        CHECK(all_of(w, file) == expected);
      }
  CHECK(pool.slots_in_use() == 0);
}

PROMISE(bounced_appends, everywhere, "bounced appends, one after another, make a file of exactly their bytes") {
  auto file = w.with(0);
  auto pool = pool_of(1, block_size);
  const auto source = patterned(5 * block_size + 1);
  for (std::size_t at = 0, bytes = 1; at < source.size(); at += bytes, bytes = bytes * 3 % 1709 + 1) {
    bytes = std::min(bytes, source.size() - at);
    CHECK(write(w, file, pool, at, std::span(source).subspan(at, bytes)).value() == bytes);
    CHECK(file.size().value() == at + bytes);
  }
  CHECK(all_of(w, file) == source);
}

PROMISE(bounced_access, everywhere, "a bounced transfer that the file was not opened for fails") {
  REQUIRE(w.with(2 * block_size).close());
  auto pool = pool_of(1, block_size);
  auto reading = w.open("data", access::read, creation::open_existing).value();
  std::array<std::byte, 100> bytes{};
  CHECK(write(w, reading, pool, 5, bytes).error() == errc::access_not_granted);
  auto writing = w.open("data", access::write, creation::open_existing).value();
  // An unaligned write reads the rest of its block.
  if (writing.alignment().write != 1) CHECK(write(w, writing, pool, 5, bytes).error() == errc::access_not_granted);
  CHECK(pool.slots_in_use() == 0);
}

PROMISE(bounced_closed, everywhere, "bounced transfers of a closed file fail, and so do all answers of a batch") {
  auto file = w.with(block_size);
  auto pool = pool_of(1, block_size);
  REQUIRE(file.close());
  odd_reads reads(3, block_size);
  std::array<std::byte, 100> bytes{};
  CHECK(read(w, file, pool, 1, bytes).error() == std::errc::bad_file_descriptor);
  CHECK(write(w, file, pool, 1, bytes).error() == std::errc::bad_file_descriptor);
  CHECK(read_many(w, file, pool, reads.requests).error() == std::errc::bad_file_descriptor);
  for (const auto& each : reads.requests) CHECK(each.answer.error() == std::errc::bad_file_descriptor);
}

PROMISE(bounced_durable, everywhere, "a durable bounced write writes the same bytes as others, to the same end") {
  auto pool = pool_of(2, 2 * block_size);
  const auto write_durably = [&](typename world<Where>::file& file, std::uint64_t offset, auto data) {
    if constexpr (Where::is_async)
      return w.template run<std::size_t>(
          [&] { return qio::bounced(file, pool).async_write_at(offset, data, {.durable = true}); });
    else
      return qio::bounced(file, pool).write_at(offset, data, {.durable = true});
  };
  for (const bool always : {false, true})
    for (const std::size_t offset : {std::size_t(0), block_size - 7, 3 * block_size, 3 * block_size + 9})
      for (const std::size_t bytes : {std::size_t(0), std::size_t(600), block_size, 5 * block_size + 3}) {
        CAPTURE(always, offset, bytes);
        const std::size_t size = 3 * block_size + 100;
        static_cast<void>(w.with(size));
        auto file = w.open("data", access::read_write, creation::open_existing, {.durable_writes = always}).value();
        const std::vector<std::byte> data(bytes + 1, std::byte(0xa5));
        const auto buffer = std::span(data).subspan(1);
        CHECK(write_durably(file, offset, buffer).value() == bytes);
        const auto expected = bytes == 0 ? patterned(size) : overwritten(patterned(size), offset, buffer);
        CHECK(file.size().value() == expected.size());
        CHECK(all_of(w, file) == expected);
      }
  auto reader = w.open("data", access::read, creation::open_existing).value();
  const std::vector<std::byte> data(100);
  const bool syncs = w.sync(reader, qio::sync_kind::data).has_value();  // Windows only syncs what may be written
  CHECK(write_durably(reader, 5, std::span(data)).error() == errc::access_not_granted);
  CHECK(w.sync(reader, qio::sync_kind::data).has_value() == syncs);  // what was refused is no failed sync
  CHECK(pool.slots_in_use() == 0);
}

PROMISE(bounced_untorn, everywhere,
        "a bounced write that does not fit an untorn one is refused, and nothing goes through the pool") {
  auto file = w.with(4 * block_size);
  auto pool = pool_of(2, 2 * block_size);
  const auto write_untorn = [&](std::uint64_t offset, std::span<const std::byte> data) {
    if constexpr (Where::is_async)
      return w.template run<std::size_t>(
          [&] { return qio::bounced(file, pool).async_write_at(offset, data, {.untorn = true}); });
    else
      return qio::bounced(file, pool).write_at(offset, data, {.untorn = true});
  };
  const auto limits = file.atomic_write_limits();
  const std::size_t smallest = limits.smallest;
  memory source(2 * block_size + smallest);
  if (limits.largest == 0) {
    CHECK(write_untorn(0, source.part(0, block_size)).error() == errc::untorn_not_supported);
    CHECK(write_untorn(5, source.part(1, 100)).error() == errc::untorn_not_supported);
  } else {
    const auto length = write_untorn(0, source.part(0, smallest - 1)).error();
    CHECK(length == errc::untorn_length);
    CHECK(length.given() == smallest - 1);
    CHECK(length.needed() == smallest);
    const auto offset = write_untorn(1, source.part(0, smallest)).error();
    CHECK(offset == errc::untorn_offset);
    CHECK(offset.given() == 1);
    CHECK(offset.needed() == smallest);
    if (file.alignment().memory > 1)
      CHECK(write_untorn(0, source.part(1, smallest)).error() == errc::misaligned_buffer);
    auto same = memory::with_pattern(0, smallest);
    CHECK(write_untorn(0, same.all()).value() == smallest);  // fits, so it goes straight to the file
  }
  CHECK(pool.statistics().requests == 0);
  CHECK(all_of(w, file) == patterned(4 * block_size));
  CHECK(w.sync(file, qio::sync_kind::data));
}

PROMISE(bounced_options, direct_only, "a bounce_pool has the size that was asked for, or says why it has none") {
  const auto pool = qio::bounce_pool::allocate({.slots = 3, .slot_bytes = block_size + 1}).value();
  CHECK(pool.slots() == 3);
  CHECK(pool.slot_bytes() == 2 * block_size);
  CHECK(pool.slots_in_use() == 0);
  for (const qio::bounce_pool_options wrong :
       {qio::bounce_pool_options{.slots = 0}, qio::bounce_pool_options{.slot_bytes = 0},
        qio::bounce_pool_options{.slot_bytes = (std::size_t(1) << 30) + 1}})
    CHECK(qio::bounce_pool::allocate(wrong).error() == std::errc::invalid_argument);
  CHECK(qio::bounce_pool::allocate({.slots = ~std::size_t(0) / 2}).error() == std::errc::not_enough_memory);

  memory own(4 * block_size);
  CHECK(qio::bounce_pool::in(own.part(0, 4 * block_size), block_size).value().slots() == 4);
  CHECK(qio::bounce_pool::in(own.part(0, 4 * block_size), 3 * block_size - 1).value().slots() == 1);
  CHECK(qio::bounce_pool::in(own.part(8, 2 * block_size), block_size).error() == std::errc::invalid_argument);
  CHECK(qio::bounce_pool::in(own.part(0, block_size), 2 * block_size).error() == std::errc::invalid_argument);
  CHECK(qio::bounce_pool::in({}, block_size).error() == std::errc::invalid_argument);
}

// --- asynchronous ---

PROMISE(bounced_registered, asynchronous, "a bounce_pool may be in the registered memory of the context") {
  world<Where> registered({.registered_bytes = 16 * block_size});
  auto file = registered.with(32 * block_size);
  const auto memory = registered.context->registered_memory();
  auto pool = qio::bounce_pool::in(memory.subspan(8 * block_size), 2 * block_size).value();
  CHECK(pool.slots() == 4);
  odd_reads reads(200, 32 * block_size);
  CHECK(read_many(registered, file, pool, reads.requests, {.gap = 512}).value() == 0);
  CHECK(reads.are_right(32 * block_size));
}

PROMISE(bounced_exhausted, asynchronous, "operations wait for slots in turn, and all complete") {
  auto file = w.with(64 * block_size);
  auto pool = pool_of(1, block_size);
  odd_reads one(100, 64 * block_size), other(70, 64 * block_size);
  std::array<std::byte, 50> alone{};
  std::size_t completed = 0, before_alone = 0;
  const auto count = [&completed](qio::result<std::size_t> failures) {
    completed += failures.value() == 0 ? 1u : 100u;
  };
  auto bounced = qio::bounced(file, pool);
  auto first = bounced.async_read_many(one.requests);
  auto second = bounced.async_read_many(other.requests);
  auto third = bounced.async_read_at(3 * block_size + 7, alone);
  first.start(count);
  second.start(count);
  third.start([&](qio::result<std::size_t> answer) {
    CHECK(answer.value() == alone.size());
    before_alone = completed;
  });
  w.context->run();
  CHECK(completed == 2);
  CHECK(one.are_right(64 * block_size));
  CHECK(other.are_right(64 * block_size));
  CHECK(holds_pattern(alone, 3 * block_size + 7));
  CHECK(pool.slots_in_use() == 0);
  if (file.alignment().read != 1) {
    CHECK(before_alone == 0);  // a batch that needs many slots takes one at a time
    CHECK(pool.statistics().waits >= 3);
  }
}

PROMISE(bounced_blocking_exhausted, asynchronous, "a blocking transfer fails if asynchronous ones hold all slots") {
  auto file = w.with(64 * block_size);
  if (file.alignment().read == 1) return;  // it needs no slot
  auto pool = pool_of(1, block_size);
  std::array<std::byte, 50> bytes{}, other{};
  auto bounced = qio::bounced(file, pool);
  auto held = bounced.async_read_at(5, bytes);
  bool is_right = false;
  held.start([&](qio::result<std::size_t> answer) { is_right = answer.value() == bytes.size(); });
  CHECK(pool.slots_in_use() == 1);
  CHECK(bounced.read_at(77, other).error() == std::errc::no_buffer_space);
  CHECK(bounced.write_at(77, other).error() == std::errc::no_buffer_space);
  std::vector<qio::read_request> requests{{.offset = 9, .buffer = other}, {.offset = 10, .buffer = other}};
  CHECK(bounced.read_many(requests).value() == 2);
  CHECK(requests[1].answer.error() == std::errc::no_buffer_space);
  w.context->run();
  CHECK(is_right);
  CHECK(bounced.read_at(77, other).value() == other.size());
}

PROMISE(bounced_canceled, asynchronous, "a canceled bounced batch keeps the answers it has, and gives back its slots") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  auto pool = pool_of(3, 2 * block_size);
  for (const int polls : {0, 1, 2, 5}) {
    CAPTURE(polls);
    odd_reads reads(150, 64 * block_size), others(20, 64 * block_size);
    std::size_t failures = 0;
    int calls = 0;
    auto bounced = qio::bounced(file, pool);
    auto batch = bounced.async_read_many(reads.requests);
    auto waiting = bounced.async_read_many(others.requests);
    batch.cancel();  // not started, so there is nothing to cancel
    batch.start([&](qio::result<std::size_t> answer) {
      ++calls;
      failures = answer.value();
    });
    waiting.start([&](qio::result<std::size_t> answer) { calls += answer.value() == 0 ? 10 : 1000; });
    for (int i = 0; i < polls; ++i) small.context->poll();
    batch.cancel();
    batch.cancel();
    small.context->run();
    CHECK(calls == 11);
    CHECK(reads.are_real(std::errc::operation_canceled, 64 * block_size));
    CHECK(failures == reads.failures());
    CHECK(others.are_right(64 * block_size));
    CHECK(pool.slots_in_use() == 0);
  }
}

PROMISE(bounced_stopped, asynchronous, "deadlines and stop tokens end bounced operations, in flight or waiting") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  auto pool = pool_of(1, block_size);
  auto bounced = qio::bounced(file, pool);
  for (const auto deadline : {-1us, 0us, 50us, 1000000us}) {
    odd_reads reads(150, 64 * block_size);
    std::optional<std::size_t> failures;
    qio::operation_slot<decltype(bounced.async_read_many({}, {}))> slot;
    slot.emplace([&] { return bounced.async_read_many(reads.requests, {.deadline = deadline}); })
        .start([&](qio::result<std::size_t> answer) { failures = answer ? answer.value() : reads.requests.size(); });
    small.context->run();
    CHECK(reads.are_real(std::errc::timed_out, 64 * block_size));
    CHECK(failures == reads.failures());
  }
  std::stop_source source;
  const std::stop_token token = source.get_token();
  odd_reads reads(150, 64 * block_size);
  std::array<std::byte, 50> bytes{};
  qio::operation_slot<decltype(bounced.async_read_many({}, {}))> many;
  qio::operation_slot<decltype(bounced.async_read_at(0, bytes, {}))> one;
  int calls = 0;
  many.emplace([&] { return bounced.async_read_many(reads.requests, {.stop = token}); }).start([&](auto) { ++calls; });
  one.emplace([&] { return bounced.async_read_at(1, bytes, {.stop = token}); }).start([&](auto answer) {
    calls += answer || answer.error() == std::errc::operation_canceled ? 10 : 100;
  });
  source.request_stop();
  small.context->run();
  CHECK(calls == 11);
  CHECK(reads.are_real(std::errc::operation_canceled, 64 * block_size));
  const auto late = small.context->run(bounced.async_write_at(1, bytes, {.stop = token}));
  CHECK(late.error() == std::errc::operation_canceled);
  CHECK(pool.slots_in_use() == 0);
}

PROMISE(bounced_write_options, asynchronous, "a bounced write takes its own options, and those of other operations") {
  auto file = w.with(4 * block_size);
  auto pool = pool_of(1, 2 * block_size);
  const auto bounced = qio::bounced(file, pool);
  const std::vector<std::byte> data(block_size + 1, std::byte(0xa5));
  const auto wrote = [&](auto make) { return w.template run<std::size_t>(make).value() == data.size(); };
  CHECK(wrote([&] { return bounced.async_write_at(1, data, {}); }));
  CHECK(wrote([&] { return bounced.async_write_at(1, data, {.deadline = 1h}); }));
  CHECK(wrote([&] { return bounced.async_write_at(1, data, {.durable = true, .deadline = 1h}); }));
  const qio::operation_options in_time{.deadline = 1h};
  CHECK(wrote([&] { return bounced.async_write_at(1, data, in_time); }));
  const auto written = overwritten(patterned(4 * block_size), 1, data);
  CHECK(all_of(w, file) == written);

  const std::vector<std::byte> other(data.size(), std::byte(0x5a));
  std::stop_source stop;
  stop.request_stop();
  const std::stop_token stopped = stop.get_token();
  const qio::operation_options too_late{.deadline = std::chrono::hours(-24 * 40000)};  // on any clock
  const auto fails = [&](auto make) { return w.template run<std::size_t>(make).error(); };
  for (const bool durable : {false, true}) {
    CHECK(fails([&] { return bounced.async_write_at(1, other, {.durable = durable, .stop = stopped}); }) ==
          std::errc::operation_canceled);
    CHECK(fails([&] {
            return bounced.async_write_at(1, other, {.durable = durable, .deadline = too_late.deadline});
          }) == std::errc::timed_out);
  }
  CHECK(fails([&] { return bounced.async_write_at(1, other, too_late); }) == std::errc::timed_out);
  CHECK(all_of(w, file) == written);
  CHECK(w.sync(file, qio::sync_kind::data));  // what has not started is no failed sync
}

PROMISE(bounced_destroyed, asynchronous,
        "destroying a bounced operation joins its transfers, and others get its slots") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  auto pool = pool_of(2, block_size);
  for (const int polls : {0, 1, 3}) {
    CAPTURE(polls);
    auto reads = std::make_unique<odd_reads>(100, 64 * block_size);
    odd_reads others(30, 64 * block_size);
    int calls = 0;
    auto bounced = qio::bounced(file, pool);
    auto waiting = bounced.async_read_many(others.requests);
    {
      auto batch = bounced.async_read_many(reads->requests);
      batch.start([&calls](auto) { calls += 100; });
      waiting.start([&calls](auto failures) { calls += failures.value() == 0 ? 1 : 1000; });
      for (int i = 0; i < polls; ++i) small.context->poll();
    }
    CHECK(reads->are_real(std::errc::operation_canceled, 64 * block_size));
    reads.reset();  // nothing uses the memory any more
    small.context->run();
    CHECK(calls % 100 == 1);
    CHECK(others.are_right(64 * block_size));
    CHECK(pool.slots_in_use() == 0);
  }
  odd_reads unstarted(2, 64 * block_size);
  static_cast<void>(qio::bounced(file, pool).async_read_many(unstarted.requests));
  CHECK(unstarted.failures() == 2);
}

PROMISE(bounced_file_closed, asynchronous, "closing the file ends bounced operations, in flight or waiting") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  auto pool = pool_of(2, block_size);
  odd_reads reads(100, 64 * block_size), others(10, 64 * block_size);
  int calls = 0;
  auto bounced = qio::bounced(file, pool);
  auto batch = bounced.async_read_many(reads.requests);
  auto waiting = bounced.async_read_many(others.requests);
  batch.start([&](qio::result<std::size_t> failures) { calls += failures.value() == reads.failures() ? 1 : 100; });
  waiting.start([&](qio::result<std::size_t> failures) { calls += failures.value() == others.failures() ? 10 : 1000; });
  CHECK(file.close());
  small.context->run();
  CHECK(calls == 11);
  CHECK(reads.are_real(std::errc::operation_canceled, 64 * block_size));
  CHECK(others.are_real(std::errc::operation_canceled, 64 * block_size));
  CHECK(pool.slots_in_use() == 0);
}

PROMISE(bounced_context_gone, asynchronous, "the end of the context ends bounced operations, and refuses the next") {
  auto file = w.with(64 * block_size);
  auto pool = pool_of(2, block_size);
  odd_reads reads(100, 64 * block_size), others(10, 64 * block_size);
  std::array<std::byte, 50> bytes{};
  int calls = 0;
  auto bounced = qio::bounced(file, pool);
  auto batch = bounced.async_read_many(reads.requests);
  auto waiting = bounced.async_read_many(others.requests);
  auto appending = bounced.async_write_at(64 * block_size - 7, bytes);
  const auto count = [&](qio::result<std::size_t>) { ++calls; };
  appending.start(count);
  batch.start(count);
  waiting.start(count);
  w.context.reset();
  CHECK(calls == 3);
  CHECK(pool.slots_in_use() == 0);
  CHECK(file.size().value() <= 64 * block_size + bytes.size() - 7);

  auto refused = bounced.async_read_at(1, bytes);
  refused.start([&](qio::result<std::size_t> answer) { calls += answer.error() == errc::context_closed ? 10 : 100; });
  CHECK(calls == 13);
}

PROMISE(bounced_write_ends_early, asynchronous, "a bounced write that ends early leaves no zeros behind its end") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto pool = pool_of(1, block_size);
  const std::vector<std::byte> data(2 * block_size, std::byte(0xa5));
  for (const auto& [is_destroyed, durable] : {std::pair(false, false), {true, false}, {false, true}, {true, true}})
    for (int polls = 0; polls < 12; ++polls) {
      CAPTURE(is_destroyed, durable, polls);
      auto file = small.with(block_size + 100);
      auto bounced = qio::bounced(file, pool);
      using write_type = decltype(bounced.async_write_at(0, data, {}));
      qio::operation_slot<write_type> slot;
      std::optional<qio::result<std::size_t>> answer;
      slot.emplace([&, is_durable = durable] { return bounced.async_write_at(50, data, {.durable = is_durable}); })
          .start([&](auto given) { answer = given; });
      for (int i = 0; i < polls; ++i) small.context->poll();
      if (is_destroyed)
        slot.reset();
      else
        slot->cancel();
      small.context->run();
      CHECK(pool.slots_in_use() == 0);
      const auto size = file.size().value();
      const auto found = all_of(small, file);
      CHECK(size <= 50 + data.size());
      CHECK(holds_pattern(std::span(found).first(50), 0));
      if (answer) {
        const std::size_t moved = *answer ? answer->value() : answer->error().transferred();
        const auto expected = overwritten(patterned(block_size + 100), 50, std::span(data).first(moved));
        CHECK(found == expected);
      }
    }
}

PROMISE(bounced_together, asynchronous, "bounced operations of many tasks share a pool") {
  auto file = w.with(64 * block_size);
  auto pool = pool_of(3, 2 * block_size);
  const auto use = [](auto& from, qio::bounce_pool& through, std::size_t number) -> qio::task<bool> {
    std::array<std::byte, 300> bytes{};
    bool is_right = true;
    for (std::size_t i = 0; i < 10; ++i) {
      const std::uint64_t at = (number * 10 + i) * 641 + 5;
      const auto answer = co_await qio::bounced(from, through).async_read_at(at, bytes);
      is_right = is_right && answer && answer.value() == bytes.size() && holds_pattern(bytes, at);
    }
    co_return is_right;
  };
  std::vector<qio::task<bool>> tasks;
  for (std::size_t i = 0; i < 20; ++i) tasks.push_back(use(file, pool, i));
  for (const bool is_right : w.context->run(qio::when_all(std::move(tasks)))) CHECK(is_right);
  CHECK(pool.slots_in_use() == 0);
}

}  // namespace contract
