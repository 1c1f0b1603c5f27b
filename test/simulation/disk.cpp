// SPDX-License-Identifier: BSL-1.0
// Durable data stays, other data may be lost, and what breaks stays broken. By blocking operations.
#include "program.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>

namespace {

using namespace simulation;

TEST_CASE("synced data survives a crash, whatever the seed") {
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .short_transfers = 0.3, .interruptions = 0.3});
    make_durable(disk, 5000, 1);
    disk.restart();
    CHECK(contents(disk, "data") == filled(5000, 1));
  });
}

TEST_CASE("what a durable write makes durable is not replaced by what was written before it") {
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 8192, 0);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      REQUIRE(opened.write_at(0, filled(4096, 1)));
      REQUIRE(opened.write_at(0, filled(8192, 2)));
      REQUIRE(opened.write_at(4096, filled(4096, 3), {.durable = true}));
      REQUIRE(opened.sync());
    }
    disk.restart();
    bytes expected = filled(8192, 2);
    std::ranges::fill(std::span(expected).subspan(4096), std::byte{3});
    CHECK(contents(disk, "data") == expected);
  });
}

TEST_CASE("names that are synced in one of two directories are not undone by earlier changes in the other") {
  for (const bool syncs_both : {false, true})
    each_seed([&](std::uint64_t seed) {
      qio::simulated_disk disk({.seed = seed});
      {
        program writer(disk);
        for (const char* const name : {"tmp/new", "data/db"}) REQUIRE(writer.open(name, qio::creation::if_needed));
      }
      REQUIRE(disk.sync_directory("tmp"));
      REQUIRE(disk.sync_directory("data"));
      REQUIRE(disk.remove("data/db"));
      REQUIRE(disk.rename("tmp/new", "data/db"));
      {
        program writer(disk);
        REQUIRE(writer.open("tmp/other", qio::creation::if_needed));
      }
      REQUIRE(disk.rename("tmp/other", "data/other"));
      REQUIRE(disk.sync_directory("tmp"));
      if (syncs_both) REQUIRE(disk.sync_directory("data"));
      disk.restart();
      CHECK(disk.exists("data/db"));
      CHECK(disk.exists("data/other"));
      CHECK_FALSE(disk.exists("tmp/new"));
      CHECK_FALSE(disk.exists("tmp/other"));
    });
}

TEST_CASE("each unsynced sector survives a crash whole or not at all") {
  std::set<int> kept;  // of the eight sectors
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 4096, 1);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      REQUIRE(opened.write_at(0, filled(4096, 2)));
    }
    CHECK(contents(disk, "data") == filled(4096, 2));
    disk.restart();
    const bytes found = contents(disk, "data");
    REQUIRE(found.size() == 4096);
    int sectors = 0;
    for (std::size_t at = 0; at < found.size(); at += 512) {
      const bytes sector(found.begin() + static_cast<std::ptrdiff_t>(at),
                         found.begin() + static_cast<std::ptrdiff_t>(at + 512));
      CHECK((sector == filled(512, 1) || sector == filled(512, 2)));
      if (sector == filled(512, 2)) ++sectors;
    }
    kept.insert(sectors);
    disk.restart();
    CHECK(contents(disk, "data") == found);
  });
  CHECK(kept.size() > 5);
}

TEST_CASE("a sector that several writes have changed is as one of them has left it") {
  std::set<std::string> seen;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 512, 1);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      REQUIRE(opened.write_at(0, filled(100, 2)));
      REQUIRE(opened.write_at(200, filled(100, 3)));
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    const auto digit = [&](std::size_t at) { return std::to_string(static_cast<int>(found[at])); };
    seen.insert(digit(0) + digit(99) + digit(100) + digit(200) + digit(299) + digit(300));
  });
  CHECK(seen == std::set<std::string>{"111111", "221111", "221331"});
}

