// SPDX-License-Identifier: BSL-1.0
// Transfers through a bounce_pool on a disk that fails.
#include "program.hpp"
#include <qio/bounced.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace simulation;

constexpr std::size_t sector = 512;

std::byte at(std::uint64_t offset) { return std::byte((offset * 0x9e3779b97f4a7c15u >> 40) | 1u); }
bytes patterned(std::size_t size) {
  bytes made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = at(i);
  return made;
}
bool is_pattern(std::span<const std::byte> found, std::uint64_t offset) {
  return std::ranges::all_of(found, [&](const std::byte& each) {
    return each == at(offset + static_cast<std::uint64_t>(&each - found.data()));
  });
}

/// Writes it, however often that takes.
void make(direct_file& data, const bytes& expected) {
  qio::result<std::size_t> made = data.write_at(0, expected);
  while (!made) made = data.write_at(0, expected);
}

/// The contents of the file, however often reading them takes.
bytes read_all(qio::simulated_disk& disk) {
  program reader(disk);
  auto opened = reader.open("data", creation::open_existing, access::read).value();
  bytes found(static_cast<std::size_t>(opened.size().value()));
  while (!opened.read_at(0, found)) {}
  return found;
}

}  // namespace

TEST_CASE("a bad sector fails only the bounced reads that need it, merged or not") {
  constexpr std::size_t sectors = 64, bad = 10;
  for (const double short_transfers : {0.0, 0.5})
    for (const bool is_blocking : {false, true})
      each_seed([&](std::uint64_t seed) {
        CAPTURE(short_transfers, is_blocking);
        qio::simulated_disk disk({.seed = seed, .short_transfers = short_transfers});
        program one(disk);
        auto data = one.open<qio::direct>("data").value();
        make(data, patterned(sectors * sector));
        CHECK(disk.damage("data", bad * sector, sector));

        auto pool = qio::bounce_pool::allocate({.slots = 2, .slot_bytes = sectors * sector}).value();
        auto bounced = qio::bounced(data, pool, {.gap = seed % 3 * 1024});
        bytes into(sectors * 100 + 2000);
        std::vector<qio::read_request> requests;
        for (std::size_t i = 0; i < sectors; ++i)
          requests.push_back({.offset = i * sector + 50, .buffer = std::span(into).subspan(i * 100, 100)});
        const std::uint64_t across = (bad - 2) * sector + 7;
        requests.push_back({.offset = across, .buffer = std::span(into).subspan(sectors * 100, 2000)});

        const auto failures =
            is_blocking ? bounced.read_many(requests) : one.context.run(bounced.async_read_many(requests));
        CHECK(failures.value() == 2);
        for (std::size_t i = 0; i < requests.size(); ++i) {
          const qio::read_request& each = requests[i];
          const bool needs_bad = i == bad || i == sectors;
          CHECK(each.answer.has_value() == !needs_bad);
          if (!each.answer) CHECK(each.answer.error() == std::errc::io_error);
          const std::size_t moved = each.answer ? each.answer.value() : each.answer.error().transferred();
          CHECK(moved == (i == bad ? 0 : i == sectors ? bad * sector - across : each.buffer.size()));
          CHECK(is_pattern(each.buffer.first(moved), each.offset));
        }
        CHECK(pool.slots_in_use() == 0);
      });
}

