// Linux AIO: which transfers it carries out, and what happens to those that it does not.
#include "catch.hpp"
#include "sizes.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include "child_process.hpp"
#include "directory.hpp"
#include "os.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace {

/// A direct file of some blocks, each filled with its number, on a context that has Linux AIO.
struct direct_blocks {
  explicit direct_blocks(std::size_t count, unsigned depth = 256) {
    auto created = qio::context::create({.engine = qio::engine_kind::aio, .queue_depth = depth});
    if (!created) {
      missing = "no Linux AIO: " + created.error().message();
      return;
    }
    context.emplace(std::move(created).value());
    auto opened = qio::direct_file::open(*context, path, qio::access::read_write, qio::creation::always_new);
    if (!opened) {
      missing = "no direct files: " + opened.error().message();
      return;
    }
    if (os::is_in_overlay(where.path())) missing = "an overlay, of which Linux AIO gets no transfers";
    file.emplace(std::move(opened).value());
    for (std::size_t i = 0; i < count; ++i) {
      fill(0, i);
      if (!file->write_at(i * block_size, part(0))) missing = "a write failed";
    }
  }

  std::span<std::byte> part(std::size_t index) {
    return std::span(memory.value()).subspan(index * block_size, block_size);
  }
  void fill(std::size_t index, std::size_t with) {
    for (std::byte& each : part(index)) each = std::byte(with);
  }
  bool holds(std::size_t index, std::size_t what) {
    for (const std::byte each : part(index))
      if (each != std::byte(what)) return false;
    return true;
  }

  const qio_test::directory where;
  const std::string path = where / "file";
  qio::result<qio::aligned_buffer> memory = qio::aligned_buffer::allocate(32 * block_size, block_size);
  std::optional<qio::context> context;
  std::optional<qio::basic_file<qio::direct, qio::default_engine>> file;
  std::string missing;
};

/// Whether writes within a file of this directory go to Linux AIO.
bool is_known_to_write_at_once(const std::string& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool does = qio::platform::file_storage(handle).writes_directly_at_once();
  ::close(handle);
  return does;
}

}  // namespace

TEST_CASE("Linux AIO carries out direct reads, and workers the syncs and cached transfers of the same context") {
  direct_blocks blocks(4);
  if (!blocks.missing.empty()) QIO_SKIP(blocks.missing);
  CHECK(blocks.context->explain().find("engine")->value == "aio");
  REQUIRE(blocks.context->run(blocks.file->async_sync()));
  const std::uint64_t before = blocks.file->statistics().served_by_worker;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(blocks.context->run(blocks.file->async_read_at(i * block_size, blocks.part(i))).value() == block_size);
    CHECK(blocks.holds(i, i));
  }
  CHECK(blocks.file->statistics().served_by_ring == 4);
  CHECK(blocks.file->statistics().served_by_worker == before);

  auto cached = qio::cached_file::open(*blocks.context, blocks.path, qio::access::read, qio::creation::open_existing,
                                       {.inline_reads = qio::inline_transfers::never})
                    .value();
  CHECK(blocks.context->run(cached.async_read_at(block_size, blocks.part(0))).value() == block_size);
  CHECK(blocks.holds(0, 1));
  CHECK(cached.statistics().served_by_worker == 1);
}

TEST_CASE("Linux AIO reads and writes several buffers, and ends at the end of the file") {
  direct_blocks blocks(4);
  if (!blocks.missing.empty()) QIO_SKIP(blocks.missing);
  const std::array<qio::mutable_buffer, 3> scattered{blocks.part(5), blocks.part(2), blocks.part(9)};
  CHECK(blocks.context->run(blocks.file->async_read_at(block_size, scattered)).value() == 3 * block_size);
  CHECK(blocks.holds(5, 1));
  CHECK(blocks.holds(2, 2));
  CHECK(blocks.holds(9, 3));
  CHECK(blocks.context->run(blocks.file->async_read_at(2 * block_size, scattered)).value() == 2 * block_size);
  CHECK(blocks.context->run(blocks.file->async_read_at(4 * block_size, scattered)).value() == 0);
  blocks.fill(9, 50);
  const std::array<qio::const_buffer, 3> gathered{blocks.part(5), blocks.part(2), blocks.part(9)};
  CHECK(blocks.context->run(blocks.file->async_write_at(0, gathered)).value() == 3 * block_size);
  CHECK(blocks.context->run(blocks.file->async_read_at(2 * block_size, blocks.part(0))).value() == block_size);
  CHECK(blocks.holds(0, 50));
}