TEST_CASE("a durable write makes durable no other sector, even of a write below it") {
  std::set<bool> rest, before_truncation;
  each_seed([&](std::uint64_t seed) {
    for (const bool truncates : {false, true}) {
      qio::simulated_disk disk({.seed = seed});
      make_durable(disk, 4096, 1);
      {
        program writer(disk);
        auto opened = writer.open("data").value();
        REQUIRE(opened.write_at(0, filled(4096, 2)));
        if (truncates) REQUIRE(opened.resize(3000));
        REQUIRE(opened.write_at(700, filled(100, 3), {.durable = true}));
      }
      disk.restart();
      const bytes found = contents(disk, "data");
      REQUIRE((found.size() == 4096 || (truncates && found.size() == 3000)));
      bytes sector = filled(512, 2);
      std::ranges::fill(std::span(sector).subspan(700 - 512, 100), std::byte{3});
      CHECK(std::ranges::equal(std::span(found).subspan(512, 512), sector));
      (truncates ? before_truncation : rest).insert(found[0] == std::byte{2});
    }
  });
  CHECK(rest.size() == 2);
  CHECK(before_truncation.size() == 2);
}

TEST_CASE("nothing from before a truncation is in what the file has grown by since, whatever is durable") {
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 4096, 1);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      REQUIRE(opened.write_at(0, filled(4096, 2)));
      REQUIRE(opened.resize(1000));
      REQUIRE(opened.resize(4096));
      REQUIRE(opened.write_at(2048, filled(512, 3), {.durable = true}));
    }
    disk.restart();
    bytes expected = filled(4096, 0);
    std::ranges::fill(std::span(expected).subspan(2048, 512), std::byte{3});
    const bytes found = contents(disk, "data");
    CHECK(std::ranges::equal(std::span(found).subspan(1000), std::span(expected).subspan(1000)));
  });
}

TEST_CASE("an untorn write survives a crash whole or not at all, in flight or complete") {
  std::set<bool> kept, plain_kept;
  each_seed([&](std::uint64_t seed) {
    const auto survives = [&](bool untorn, bool in_flight) {
      qio::simulated_disk disk({.seed = seed, .largest_untorn = 4096, .short_transfers = 0.5, .interruptions = 0.3});
      make_durable(disk, 4096, 1);
      {
        program writer(disk);
        auto opened = writer.open<qio::direct>("data").value();
        const bytes data = filled(4096, 2);
        if (in_flight) disk.cut_power_after(0);
        const auto written = writer.context.run(opened.async_write_at(0, data, {.untorn = untorn}));
        CHECK(written.has_value() == !in_flight);
      }
      disk.restart();
      return contents(disk, "data");
    };
    for (const bool in_flight : {false, true}) {
      const bytes found = survives(true, in_flight);
      CHECK((found == filled(4096, 1) || found == filled(4096, 2)));
      if (!in_flight) kept.insert(found == filled(4096, 2));
    }
    const bytes plain = survives(false, false);
    plain_kept.insert(plain == filled(4096, 1) || plain == filled(4096, 2));
  });
  CHECK(kept.size() == 2);
  CHECK(plain_kept.contains(false));
}

TEST_CASE("write-back that was started makes nothing durable") {
  std::set<bool> kept;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 512, 1);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      REQUIRE(opened.write_at(0, filled(512, 2)));
      REQUIRE(writer.context.run(opened.async_start_writeback(0, 512)));
    }
    disk.restart();
    kept.insert(contents(disk, "data") == filled(512, 2));
  });
  CHECK(kept.size() == 2);
}

TEST_CASE("write-back fails without power") {
  qio::simulated_disk disk({.seed = 1});
  program writer(disk);
  auto opened = writer.open("data").value();
  disk.cut_power_after(0);
  CHECK(opened.start_writeback(0, 512).error() == std::errc::io_error);
  CHECK(writer.context.run(opened.async_start_writeback(0, 512)).error() == std::errc::io_error);
}

