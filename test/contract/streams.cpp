// Streams: readers and writers of one file in sequence, in every mode and on every engine.
#include "world.hpp"
#include <qio/reader.hpp>
#include <qio/writer.hpp>

#include <coroutine>

namespace contract {

namespace {

template <class Answer, class Make>
qio::task<Answer> awaited_answer(Make& make) {
  co_return co_await make();
}

/// The answer of an operation of a stream: awaited if there is an engine, otherwise blocking.
template <class Answer, class World, class Make>
Answer answer_of(World& w, Make make) {
  if constexpr (World::is_async)
    return w.context->run(awaited_answer<Answer>(make));
  else
    return make();
}

template <class World>
auto next_of(World& w, qio::reader<typename World::file>& from) {
  return answer_of<qio::result<std::span<const std::byte>>>(w, [&] { return from.next(); });
}
template <class World>
auto read_of(World& w, qio::reader<typename World::file>& from, std::span<std::byte> target) {
  return answer_of<qio::result<std::size_t>>(w, [&] { return from.read(target); });
}
template <class World>
qio::result<void> write_to(World& w, qio::writer<typename World::file>& to, std::span<const std::byte> bytes) {
  return answer_of<qio::result<void>>(w, [&] { return to.write(bytes); });
}
template <class World>
qio::result<void> flush(World& w, qio::writer<typename World::file>& to) {
  return answer_of<qio::result<void>>(w, [&] { return to.flush(); });
}
template <class World>
qio::result<void> finish(World& w, qio::writer<typename World::file>& to, qio::finish_options options = {}) {
  return answer_of<qio::result<void>>(w, [&] { return to.finish(options); });
}

/// What a reader has returned until its end, or an error.
struct seen {
  std::uint64_t bytes = 0;
  bool is_right = true;  // the pattern, without a gap
  qio::error failure;
};

template <class World>
seen see_rest(World& w, qio::reader<typename World::file>& from) {
  seen all;
  for (;;) {
    const std::uint64_t position = from.position();
    const auto bytes = next_of(w, from);
    if (!bytes) {
      all.failure = bytes.error();
      return all;
    }
    if (bytes.value().empty()) return all;
    all.is_right =
        all.is_right && holds_pattern(bytes.value(), position) && from.position() == position + bytes.value().size();
    all.bytes += bytes.value().size();
  }
}

template <class World>
auto reader_of(typename World::file& from, const qio::reader_options& options = {}) {
  return qio::reader<typename World::file>::create(from, options);
}
template <class World>
auto writer_of(typename World::file& to, const qio::writer_options& options = {}) {
  return qio::writer<typename World::file>::create(to, options);
}

/// Bytes [offset, offset + bytes) of the file, read by other means.
template <class World>
std::vector<std::byte> bytes_of(World& w, typename World::file& from, std::uint64_t size) {
  memory all((static_cast<std::size_t>(size) + 8191) / 4096 * 4096);
  REQUIRE(w.read(from, 0, all.all()).value() == size);
  return {all.data(), all.data() + size};
}

/// Starts an operation of a stream that nothing continues after. False if it has completed at once.
template <class Operation>
bool suspend(Operation& operation) {
  if (operation.await_ready()) return false;
  operation.await_suspend(std::noop_coroutine());
  return true;
}

}  // namespace

// --- readers ---

PROMISE(stream_read, everywhere, "a reader returns the file from any offset to its end or a limit, in any blocks") {
  constexpr std::uint64_t size = 5 * 4096 + 100;
  auto file = w.with(size);
  for (const std::size_t block : {1u, 4096u, 12288u, 0u}) {
    for (const std::uint64_t offset :
         {std::uint64_t(0), std::uint64_t(1), std::uint64_t(5000), size - 1, size, 3 * size}) {
      for (const std::uint64_t limit : {std::uint64_t(0), std::uint64_t(4097), ~std::uint64_t(0)}) {
        CAPTURE(block, offset, limit);
        // Blocks of one byte are slow; only a direct file makes them longer.
        if (block == 1 && offset + 600 < size && limit > 600 && w.unit == 1) continue;
        auto from = reader_of<world<Where>>(
            file, {.offset = offset, .limit = limit, .block_bytes = block, .depth = block == 0 ? 0u : 3u});
        REQUIRE(from);
        CHECK(from.value().position() == offset);
        const seen all = see_rest(w, from.value());
        CHECK(!all.failure.exists());
        CHECK(all.is_right);
        CHECK(all.bytes == std::min(limit, size - std::min(offset, size)));
        CHECK(from.value().position() == offset + all.bytes);
      }
    }
  }
}

PROMISE(stream_copied, everywhere, "read() fills its target unless the file ends, and takes turns with next()") {
  auto file = w.with(20'000);
  auto from = reader_of<world<Where>>(file, {.offset = 7, .block_bytes = 4096}).value();
  memory target(12'288);
  CHECK(read_of(w, from, target.part(0, 0)).value() == 0);
  CHECK(read_of(w, from, target.part(0, 10)).value() == 10);
  CHECK(holds_pattern(target.part(0, 10), 7));
  CHECK(read_of(w, from, target.part(0, 9000)).value() == 9000);
  CHECK(holds_pattern(target.part(0, 9000), 17));
  CHECK(from.position() == 9017);
  const auto rest = next_of(w, from);  // of the block that read() has left
  CHECK(rest.value().size() > 0);
  CHECK(holds_pattern(rest.value(), 9017));
  const std::uint64_t at = from.position();
  CHECK(read_of(w, from, target.all()).value() == 20'000 - at);
  CHECK(holds_pattern(target.part(0, 20'000 - static_cast<std::size_t>(at)), at));
  CHECK(read_of(w, from, target.all()).value() == 0);
  CHECK(next_of(w, from).value().empty());
}

PROMISE(stream_grown, everywhere,
        "a reader at the end of a file goes on when the file has grown, and ends where it shrinks") {
  auto file = w.with(0);
  auto from = reader_of<world<Where>>(file, {.block_bytes = 4096, .depth = 4}).value();
  CHECK(next_of(w, from).value().empty());
  CHECK(next_of(w, from).value().empty());

  auto source = memory::with_pattern(0, 16 * 4096);
  REQUIRE(w.write(file, 0, source.part(0, 8192)).value() == 8192);
  REQUIRE(w.resize(file, 5000));
  CHECK(see_rest(w, from).bytes == 5000);
  REQUIRE(w.write(file, 0, source.all()).value() == source.all().size());
  const auto first = next_of(w, from);
  CHECK(holds_pattern(first.value(), 5000));
  CHECK(first.value().size() == 8192 - 5000);
  REQUIRE(w.resize(file, 10'000));
  const seen rest = see_rest(w, from);  // with blocks that were read before it shrank
  CHECK(rest.is_right);
  CHECK(!rest.failure.exists());
  CHECK(from.position() >= 10'000);
  CHECK(from.position() <= 8192 + 5 * 4096);
  CHECK(next_of(w, from).value().empty());
}

PROMISE(stream_moved, everywhere, "a reader and a writer may be moved, and those that were moved from fail") {
  auto file = w.with(3 * 4096);
  auto from = reader_of<world<Where>>(file, {.block_bytes = 4096, .depth = 2}).value();
  CHECK(next_of(w, from).value().size() == 4096);
  auto moved = std::move(from);
  CHECK(see_rest(w, moved).bytes == 2 * 4096);
  CHECK(next_of(w, from).error() == std::errc::bad_file_descriptor);
  CHECK(read_of(w, from, {}).error() == std::errc::bad_file_descriptor);
  auto to = writer_of<world<Where>>(file).value();
  auto moved_writer = std::move(to);
  CHECK(write_to(w, to, {}).error() == std::errc::bad_file_descriptor);
  CHECK(flush(w, to).error() == std::errc::bad_file_descriptor);
  CHECK(finish(w, to).error() == std::errc::bad_file_descriptor);
  CHECK(finish(w, moved_writer));
}

PROMISE(stream_refused, everywhere,
        "streams refuse offsets that a file cannot have, with the numbers, and closed files") {
  auto file = w.with(4096);
  const std::uint64_t largest = ~std::uint64_t(0) >> 1;
  const auto too_large = reader_of<world<Where>>(file, {.offset = largest + 1});
  REQUIRE(too_large.error() == errc::offset_too_large);
  CHECK(too_large.error().given() == largest + 1);
  CHECK(writer_of<world<Where>>(file, {.offset = largest + 1}).error() == errc::offset_too_large);
  auto at_end = reader_of<world<Where>>(file, {.offset = largest}).value();
  CHECK(next_of(w, at_end).value().empty());
  const auto misaligned = writer_of<world<Where>>(file, {.offset = 4097});
  CHECK(misaligned.has_value() == (w.unit == 1));
  if (w.unit != 1) {
    CHECK(misaligned.error() == errc::misaligned_offset);
    CHECK(misaligned.error().given() == 4097);
    CHECK(misaligned.error().needed() <= w.unit);
  }

  auto from = reader_of<world<Where>>(file, {.offset = 10}).value();
  auto to = writer_of<world<Where>>(file).value();
  REQUIRE(file.close());
  CHECK(next_of(w, from).error() == std::errc::bad_file_descriptor);
  memory source(1024 * 1024);
  const auto written = write_to(w, to, source.all());
  CHECK(finish(w, to).error() == std::errc::bad_file_descriptor);
  CHECK((written || written.error() == std::errc::bad_file_descriptor));
  CHECK(reader_of<world<Where>>(file).error() == std::errc::bad_file_descriptor);
  CHECK(writer_of<world<Where>>(file).error() == std::errc::bad_file_descriptor);
}

PROMISE(stream_destroyed, asynchronous,
        "destroying a reader ends its reads, and destroying a wait keeps what it has read") {
  auto file = w.with(64 * 4096);
  {
    auto from = reader_of<world<Where>>(file, {.block_bytes = 4096, .depth = 8}).value();
    CHECK(next_of(w, from).value().size() == 4096);
    auto operation = from.next();
    suspend(operation);
  }
  auto from = reader_of<world<Where>>(file, {.block_bytes = 4096, .depth = 8}).value();
  for (int i = 0; i < 3; ++i) {
    auto operation = from.next();
    if (!suspend(operation)) static_cast<void>(operation.await_resume());
  }
  const std::uint64_t position = from.position();
  CHECK(see_rest(w, from).bytes == 64 * 4096 - position);
  {
    auto unfinished = reader_of<world<Where>>(file, {.block_bytes = 4096, .depth = 8}).value();
    qio::operation_slot<decltype(unfinished.next())> operation;
    suspend(operation.emplace([&] { return unfinished.next(); }));
    { auto destroyed_first = std::move(unfinished); }
    operation.reset();
  }
  w.context->run();
}

PROMISE(stream_read_destroyed, asynchronous,
        "after an awaited read() of a reader is destroyed, the next one returns the same bytes") {
  constexpr std::size_t size = 64 * 4096;
  auto file = w.with(size);
  memory target(size);
  for (int turns = 0; turns < 40; ++turns) {
    CAPTURE(turns);
    auto from = reader_of<world<Where>>(file, {.offset = 10, .block_bytes = 4096, .depth = 4}).value();
    REQUIRE(read_of(w, from, target.part(0, 5000)).value() == 5000);
    bool has_all = false;
    {
      qio::task_scope scope(*w.context);
      scope.spawn([](auto& source, auto into, bool& ended) -> qio::task<void> {
        static_cast<void>(co_await source.read(into));
        ended = true;
      }(from, target.all(), has_all));
      for (int turn = 0; turn < turns; ++turn) w.context->poll();
    }
    if (has_all) return;
    CHECK(from.position() == 5010);
    const seen rest = see_rest(w, from);
    CHECK(rest.is_right);
    CHECK(rest.bytes == size - 5010);
  }
}

PROMISE(stream_ended, asynchronous,
        "a reader fails when its file is closed or its context ends, after the bytes that it has") {
  auto file = w.with(64 * 4096);
  auto from = reader_of<world<Where>>(file, {.block_bytes = 4096, .depth = 4}).value();
  CHECK(next_of(w, from).value().size() == 4096);
  REQUIRE(file.close());
  const seen rest = see_rest(w, from);
  CHECK(rest.is_right);
  CHECK(rest.bytes <= 5 * 4096);
  CHECK((rest.failure == std::errc::operation_canceled || rest.failure == std::errc::bad_file_descriptor));
  CHECK(see_rest(w, from).failure == std::errc::bad_file_descriptor);

  auto again = w.open("data", access::read, creation::open_existing).value();
  auto other = reader_of<world<Where>>(again, {.block_bytes = 4096, .depth = 4}).value();
  auto operation = other.next();
  const bool is_suspended = suspend(operation);
  w.context.reset();
  const auto answer = operation.await_resume();
  CHECK((answer.has_value() || (is_suspended && answer.error() == std::errc::operation_canceled)));
  for (int i = 0; i < 6; ++i) {
    auto later = other.next();
    const bool is_complete = later.await_ready();
    REQUIRE(is_complete);
    const auto refused = later.await_resume();
    if (!refused) CHECK((refused.error() == errc::context_closed || refused.error() == std::errc::operation_canceled));
    if (i == 5) CHECK(refused.error() == errc::context_closed);
  }
}

// --- writers ---

PROMISE(stream_written, everywhere, "a writer writes pieces of any length, and the file ends where they end") {
  auto source = memory::with_pattern(0, 50'001);
  for (const std::size_t block : {1u, 4096u, 0u}) {
    for (const unsigned depth : {1u, 0u}) {
      for (const std::size_t bytes : {0u, 1u, 4096u, 50'001u}) {
        CAPTURE(block, depth, bytes);
        if (block == 1 && w.unit == 1 && bytes > 4096) continue;  // slow
        auto file = w.with(0);
        auto to = writer_of<world<Where>>(file, {.block_bytes = block, .depth = depth}).value();
        for (std::size_t at = 0, length = 1; at < bytes; at += length, length = length % 9000 * 3 + 1) {
          length = std::min(length, bytes - at);
          REQUIRE(write_to(w, to, source.part(at, length)));
        }
        CHECK(to.position() == bytes);
        CHECK(to.bytes_written() <= bytes);
        REQUIRE(finish(w, to, {.durable = bytes == 4096}));
        CHECK(finish(w, to));
        CHECK(to.bytes_written() == bytes);
        CHECK(file.size().value() == bytes);
        CHECK(holds_pattern(bytes_of(w, file, bytes), 0));
      }
    }
  }
}

PROMISE(stream_finished_again, asynchronous,
        "after a finish() of a writer was destroyed, another one does not say that all is written unless it is") {
  auto source = memory::with_pattern(0, 50'001);
  for (int turns = 0; turns < 12; ++turns) {
    CAPTURE(turns);
    auto file = w.with(0);
    auto to = writer_of<world<Where>>(file, {.block_bytes = 4096}).value();
    REQUIRE(write_to(w, to, source.all().first(50'001)));
    {
      qio::task_scope scope(*w.context);
      scope.spawn(
          [](auto& ended) -> qio::task<void> { static_cast<void>(co_await ended.finish({.durable = true})); }(to));
      for (int turn = 0; turn < turns; ++turn) w.context->poll();
    }
    const auto again = finish(w, to, {.durable = true});
    if (again) {
      CHECK(holds_pattern(bytes_of(w, file, 50'001), 0));
    } else {
      CHECK(again.error() == std::errc::operation_canceled);
      CHECK(finish(w, to).error() == std::errc::operation_canceled);
    }
  }
}

PROMISE(stream_kept, everywhere, "a writer that ends within a file keeps what the file has behind it") {
  auto ones = memory(20'000);
  std::ranges::fill(ones.all(), std::byte{1});
  for (const std::size_t size : {6000u, 8192u, 30'000u}) {
    for (const std::uint64_t offset : {0u, 4096u}) {
      CAPTURE(size, offset);
      auto file = w.with(size);
      auto to = writer_of<world<Where>>(file, {.offset = offset, .block_bytes = 8192}).value();
      const std::size_t bytes = size - static_cast<std::size_t>(offset) - 500;
      REQUIRE(write_to(w, to, ones.part(0, std::min<std::size_t>(bytes, 20'000))));
      REQUIRE(finish(w, to));
      CHECK(file.size().value() == size);
      const auto all = bytes_of(w, file, size);
      const std::span<const std::byte> found(all);
      const auto end = static_cast<std::size_t>(to.position());
      CHECK(holds_pattern(found.first(static_cast<std::size_t>(offset)), 0));
      CHECK(holds_only(found.subspan(static_cast<std::size_t>(offset), end - static_cast<std::size_t>(offset)),
                       std::byte{1}));
      CHECK(holds_pattern(found.subspan(end), end));
    }
  }
}

PROMISE(stream_flushed, everywhere, "after flush(), the blocks that were full are in the file") {
  auto file = w.with(0);
  auto source = memory::with_pattern(0, 10 * 4096);
  auto to = writer_of<world<Where>>(file, {.block_bytes = 4096}).value();
  REQUIRE(flush(w, to));
  REQUIRE(write_to(w, to, source.part(0, 9 * 4096 + 10)));
  REQUIRE(flush(w, to));
  CHECK(to.bytes_written() == 9 * 4096);
  CHECK(file.size().value() == 9 * 4096);
  CHECK(holds_pattern(bytes_of(w, file, 9 * 4096), 0));
  { const auto destroyed = std::move(to); }  // without finish(): the last bytes are lost, and nothing else
  CHECK(file.size().value() == 9 * 4096);
}

PROMISE(stream_failed, everywhere, "the first error of a writer is the answer of every later call") {
  { auto made = w.with(4096); }
  auto file = w.open("data", access::read, creation::open_existing).value();
  memory source(64 * 4096);
  auto to = writer_of<world<Where>>(file, {.block_bytes = 4096, .depth = 2}).value();
  static_cast<void>(write_to(w, to, source.all()));
  for (int i = 0; i < 2; ++i) {
    CHECK(flush(w, to).error() == errc::access_not_granted);
    CHECK(write_to(w, to, source.part(0, 1)).error() == errc::access_not_granted);
    CHECK(write_to(w, to, {}).error() == errc::access_not_granted);
    CHECK(finish(w, to, {.durable = true}).error() == errc::access_not_granted);
  }
  CHECK(to.bytes_written() == 0);
}

PROMISE(stream_abandoned, asynchronous, "destroying a writer ends its writes, and so does the end of its context") {
  auto file = w.with(0);
  memory source(256 * 4096);
  {
    auto to = writer_of<world<Where>>(file, {.block_bytes = 4096, .depth = 8}).value();
    auto operation = to.write(source.all());
    suspend(operation);
  }
  w.context->run();
  auto to = writer_of<world<Where>>(file, {.block_bytes = 4096, .depth = 8}).value();
  auto operation = to.write(source.all());
  suspend(operation);
  w.context.reset();
  static_cast<void>(operation.await_resume());
  auto later = to.write(source.all());
  REQUIRE(later.await_ready());
  CHECK(later.await_resume().error() == std::errc::operation_canceled);  // errc::context_closed, too
}

// --- failing disks ---

#if !defined QIO_TEST_ENGINES
namespace {

/// A world on a disk of its own.
template <class Where>
struct world_on_disk {
  explicit world_on_disk(const qio::simulation_options& options = {}) : disk(options), on({.disk = &disk}) {}
  qio::simulated_disk disk;
  world<Where> on;
};

}  // namespace

PROMISE(stream_damaged, simulated,
        "a reader returns the bytes before a bad sector, then the error, and goes on later") {
  world_on_disk<Where> at;
  auto file = at.on.with(10 * 4096);
  auto from = reader_of<world<Where>>(file, {.offset = 100, .block_bytes = 4096, .depth = 4}).value();
  REQUIRE(at.disk.damage(at.on.where / "data", 5 * 4096 + 512, 1));
  for (int i = 0; i < 3; ++i) {
    const seen before = see_rest(at.on, from);
    CHECK(before.is_right);
    CHECK(before.failure == std::errc::io_error);
    CHECK(before.failure.transferred() == 0);
    CHECK(from.position() == 5 * 4096 + 512);
  }
  auto source = memory::with_pattern(5 * 4096, 4096);
  REQUIRE(at.on.write(file, 5 * 4096, source.all()).value() == 4096);
  const seen rest = see_rest(at.on, from);
  CHECK(!rest.failure.exists());
  CHECK(rest.is_right);
  CHECK(from.position() == 10 * 4096);

  auto copier = reader_of<world<Where>>(file, {.block_bytes = 4096}).value();
  REQUIRE(at.disk.damage(at.on.where / "data", 2 * 4096, 1));
  memory target(4 * 4096);
  const auto copied = read_of(at.on, copier, target.all());
  CHECK(copied.error() == std::errc::io_error);
  CHECK(copied.error().transferred() == 2 * 4096);
  CHECK(holds_pattern(target.part(0, 2 * 4096), 0));
}

PROMISE(stream_disturbed, simulated, "streams return and write the right bytes on a disk that disturbs every call") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    world_on_disk<Where> at({.seed = seed, .short_transfers = 0.3, .interruptions = 0.2});
    auto file = at.on.with(0);
    auto source = memory::with_pattern(0, 77'777);
    auto to = writer_of<world<Where>>(file, {.block_bytes = 4096}).value();
    REQUIRE(write_to(at.on, to, source.all()));
    REQUIRE(finish(at.on, to, {.durable = true}));
    auto from = reader_of<world<Where>>(file, {.offset = seed, .block_bytes = 4096, .depth = 5}).value();
    const seen all = see_rest(at.on, from);
    CHECK(all.is_right);
    CHECK(!all.failure.exists());
    CHECK(all.bytes == 77'777 - seed);
  }
}

PROMISE(stream_full, simulated, "on a full disk, a writer fails for good, and has written the bytes that it reports") {
  world_on_disk<Where> at({.capacity = 10 * 4096});
  auto file = at.on.with(0);
  auto source = memory::with_pattern(0, 30 * 4096);
  auto to = writer_of<world<Where>>(file, {.block_bytes = 3 * 4096, .depth = 3}).value();
  static_cast<void>(write_to(at.on, to, source.all()));
  CHECK(flush(at.on, to).error() == std::errc::no_space_on_device);
  CHECK(write_to(at.on, to, source.part(0, 1)).error() == std::errc::no_space_on_device);
  CHECK(finish(at.on, to).error() == std::errc::no_space_on_device);
  CHECK(to.bytes_written() <= 10 * 4096);
  memory found(10 * 4096);
  CHECK(at.on.read(file, 0, found.all()).value() >= to.bytes_written());
  CHECK(holds_pattern(found.part(0, static_cast<std::size_t>(to.bytes_written())), 0));
}

PROMISE(stream_durable, simulated, "what finish() made durable survives a crash, and a failed sync is its error") {
  world_on_disk<Where> at;
  auto source = memory::with_pattern(0, 9001);
  {
    auto file = at.on.with(0);
    auto to = writer_of<world<Where>>(file, {.block_bytes = 4096}).value();
    REQUIRE(write_to(at.on, to, source.all()));
    REQUIRE(finish(at.on, to, {.durable = true}));
    REQUIRE(at.disk.sync_directory(at.on.where.path()));
  }
  at.disk.restart();
  auto context = qio::basic_context<qio::simulated>::create({.disk = &at.disk}).value();
  auto file = qio::cached_file::open(context, at.on.where / "data").value();
  memory found(9001);
  CHECK(file.size().value() == 9001);
  CHECK(file.read_at(0, found.all()).value() == 9001);
  CHECK(holds_pattern(found.all(), 0));

  world_on_disk<Where> failing({.sync_errors = 1});
  auto other = failing.on.with(0);
  auto to = writer_of<world<Where>>(other).value();
  REQUIRE(write_to(failing.on, to, source.all()));
  CHECK(finish(failing.on, to, {.durable = true}).error() == std::errc::io_error);
  CHECK(finish(failing.on, to, {.durable = true}).error() == std::errc::io_error);
}
#endif

}  // namespace contract