TEST_CASE("writes within a file go to Linux AIO, and those that extend it to a worker") {
  direct_blocks blocks(2);
  if (!blocks.missing.empty()) QIO_SKIP(blocks.missing);
  if (!is_known_to_write_at_once(blocks.path)) QIO_SKIP("for ext4 and XFS");
  struct step {
    std::size_t at;
    bool is_within;
  };
  std::uint64_t within = 0, extending = 0;
  const auto write = [&](const step& each) {
    ++(each.is_within ? within : extending);
    blocks.fill(0, each.at + 100);
    CHECK(blocks.context->run(blocks.file->async_write_at(each.at * block_size, blocks.part(0))).value() == block_size);
    CHECK(blocks.file->statistics().served_by_ring == within);
    CHECK(blocks.file->statistics().served_by_worker == extending);
  };
  for (const step& each : {step{1, true}, step{2, false}, step{2, true}, step{0, true}, step{3, false}, step{3, true}})
    write(each);
  // What is known of the size ends with a resize by this file.
  REQUIRE(blocks.file->resize(block_size));
  write({3, false});
  write({1, true});
  CHECK(blocks.file->read_at(3 * block_size, blocks.part(1)).value() == block_size);
  CHECK(blocks.holds(1, 103));
}

TEST_CASE("workers carry out direct writes where nothing may make the context's thread wait") {
  const qio_test::directory where;
  auto context = qio::context::create({.engine = qio::engine_kind::aio, .inline_work = qio::inline_work::never});
  if (!context) QIO_SKIP("no Linux AIO: " + context.error().message());
  auto file =
      qio::direct_file::open(context.value(), where / "file", qio::access::read_write, qio::creation::always_new);
  if (!file) QIO_SKIP("no direct files: " + file.error().message());
  if (os::is_in_overlay(where.path())) QIO_SKIP("an overlay, of which Linux AIO gets no transfers");
  auto memory = qio::aligned_buffer::allocate(block_size, block_size).value();
  for (int i = 0; i < 2; ++i) CHECK(context.value().run(file.value().async_write_at(0, memory)).value() == block_size);
  CHECK(file.value().statistics().served_by_worker == 2);
  CHECK(context.value().run(file.value().async_read_at(0, memory)).value() == block_size);
  CHECK(file.value().statistics().served_by_ring == 1);
}

TEST_CASE("a direct write beyond the process's limit on the size of files fails, and raises no signal") {
  if (const direct_blocks here(1); !here.missing.empty()) QIO_SKIP(here.missing);
  CHECK(qio_test::in_child([] {
          direct_blocks blocks(4);
          if (!blocks.missing.empty()) return 4;
          const rlimit two_blocks{2 * block_size, 2 * block_size};
          if (::setrlimit(RLIMIT_FSIZE, &two_blocks) != 0) return 1;
          const auto within = blocks.context->run(blocks.file->async_write_at(block_size, blocks.part(0)));
          if (!within || within.value() != block_size) return 2;
          const auto beyond = blocks.context->run(blocks.file->async_write_at(2 * block_size, blocks.part(0)));
          return !beyond && beyond.error() == std::errc::file_too_large ? 0 : 3;
        }) == 0);
}

TEST_CASE("a direct read that would wait before it reaches the device goes from Linux AIO to a worker") {
  direct_blocks blocks(2);
  if (!blocks.missing.empty()) QIO_SKIP(blocks.missing);
  if (!is_known_to_write_at_once(blocks.path)) QIO_SKIP("for ext4 and XFS");
  // The pages that another descriptor has modified must first be written back.
  auto cached = qio::cached_file::open(blocks.path, qio::access::write).value();
  blocks.fill(1, 77);
  REQUIRE(cached.write_at(block_size, blocks.part(1)).value() == block_size);
  CHECK(blocks.context->run(blocks.file->async_read_at(block_size, blocks.part(0))).value() == block_size);
  CHECK(blocks.holds(0, 77));
  CHECK(blocks.file->statistics().served_by_worker == 1);
}