TEST_CASE("a crash may keep later writes and lose earlier ones, but keeps sizes in order") {
  std::set<std::string> seen;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 512, 1);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      REQUIRE(opened.write_at(512, filled(512, 2)));
      REQUIRE(opened.write_at(1024, filled(512, 3)));
      REQUIRE(opened.resize(700));
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    const std::array<std::size_t, 4> sizes = {512, 1024, 1536, 700};
    CHECK(std::ranges::find(sizes, found.size()) != sizes.end());
    CHECK(std::ranges::all_of(std::span(found).first(512), [](std::byte each) { return each == std::byte(1); }));
    std::string sectors;
    for (std::size_t at = 512; at < found.size(); at += 512) sectors += std::to_string(static_cast<int>(found[at]));
    seen.insert(std::to_string(found.size()) + ':' + sectors);
  });
  // The second sector without the first, the first without the second, both, neither.
  for (const char* each : {"1536:03", "1536:20", "1536:23", "1536:00", "512:", "700:2", "700:0"})
    CHECK(seen.contains(each));
}

TEST_CASE("a name is durable after a sync of its directory, and a replaced one is the old or the new file") {
  std::set<std::string> seen;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 512, 1);
    {
      program writer(disk);
      auto made = writer.open("new").value();
      REQUIRE(made.write_at(0, filled(512, 2)));
      REQUIRE(made.sync());
    }
    REQUIRE(disk.rename("new", "data"));
    CHECK_FALSE(disk.exists("new"));
    disk.restart();
    const bytes found = contents(disk, "data");
    CHECK((found == filled(512, 1) || found == filled(512, 2)));
    seen.insert(std::string(disk.exists("new") ? "new " : "") + std::to_string(static_cast<int>(found[0])));
  });
  CHECK(seen == std::set<std::string>{"1", "new 1", "2"});

  qio::simulated_disk disk;
  CHECK(disk.remove("data").error() == std::errc::no_such_file_or_directory);
  make_durable(disk, 512, 1);
  REQUIRE(disk.remove("data"));
  REQUIRE(disk.sync_directory("elsewhere"));
  CHECK_FALSE(disk.exists("data"));
  REQUIRE(disk.sync_directory("."));
  disk.restart();
  CHECK_FALSE(disk.exists("data"));
}

TEST_CASE("a file moved to another directory is durable after a sync of either") {
  for (const char* synced : {"a", "b"}) {
    qio::simulated_disk disk;
    program writer(disk);
    auto made = writer.open("a/new").value();
    REQUIRE(made.write_at(0, filled(512, 2)));
    REQUIRE(made.sync());
    REQUIRE(disk.sync_directory("a/"));
    REQUIRE(disk.rename("a/new", "b/new"));
    REQUIRE(disk.sync_directory(synced));
    disk.restart();
    CHECK_FALSE(disk.exists("a/new"));
    CHECK(contents(disk, "b/new") == filled(512, 2));
  }
}

TEST_CASE("a sector size that is not a power of two is refused with the number") {
  for (const std::uint32_t sector : {0u, 500u}) {
    qio::simulated_disk disk({.sector = sector});
    const auto refused = qio::basic_context<qio::simulated>::create({.disk = &disk});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == qio::errc::invalid_alignment);
    CHECK(refused.error().given() == sector);
  }
}

TEST_CASE("an open that fails or is abandoned changes nothing") {
  qio::simulated_disk disk;
  program one(disk);
  CHECK(one.open("data", creation::open_existing).error() == std::errc::no_such_file_or_directory);
  CHECK(one.open("data", creation::truncate_existing).error() == std::errc::no_such_file_or_directory);
  CHECK_FALSE(disk.exists("data"));
  make_durable(disk, 512, 1);
  CHECK(one.open("data", creation::only_if_missing).error() == std::errc::file_exists);
  CHECK(contents(disk, "data") == filled(512, 1));
  auto old = one.open("data").value();
  auto replaced = one.open("data", creation::always_new).value();
  CHECK(replaced.size().value() == 0);
  CHECK(old.size().value() == 512);
  CHECK(one.open("data", creation::truncate_existing).value().size().value() == 0);
  CHECK(one.open("data", creation::emptied, access::read).error() == qio::errc::access_not_granted);
  CHECK(one.open("new", creation::emptied).value().size().value() == 0);
  REQUIRE(old.write_at(0, filled(512, 1)));
  CHECK(one.open("data", creation::emptied).value().size().value() == 0);
}