TEST_CASE("on a disk that fails, each read of a bounced batch has its real answer, canceled or not") {
  constexpr std::size_t size = 40 * sector + 77, count = 60;
  int whole = 0, failed = 0, canceled = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk(
        {.seed = seed, .short_transfers = 0.3, .interruptions = 0.3, .refusals = 0.05, .read_errors = 0.02});
    program one(disk, 8);
    auto data = one.open<qio::direct>("data").value();
    make(data, patterned((size + sector - 1) / sector * sector));
    while (!data.resize(size)) {}
    auto pool = qio::bounce_pool::allocate({.slots = 1 + seed % 3, .slot_bytes = 4096}).value();
    bytes into(count * 1500);
    std::vector<qio::read_request> reads(count);
    for (std::size_t i = 0; i < count; ++i)
      reads[i] = {.offset = (i * 7919 + seed) % (size + 100),
                  .buffer = std::span(into).subspan(i * 1500, 1 + (i * 131 + seed) % 1500)};
    auto batch = qio::bounced(data, pool, {.gap = seed % 5 * 300}).async_read_many(reads);
    std::optional<std::size_t> failures;
    batch.start([&failures](qio::result<std::size_t> answer) { failures = answer.value(); });
    one.context.poll();
    if (seed % 2 != 0) batch.cancel();
    one.context.run();
    std::size_t counted = 0;
    for (const qio::read_request& each : reads) {
      const std::size_t there = each.offset < size ? static_cast<std::size_t>(size - each.offset) : 0;
      const std::size_t wanted = std::min(each.buffer.size(), there);
      const std::size_t moved = each.answer ? each.answer.value() : each.answer.error().transferred();
      CHECK(moved <= wanted);
      if (each.answer) CHECK(moved == wanted);
      counted += each.answer ? 0u : 1u;
      CHECK(is_pattern(each.buffer.first(moved), each.offset));
      ++(each.answer ? whole : each.answer.error() == std::errc::operation_canceled ? canceled : failed);
    }
    CHECK(failures == counted);
    CHECK(pool.slots_in_use() == 0);
  });
  CHECK(std::min({whole, failed, canceled}) > 50);
}

TEST_CASE("on a disk that fails, a bounced write changes no byte beside its own, canceled or not") {
  constexpr std::size_t size = 6 * sector + 100;
  int whole = 0, in_part = 0, untouched = 0;
  each_seed([&](std::uint64_t seed) {
    for (const std::size_t offset : {std::size_t(0), std::size_t(700), size - 50, size + 900})
      for (const std::size_t length : {std::size_t(1), std::size_t(600), std::size_t(5000)}) {
        CAPTURE(offset, length);
        qio::simulated_disk disk({.seed = seed * 31 + offset + length,
                                  .short_transfers = 0.3,
                                  .interruptions = 0.3,
                                  .refusals = 0.05,
                                  .write_errors = 0.1});
        program one(disk, 8);
        auto data = one.open<qio::direct>("data").value();
        make(data, patterned(7 * sector));
        while (!data.resize(size)) {}
        auto pool = qio::bounce_pool::allocate({.slots = 1, .slot_bytes = 4096}).value();
        const bytes written = filled(length, 0);  // nowhere in the pattern
        auto write = qio::bounced(data, pool).async_write_at(offset, written);
        std::optional<qio::result<std::size_t>> answer;
        write.start([&answer](qio::result<std::size_t> given) { answer = given; });
        for (std::uint64_t polls = 0; polls < seed % 7; ++polls) one.context.poll();
        if (seed % 2 != 0) write.cancel();
        one.context.run();
        REQUIRE(answer);
        const std::size_t moved = *answer ? answer->value() : answer->error().transferred();
        if (*answer) CHECK(moved == length);
        ++(moved == length ? whole : moved != 0 ? in_part : untouched);
        CHECK(pool.slots_in_use() == 0);

        const bytes found = read_all(disk);
        CHECK(found.size() <= std::max(size, (offset + length + sector - 1) / sector * sector));
        if (*answer) CHECK(found.size() == std::max(size, offset + length));
        for (std::size_t i = 0; i < found.size(); ++i) {
          const bool is_own = i >= offset && i < offset + length;
          const bool is_moved = i >= offset && i < offset + moved;
          const std::byte before = i < size ? at(i) : std::byte{0};
          // A failed write may have written more than it has reported.
          const bool is_right = found[i] == (is_moved ? std::byte{0} : before) || (is_own && found[i] == std::byte{0});
          if (!is_right) FAIL("byte " << i << " is wrong");
        }
      }
  });
  CHECK(std::min({whole, in_part, untouched}) > 20);
}

