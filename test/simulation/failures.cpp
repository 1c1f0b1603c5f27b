// SPDX-License-Identifier: BSL-1.0
// The error of a transfer names the file, whichever way the transfer goes.
#include "program.hpp"
#include <qio/bounced.hpp>
#include <qio/copy.hpp>
#include <qio/log_writer.hpp>
#include <qio/reader.hpp>
#include <qio/write_and_sync.hpp>
#include <qio/writer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace simulation;

constexpr std::size_t sector = 512, sectors = 64;
constexpr std::uint64_t bad = 10 * sector;  // where "data" cannot be read

template <class Answer>
void check_named(const Answer& answer, std::string_view begin, std::uint64_t transferred = 0) {
  REQUIRE(!answer);
  const qio::error failure = answer.error();
  CHECK(failure == std::errc::io_error);
  CHECK(failure.transferred() == transferred);
  const std::string message = failure.message();
  CAPTURE(message);
  CHECK(message.starts_with(begin));
  CHECK((message.find(std::to_string(transferred) + " bytes") != std::string::npos) == (transferred != 0));
}

/// A program whose disk has a bad sector.
struct on_bad_sector {
  on_bad_sector() {
    make_durable(disk, sectors * sector, 7);
    REQUIRE(disk.damage("data", bad, sector));
  }

  qio::simulated_disk disk;
  program one{disk};
};

}  // namespace

TEST_CASE("the error of a read names the file, and has the bytes read before") {
  on_bad_sector on;
  auto data = on.one.open("data").value();
  bytes buffer(4 * sector);
  check_named(data.read_at(bad, buffer), "cannot read data: ");
  check_named(on.one.context.run(data.async_read_at(bad, buffer)), "cannot read data: ");
}

TEST_CASE("the error of each read of a batch that fails names the file") {
  on_bad_sector on;
  auto data = on.one.open("data").value();
  bytes buffer(2 * sector);
  for (const bool is_blocking : {true, false}) {
    std::array<qio::read_request, 2> reads{{{.offset = 0, .buffer = std::span(buffer).first(sector)},
                                            {.offset = bad, .buffer = std::span(buffer).subspan(sector)}}};
    const auto failures = is_blocking ? data.read_many(reads) : on.one.context.run(data.async_read_many(reads));
    CHECK(failures.value() == 1);
    check_named(reads[1].answer, "cannot read data: ");
  }
}

TEST_CASE("the error of a read through a pool names the file, alone and merged with others") {
  on_bad_sector on;
  auto data = on.one.open<qio::direct>("data").value();
  auto pool = qio::bounce_pool::allocate({.slots = 2, .slot_bytes = sectors * sector}).value();
  auto bounced = qio::bounced(data, pool);
  bytes buffer(3 * sector);
  const std::uint64_t before = sector - 7;  // that are read
  check_named(bounced.read_at(bad - before, buffer), "cannot read data: ", before);
  check_named(on.one.context.run(bounced.async_read_at(bad - before, buffer)), "cannot read data: ", before);
  for (const bool is_blocking : {true, false}) {
    std::array<qio::read_request, 2> reads{{{.offset = bad - 300, .buffer = std::span(buffer).first(100)},
                                            {.offset = bad - 100, .buffer = std::span(buffer).subspan(100, 200)}}};
    const auto failures = is_blocking ? bounced.read_many(reads) : on.one.context.run(bounced.async_read_many(reads));
    CHECK(failures.value() == 1);
    check_named(reads[1].answer, "cannot read data: ", 100);
  }
  // What the pool does not help with names the file, too.
  const auto refused = on.one.context.run(bounced.async_read_at(~std::uint64_t(0) - 100, buffer));
  CHECK(refused.error() == qio::errc::offset_too_large);
  CHECK(refused.error().message().starts_with("cannot read data: "));
}

TEST_CASE("the error of a reader names the file, and has the bytes read before") {
  on_bad_sector on;
  const auto read_all = [](auto& data) -> qio::task<qio::result<std::size_t>> {
    auto from = qio::reader<std::remove_reference_t<decltype(data)>>::create(data, {.block_bytes = 4096}).value();
    bytes buffer(sectors * sector);
    co_return co_await from.read(buffer);
  };
  auto data = on.one.open("data").value();
  check_named(on.one.context.run(read_all(data)), "cannot read data: ", bad);
}

TEST_CASE("what is read and cannot be copied names the file") {
  on_bad_sector on;
  auto data = on.one.open("data").value();
  auto other = on.one.open("other").value();
  check_named(other.copy_from(data, {100, 5000}, 0), "cannot read data: ");  // which share no whole block
}