TEST_CASE("a restart of the disk ends all locks") {
  qio::simulated_disk disk;
  make_durable(disk, 512, 1);
  {
    program one(disk);
    auto file = one.open("data").value();
    CHECK(file.try_lock(qio::lock_kind::exclusive).value());
    program other(disk);
    auto again = other.open("data").value();
    CHECK_FALSE(again.try_lock(qio::lock_kind::shared).value());
    disk.restart();
  }
  program later(disk);
  CHECK(later.open("data").value().try_lock(qio::lock_kind::exclusive).value());
}

TEST_CASE("a simulated file without a name is lost in a crash, and one with a synced name is not") {
  each_seed([](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 512, 1);
    {
      program writer(disk);
      auto unnamed = qio::cached_file::open_unnamed(writer.context, ".").value();
      REQUIRE(unnamed.write_at(0, filled(512, 2)));
      REQUIRE(unnamed.sync());
      CHECK(unnamed.give_name("data").error() == std::errc::file_exists);
      CHECK(unnamed.give_name("data", qio::if_exists::exchange).error() == std::errc::invalid_argument);
      REQUIRE(unnamed.give_name("data", qio::if_exists::replace));
      CHECK(contents(disk, "data") == filled(512, 2));
    }
    disk.restart();
    const bytes found = contents(disk, "data");  // the name was not synced: the old file or the new one, whole
    CHECK((found == filled(512, 1) || found == filled(512, 2)));
    {
      program writer(disk);
      auto unnamed = qio::cached_file::open_unnamed(writer.context, ".").value();
      REQUIRE(unnamed.write_at(0, filled(512, 3)));
      REQUIRE(unnamed.sync());
      REQUIRE(unnamed.give_name("data", qio::if_exists::replace));
      REQUIRE(disk.sync_directory("."));
    }
    disk.restart();
    CHECK(contents(disk, "data") == filled(512, 3));
  });
}

TEST_CASE("a write to a full disk fails with ENOSPC, and the disk keeps its contents") {
  qio::simulated_disk disk({.capacity = 3 * 4096});
  program writer(disk);
  auto data = writer.open("data").value();
  REQUIRE(data.write_at(0, filled(4096, 1)));
  const auto refused = data.write_at(4096, filled(4 * 4096, 2));
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == std::errc::no_space_on_device);
  CHECK(refused.error().transferred() == 2 * 4096);
  CHECK(data.size().value() == 3 * 4096);
  CHECK(data.write_at(0, filled(3 * 4096, 3)).value() == 3 * 4096);
  auto other = writer.open("other").value();
  CHECK(other.write_at(0, filled(1, 1)).error() == std::errc::no_space_on_device);
  REQUIRE(data.resize(4096));
  CHECK(other.write_at(0, filled(1, 1)).value() == 1);
}

TEST_CASE("reading a bad sector fails until it is written, and reads what lies before it") {
  qio::simulated_disk disk;
  make_durable(disk, 4096, 1);
  CHECK(disk.damage("nothing", 0, 1).error() == std::errc::no_such_file_or_directory);
  REQUIRE(disk.damage("data", 1000, 600));
  program reader(disk);
  auto data = reader.open("data").value();
  bytes buffer(4096);
  for (int again = 0; again < 3; ++again) {
    const auto failed = data.read_at(0, buffer);
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == std::errc::io_error);
    CHECK(failed.error().transferred() == 512);
  }
  CHECK(data.read_at(2048, buffer).value() == 2048);
  REQUIRE(data.write_at(512, filled(512, 2)));
  CHECK(data.read_at(0, buffer).error().transferred() == 1024);
  REQUIRE(data.write_at(1024, filled(1024, 2)));
  CHECK(data.read_at(0, buffer).value() == 4096);
}