TEST_CASE("transfers for which Linux AIO has no room wait, and can be canceled there") {
  direct_blocks blocks(8, 1);
  if (!blocks.missing.empty()) QIO_SKIP(blocks.missing);
  using operation = decltype(blocks.file->async_read_at(0, blocks.part(0)));
  std::array<qio::operation_slot<operation>, 8> reads;
  std::size_t whole = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    reads[i].emplace([&] { return blocks.file->async_read_at(i * block_size, blocks.part(i)); });
    reads[i]->start([&whole](qio::result<std::size_t> answer) { whole += answer && answer.value() == block_size; });
  }
  for (std::size_t i = 1; i < reads.size(); i += 2) reads[i].reset();
  blocks.context->run();
  CHECK(whole == 4);
  CHECK(blocks.file->statistics().served_by_ring == 4);
  for (std::size_t i = 0; i < reads.size(); i += 2) CHECK(blocks.holds(i, i));
}

TEST_CASE("what Linux AIO refuses because of its file system goes to workers") {
  // The kernel offers no transfer without waiting here (RWF_NOWAIT).
  const int handle = ::open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  REQUIRE(handle >= 0);
  auto context = qio::context::create({.engine = qio::engine_kind::aio});
  if (!context) QIO_SKIP("no Linux AIO: " + context.error().message());
  qio::detail::aio aio;
  qio::platform::event wakes, signals;
  REQUIRE(wakes.open());
  REQUIRE(signals.open());
  REQUIRE(aio.open(4, qio::inline_work::by_file, wakes, signals));
  std::array<std::byte, 64> memory;
  qio::file_activity activity;
  activity.is_direct = true;
  qio::detail::turn_watch watch;
  for (int round = 0; round < 2; ++round) {
    qio::request read;
    read.handle = handle;
    read.activity = &activity;
    read.io = qio::detail::transfer(0, qio::mutable_buffer(memory.data(), memory.size()));
    activity.held.insert(read);
    CHECK(aio.takes(read) == (round == 0));
    if (round == 0) {
      int refused = 0;
      aio.submit(read);
      aio.hand_over(watch, [&](qio::request&) { ++refused; });
      CHECK(refused == 1);
      CHECK(aio.in_flight() == 0);
    }
    read.unlink();
  }
  aio.close();
  ::close(handle);
}

TEST_CASE("every entry that is submitted to Linux AIO completes, round after round") {
  const int handle = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  REQUIRE(handle >= 0);
  qio::detail::aio_queue queue;
  if (const int made = queue.open(16); made != 0) QIO_SKIP("no Linux AIO: " + std::generic_category().message(-made));
  std::array<std::byte, 64> memory;
  std::uint64_t put = 0, taken = 0;
  bool right = true;
  const auto take = [&](std::uint64_t data, std::int64_t answer) {
    right = right && data == taken++ && answer == 64;  // from the page cache, so in order
  };
  for (unsigned round = 0; round < 100; ++round) {  // so that the positions wrap around
    const unsigned count = 1 + round * 7 % 16;
    for (unsigned i = 0; i < count; ++i) {
      iocb& entry = queue.next_entry();
      entry.aio_data = put++;
      entry.aio_lio_opcode = IOCB_CMD_PREAD;
      entry.aio_fildes = static_cast<std::uint32_t>(handle);
      entry.aio_buf = reinterpret_cast<std::uintptr_t>(memory.data());
      entry.aio_nbytes = memory.size();
    }
    CHECK(queue.pending() == count);
    CHECK(queue.is_full() == (count == 16));
    while (queue.pending() != 0) REQUIRE(queue.submit() > 0);
    CHECK(queue.has_completions());
    if (round % 2 == 0) CHECK(queue.wait(nullptr) == 0);  // which takes some of them
    queue.take_completions(take);
    CHECK(taken == put);
    CHECK_FALSE(queue.has_completions());
  }
  CHECK(right);
  const qio::detail::aio_queue::time_limit soon{0, 1000};
  CHECK(queue.wait(&soon) == 0);
  queue.take_completions(take);
  CHECK(taken == put);
  ::close(handle);
}

TEST_CASE("Linux AIO takes fewer transfers at a time than were asked for, if that is more than it has") {
  direct_blocks blocks(2, 1'000'000);
  if (!blocks.missing.empty()) QIO_SKIP(blocks.missing);
  CHECK(blocks.context->explain().find("requests in the kernel")->value == "at most 4096");
  CHECK(blocks.context->run(blocks.file->async_read_at(block_size, blocks.part(0))).value() == block_size);
}
#endif