TEST_CASE("the error of a write names the file: alone, in a batch, through a pool, in a stream, with a sync") {
  qio::simulated_disk disk;
  program one(disk);
  auto data = one.open("data").value();
  auto direct = one.open<qio::direct>("direct").value();
  const bytes block = filled(2 * sector, 7);
  REQUIRE(direct.write_at(0, block));
  auto pool = qio::bounce_pool::allocate({.slots = 2, .slot_bytes = sectors * sector}).value();
  auto bounced = qio::bounced(direct, pool);
  auto stream = qio::writer<file>::create(data, {.block_bytes = 4096}).value();
  disk.cut_power_after(0);

  check_named(data.write_at(0, block), "cannot write data: ");
  check_named(one.context.run(data.async_write_at(0, block)), "cannot write data: ");
  check_named(data.write_at(0, block, {.durable = true}), "cannot write data: ");
  check_named(one.context.run(data.async_write_at(0, block, {.durable = true})), "cannot write data: ");
  check_named(data.start_writeback(0, sector), "cannot write back data: ");
  check_named(one.context.run(data.async_start_writeback(0, sector)), "cannot write back data: ");
  for (const bool is_blocking : {true, false}) {
    std::array<qio::write_request, 1> writes{{{.offset = 0, .buffer = block}}};
    CHECK((is_blocking ? data.write_many(writes) : one.context.run(data.async_write_many(writes))).value() == 1);
    check_named(writes[0].answer, "cannot write data: ");
  }
  // The write covers a block in part, whose rest is read first.
  check_named(bounced.write_at(7, block), "cannot read direct: ");
  check_named(one.context.run(bounced.async_write_at(7, block)), "cannot read direct: ");
  check_named(bounced.write_at(0, block), "cannot write direct: ");
  check_named(one.context.run(bounced.async_write_at(0, block)), "cannot write direct: ");
  const auto write_all = [&]() -> qio::task<qio::result<void>> {
    static_cast<void>(co_await stream.write(block));
    co_return co_await stream.finish();
  };
  check_named(one.context.run(write_all()), "cannot write data: ");
  const auto write_and_sync = [&]() -> qio::task<qio::synced_write> {
    co_return co_await data.async_write_and_sync(0, block);
  };
  const auto both = one.context.run(write_and_sync());
  check_named(both.written, "cannot write data: ");
  check_named(both.synced, "cannot write data: ");
  check_named(data.resize(0), "cannot resize data: ");
}

TEST_CASE("the error of a write to a full disk names the file, and has the bytes written before") {
  qio::simulated_disk disk({.capacity = 2 * 4096});
  program one(disk);
  auto data = one.open("data").value();
  const bytes much = filled(4 * 4096, 7);
  for (const bool is_blocking : {true, false}) {
    const auto full = is_blocking ? data.write_at(0, much) : one.context.run(data.async_write_at(0, much));
    REQUIRE(!full);
    CHECK(full.error() == std::errc::no_space_on_device);
    CHECK(full.error().transferred() == 2 * 4096);
    CHECK(full.error().message().starts_with("cannot write data: "));
  }
}

TEST_CASE("the error of an append names the log's file, also that of each later one") {
  qio::simulated_disk disk;
  program one(disk);
  const auto append = [&]() -> qio::task<> {
    auto log =
        co_await qio::open_log(one.open<qio::direct>("log").value(), [](const qio::log_record&) { return true; });
    const bytes record = filled(100, 7);
    REQUIRE(co_await log.value().append(record));
    disk.cut_power_after(0);
    check_named(co_await log.value().append(record), "cannot write log: ");
    check_named(co_await log.value().append(record), "cannot write log: ");
  };
  one.context.run(append());
}

TEST_CASE("a transfer that was canceled or timed out names no file, and its error keeps the bytes transferred") {
  qio::simulated_disk disk;
  program one(disk);
  auto data = one.open("data").value();
  const bytes block = filled(sector, 7);
  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  stop.request_stop();
  const auto canceled = one.context.run(data.async_write_at(0, block, {.stop = token}));
  CHECK(canceled.error().message() == "the operation was canceled");
  const auto late = one.context.run(data.async_write_at(0, block, {.deadline = disk.now()}));
  CHECK(late.error().message() == "the deadline passed before the operation completed");
  std::optional<qio::result<std::size_t>> answer;
  auto started = data.async_write_at(0, block);
  started.start([&answer](qio::result<std::size_t> found) { answer = found; });
  data.close().value();
  one.context.run();
  REQUIRE(answer);
  if (!*answer) CHECK(answer->error().message() == "the operation was canceled");
}