TEST_CASE("a bad sector is not written in part, because the rest of it cannot be read") {
  qio::simulated_disk disk;
  make_durable(disk, 4000, 1);
  REQUIRE(disk.damage("data", 1024, 512));
  REQUIRE(disk.damage("data", 3600, 1));  // the last one, which ends with the file
  program writer(disk);
  auto data = writer.open("data").value();
  CHECK(data.write_at(1100, filled(100, 2)).error() == std::errc::io_error);
  CHECK(data.write_at(1100, filled(1000, 2)).error() == std::errc::io_error);
  const auto cut_short = data.write_at(600, filled(800, 2));
  REQUIRE_FALSE(cut_short);
  CHECK(cut_short.error() == std::errc::io_error);
  CHECK(cut_short.error().transferred() == 1024 - 600);
  bytes found(512);
  CHECK_FALSE(data.read_at(1024, found));
  REQUIRE(data.write_at(600, filled(1000, 2)));
  CHECK(data.read_at(1024, found).value() == 512);
  CHECK_FALSE(data.write_at(3584, filled(400, 2)));
  REQUIRE(data.write_at(3584, filled(416, 2)));
  CHECK(data.read_at(3584, found).value() == 416);
}

TEST_CASE("sectors go bad while they are read, and stay bad") {
  qio::simulated_disk disk({.seed = 3, .read_errors = 0.3});
  make_durable(disk, 4096, 1);
  program reader(disk);
  auto data = reader.open("data").value();
  bytes buffer(4096);
  std::size_t least = 4096;
  for (int each = 0; each < 30; ++each) {
    const auto read = data.read_at(0, buffer);
    const std::size_t got = read ? read.value() : static_cast<std::size_t>(read.error().transferred());
    CHECK(got <= least);
    least = got;
  }
  CHECK(least < 4096);
}

TEST_CASE("after a failed sync data may be lost, even if a later sync of a new handle succeeds") {
  std::set<bool> lost;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .sync_errors = 0.5});
    program writer(disk);
    auto data = writer.open("data").value();
    for (std::uint64_t each = 0; each < 4; ++each) REQUIRE(data.write_at(512 * each, filled(512, 1)));
    const bool failed = !data.sync();
    while (!writer.open("data").value().sync()) {}
    REQUIRE(disk.sync_directory("."));
    CHECK(contents(disk, "data") == filled(2048, 1));  // still seen, from the cache
    disk.restart();
    const bool whole = contents(disk, "data") == filled(2048, 1);
    if (!failed) CHECK(whole);
    lost.insert(!whole);
  });
  CHECK(lost.size() == 2);
}

TEST_CASE("forget() shows what a failed sync has lost") {
  std::set<bool> lost;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .sync_errors = 1});
    program writer(disk);
    auto data = writer.open("data").value();
    REQUIRE(data.write_at(0, filled(512, 1)));
    REQUIRE(!data.sync());
    CHECK(contents(disk, "data") == filled(512, 1));
    if (seed % 2 == 0)
      REQUIRE(data.forget());
    else
      REQUIRE(writer.context.run(data.async_forget()));
    lost.insert(contents(disk, "data") != filled(512, 1));
  });
  CHECK(lost.size() == 2);
}

TEST_CASE("a failed sync may lose any sectors of a write, but no part of an untorn one") {
  std::set<std::ptrdiff_t> kept, untorn_kept;
  each_seed([&](std::uint64_t seed) {
    for (const bool untorn : {false, true}) {
      qio::simulated_disk disk({.seed = seed, .largest_untorn = 4096, .sync_errors = 1});
      program writer(disk);
      auto data = writer.open<qio::direct>("data").value();
      auto block = qio::aligned_buffer::allocate(4096, 4096).value();
      std::ranges::fill(block, std::byte{1});
      REQUIRE(data.write_at(0, block, {.untorn = untorn}));
      REQUIRE_FALSE(data.sync());
      REQUIRE(disk.sync_directory("."));
      disk.restart();
      (untorn ? untorn_kept : kept).insert(std::ranges::count(contents(disk, "data"), std::byte{1}) / 512);
    }
  });
  CHECK(kept.size() > 5);
  CHECK(untorn_kept == std::set<std::ptrdiff_t>{0, 8});
}