TEST_CASE("a durable bounced write survives a crash with its size, and without a tail of zeros") {
  constexpr std::size_t size = 3 * sector + 100;
  // Without it, the bytes or the size may be lost: the test would notice.
  enum class durable { no, by_option, by_file };
  int lost = 0;
  for (const durable how : {durable::no, durable::by_option, durable::by_file})
    for (const bool is_blocking : {false, true})
      for (const std::size_t offset : {std::size_t(700), size - 50, size + 900})
        each_seed([&](std::uint64_t seed) {
          CAPTURE(how, is_blocking, offset);
          qio::simulated_disk disk({.seed = seed, .short_transfers = 0.3, .interruptions = 0.3});
          make_durable(disk, size, 1);
          const bytes written = filled(sector + 33, 2);
          {
            program one(disk);
            auto data = qio::direct_file::open(one.context, "data", access::read_write, creation::open_existing,
                                               {.durable_writes = how == durable::by_file})
                            .value();
            auto pool = qio::bounce_pool::allocate({.slots = 1, .slot_bytes = 4096}).value();
            const auto bounced = qio::bounced(data, pool);
            const bool asks = how == durable::by_option;
            const auto answer = is_blocking
                                    ? bounced.write_at(offset, written, {.durable = asks})
                                    : one.context.run(bounced.async_write_at(offset, written, {.durable = asks}));
            CHECK(answer.value() == written.size());
          }
          disk.restart();
          const bytes found = contents(disk, "data");
          bytes expected = filled(size, 1);
          expected.resize(std::max(size, offset + written.size()));
          std::ranges::copy(written, expected.begin() + static_cast<std::ptrdiff_t>(offset));
          if (how == durable::no)
            lost += found != expected;
          else if (found != expected)
            FAIL("the file has " << found.size() << " bytes, or others than were written");
        });
  CHECK(lost > 100);
}

TEST_CASE("a durable bounced write that fails counts as a failed sync, also if only the sync behind its cut fails") {
  const bytes written = filled(100, 2);
  int right = 0, failed_to_write = 0, failed_to_sync = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .sync_errors = 0.3});
    program one(disk);
    auto data = one.open<qio::direct>("data").value();
    auto pool = qio::bounce_pool::allocate({.slots = 1, .slot_bytes = 4096}).value();
    const auto bounced = qio::bounced(data, pool);
    const auto answer = seed % 2 == 0 ? bounced.write_at(5, written, {.durable = true})
                                      : one.context.run(bounced.async_write_at(5, written, {.durable = true}));
    const bool is_cut = answer || answer.error().transferred() == written.size();
    if (is_cut) CHECK(data.size().value() == 5 + written.size());
    ++(answer ? right : is_cut ? failed_to_sync : failed_to_write);
    if (answer) return;
    CHECK(answer.error() == std::errc::io_error);
    for (int more = 0; more < 10; ++more) CHECK(data.sync().error() == std::errc::io_error);
  });
  CHECK(std::min({right, failed_to_write, failed_to_sync}) > 20);
}

TEST_CASE("a durable bounced write that ends early succeeds only if it survives a crash") {
  constexpr std::size_t size = 3 * sector + 100;
  const bytes written = filled(sector + 33, 2);
  bytes expected = filled(size + written.size(), 1);
  std::ranges::copy(written, expected.begin() + size);
  int succeeded = 0, all_moved = 0, ended_before = 0;
  each_seed([&](std::uint64_t seed) {
    for (const bool cancels : {false, true})
      for (int steps = 0; steps < 8; ++steps) {
        CAPTURE(cancels, steps);
        qio::simulated_disk disk({.seed = seed});
        make_durable(disk, size, 1);
        auto pool = qio::bounce_pool::allocate({.slots = 1, .slot_bytes = 4096}).value();
        std::optional<qio::result<std::size_t>> answer;
        {
          std::optional<program> one(disk);
          auto data = one->open<qio::direct>("data", creation::open_existing).value();
          auto write = qio::bounced(data, pool).async_write_at(size, written, {.durable = true});
          write.start([&answer](qio::result<std::size_t> given) { answer = given; });
          for (int i = 0; i < steps && !answer; ++i) one->context.run_one();
          if (cancels) {
            write.cancel();
            one->context.run();
          } else {
            one.reset();  // cuts the file, too
          }
          CHECK(data.size().value() <= expected.size());
        }
        disk.restart();
        REQUIRE(answer);
        ++(*answer ? succeeded : answer->error().transferred() == written.size() ? all_moved : ended_before);
        if (*answer) CHECK(contents(disk, "data") == expected);
        if (!*answer) CHECK(answer->error() == std::errc::operation_canceled);
      }
  });
  CHECK(std::min({succeeded, all_moved, ended_before}) > 20);
}