TEST_CASE("after a failed sync every later one of that handle fails") {
  qio::simulated_disk disk({.seed = 1, .sync_errors = 0.5});
  program writer(disk);
  for (const bool blocks : {false, true}) {
    auto data = writer.open("data").value();
    const auto sync = [&](bool blocking) { return blocking ? data.sync() : writer.context.run(data.async_sync()); };
    while (sync(blocks)) {}
    for (int more = 0; more < 20; ++more) CHECK(sync(more % 2 == 0).error() == std::errc::io_error);
  }
}

TEST_CASE("a refused transfer may be retried from where it stopped") {
  std::set<bool> refused;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .short_transfers = 0.5, .refusals = 0.3});
    program writer(disk);
    auto data = writer.open("data").value();
    const bytes wanted = filled(5000, 1);
    for (std::size_t done = 0; done < wanted.size();) {
      const auto rest = std::span(wanted).subspan(done);
      const auto answer =
          seed % 2 == 0 ? data.write_at(done, rest) : writer.context.run(data.async_write_at(done, rest));
      refused.insert(!answer);
      if (!answer) REQUIRE(answer.error() == std::errc::resource_unavailable_try_again);
      done += answer ? answer.value() : answer.error().transferred();
    }
    bytes found(wanted.size());
    for (std::size_t done = 0; done < found.size();) {
      const auto answer = data.read_at(done, std::span(found).subspan(done));
      done += answer ? answer.value() : answer.error().transferred();
    }
    CHECK(found == wanted);
  });
  CHECK(refused == std::set<bool>{false, true});
}

TEST_CASE("a durable write survives a crash with the size, while another write of the file may not") {
  std::set<bool> lost;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .short_transfers = 0.3, .interruptions = 0.3});
    make_durable(disk, 512, 1);
    {
      program writer(disk);
      auto durable = qio::cached_file::open(writer.context, "data", access::read_write, creation::open_existing,
                                            {.durable_writes = true})
                         .value();
      auto other = writer.open("data").value();
      REQUIRE(other.write_at(0, filled(1024, 2)));
      REQUIRE(durable.write_at(1024, filled(1024, 3)));
      const bytes last = filled(1024, 4);
      REQUIRE(writer.context.run(durable.async_write_at(2048, last)));
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    REQUIRE(found.size() == 3072);
    CHECK(
        std::ranges::all_of(std::span(found).subspan(1024, 1024), [](std::byte each) { return each == std::byte(3); }));
    CHECK(std::ranges::all_of(std::span(found).subspan(2048), [](std::byte each) { return each == std::byte(4); }));
    lost.insert(found[0] != std::byte(2));
  });
  CHECK(lost.size() == 2);
}

TEST_CASE("a write with .durable survives a crash, while another write through the same file may not") {
  std::set<bool> lost;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .short_transfers = 0.3, .interruptions = 0.3});
    make_durable(disk, 512, 1);
    {
      program writer(disk);
      auto file = writer.open("data").value();
      REQUIRE(file.write_at(0, filled(1024, 2)));
      REQUIRE(file.write_at(1024, filled(1024, 3), {.durable = true}));
      const bytes last = filled(1024, 4);
      REQUIRE(writer.context.run(file.async_write_at(2048, last, {.durable = true})));
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    REQUIRE(found.size() == 3072);
    const auto holds = [&](std::size_t at, int value) {
      return std::ranges::all_of(std::span(found).subspan(at, 1024),
                                 [&](std::byte b) { return b == std::byte(value); });
    };
    CHECK((holds(1024, 3) && holds(2048, 4)));
    lost.insert(found[0] != std::byte(2));
  });
  CHECK(lost.size() == 2);
}

TEST_CASE("a write with .durable and fails counts as a failed sync, another failed write does not") {
  qio::simulated_disk disk({.seed = 1, .write_errors = 0.5});
  program writer(disk);
  auto data = writer.open("data").value();
  while (data.write_at(0, filled(512, 1))) {}
  CHECK(data.sync());
  while (data.write_at(0, filled(512, 1), {.durable = true})) {}
  for (int more = 0; more < 20; ++more) CHECK(data.sync().error() == std::errc::io_error);
}

TEST_CASE("a durable write that fails counts as a failed sync") {
  qio::simulated_disk disk({.seed = 1, .sync_errors = 0.5});
  program writer(disk);
  auto data =
      qio::cached_file::open(writer.context, "data", access::read_write, creation::if_needed, {.durable_writes = true})
          .value();
  while (data.write_at(0, filled(512, 1))) {}
  for (int more = 0; more < 20; ++more) CHECK(data.sync().error() == std::errc::io_error);
}

TEST_CASE("a failed write may have written part, and a misdirected one reports nothing") {
  std::set<std::size_t> written;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .write_errors = 0.5});
    program writer(disk);
    auto data = writer.open("data").value();
    const auto answer = data.write_at(0, filled(4096, 1));
    if (answer) return;
    CHECK(answer.error() == std::errc::io_error);
    written.insert(contents(disk, "data").size());
  });
  CHECK(written.size() > 10);

  qio::simulated_disk disk({.seed = 5, .misdirected_writes = 1});
  make_durable(disk, 16 * 512, 1);
  program writer(disk);
  auto data = writer.open<qio::direct>("data").value();
  auto block = qio::aligned_buffer::allocate(512).value();
  std::ranges::fill(block, std::byte(2));
  int elsewhere = 0;
  for (int each = 0; each < 20; ++each) {
    REQUIRE(data.write_at(0, block.view(0, 512)).value() == 512);
    elsewhere += contents(disk, "data")[0] != std::byte(2);
  }
  CHECK(std::ranges::count(contents(disk, "data"), std::byte(2)) > 512);
  CHECK(elsewhere > 0);
}

TEST_CASE("everything fails while the power is cut, and works after a restart") {
  for (std::uint64_t calls = 0; calls < 12; ++calls) {
    INFO("after " << calls << " system calls");
    qio::simulated_disk disk;
    make_durable(disk, 512, 1);
    disk.cut_power_after(calls);
    {
      program writer(disk);
      auto opened = writer.open("data");
      if (opened) {
        auto data = std::move(opened).value();
        for (int each = 0; each < 20; ++each) static_cast<void>(data.write_at(0, filled(512, 2)));
        CHECK(data.sync().error() == std::errc::io_error);
        CHECK(data.size().error() == std::errc::io_error);
        CHECK(data.resize(0).error() == std::errc::io_error);
        bytes buffer(512);
        CHECK(data.read_at(0, buffer).error() == std::errc::io_error);
      } else {
        CHECK(calls == 0);
        CHECK(opened.error() == std::errc::io_error);
      }
      CHECK_FALSE(disk.has_power());
      CHECK(disk.sync_directory(".").error() == std::errc::io_error);
      CHECK(disk.rename("data", "other").error() == std::errc::io_error);
    }
    disk.restart();
    CHECK(disk.has_power());
    const bytes found = contents(disk, "data");
    CHECK((found == filled(512, 1) || found == filled(512, 2)));
  }
}

TEST_CASE("operations of files opened before a restart fail, and change nothing") {
  qio::simulated_disk disk;
  program old(disk);
  auto forgotten = old.open("data").value();
  REQUIRE(forgotten.write_at(0, filled(512, 1)));
  disk.restart();
  program fresh(disk);
  auto data = fresh.open("data").value();
  REQUIRE(data.write_at(0, filled(512, 2)));
  CHECK(forgotten.write_at(0, filled(512, 3)).error() == std::errc::bad_file_descriptor);
  CHECK(forgotten.close().error() == std::errc::bad_file_descriptor);
  CHECK(contents(disk, "data") == filled(512, 2));
}

}  // namespace
