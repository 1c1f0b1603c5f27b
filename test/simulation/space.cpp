// SPDX-License-Identifier: BSL-1.0
// The space of files on a simulated disk: what a crash may leave of each change, and full disks.
#include "program.hpp"
#include <qio/copy.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace simulation;

constexpr std::size_t page = 4096, pages = 8;

/// A file "source" of twos, durable.
void make_source(qio::simulated_disk& disk) {
  program writer(disk);
  auto made = writer.open("source").value();
  REQUIRE(made.write_at(0, filled(pages * page, 2)));
  REQUIRE(made.sync());
  REQUIRE(disk.sync_directory("."));
}

/// What changes the pages [2, 6) of a durable file of ones, and their bytes then.
struct change_of_pages {
  const char* name;
  int after;
  std::function<qio::result<void>(program&, file&)> change;
};
const std::array changes = {
    change_of_pages{"discard", 0, [](program&, file& of) { return of.discard(2 * page, 4 * page); }},
    change_of_pages{"zero", 0, [](program&, file& of) { return of.zero(2 * page, 4 * page); }},
    change_of_pages{"clone", 2,
                    [](program& one, file& of) -> qio::result<void> {
                      auto source = one.open("source").value();
                      const auto cloned = of.clone_from(source, {page, 4 * page}, 2 * page);
                      if (!cloned) return cloned.error();
                      return qio::success();
                    }},
};

std::span<const std::byte> page_of(const bytes& all, std::size_t number) {
  return std::span(all).subspan(number * page, page);
}
bool holds_only(std::span<const std::byte> range, int value) {
  return std::ranges::all_of(range, [value](std::byte each) { return each == std::byte(value); });
}

/// The ranges of data of a file.
std::vector<qio::extent> data_of(file& opened) {
  std::vector<qio::extent> found;
  for (std::uint64_t from = 0;;) {
    const auto next = opened.next_data(from).value();
    if (!next) return found;
    found.push_back(*next);
    from = next->offset + next->bytes;
  }
}

TEST_CASE("a crash keeps or loses each page of a discard, a zeroed range or a clone, until a sync") {
  for (const change_of_pages& what : changes) {
    std::set<std::size_t> kept;  // how many of the pages
    for (const bool synced : {false, true})
      each_seed([&](std::uint64_t seed) {
        INFO(what.name << (synced ? ", synced" : ""));
        qio::simulated_disk disk({.seed = seed});
        make_durable(disk, pages * page, 1);
        make_source(disk);
        {
          program writer(disk);
          auto opened = writer.open("data").value();
          REQUIRE(what.change(writer, opened));
          bytes expected = filled(pages * page, 1);
          std::fill_n(expected.begin() + 2 * page, 4 * page, std::byte(what.after));
          CHECK(contents(disk, "data") == expected);
          if (synced) REQUIRE(opened.sync());
        }
        disk.restart();
        const bytes found = contents(disk, "data");
        REQUIRE(found.size() == pages * page);
        std::size_t changed = 0;
        for (std::size_t each = 0; each < pages; ++each) {
          const bool is_part = 2 <= each && each < 6;
          if (is_part && holds_only(page_of(found, each), what.after))
            ++changed;
          else
            CHECK(holds_only(page_of(found, each), 1));
        }
        if (synced)
          CHECK(changed == 4);
        else
          kept.insert(changed);
        CHECK(contents(disk, "source") == filled(pages * page, 2));
      });
    CHECK(kept.size() == 5);
  }
}

TEST_CASE("zeros at any offset are there byte by byte, and after a crash each sector is old or new") {
  constexpr std::size_t size = 3 * page + 700, begin = 1000, end = 2 * page + 300;
  for (const bool reserves : {false, true})
    each_seed([&](std::uint64_t seed) {
      qio::simulated_disk disk({.seed = seed});
      make_durable(disk, size, 1);
      bytes expected = filled(size, 1);
      std::fill(expected.begin() + begin, expected.begin() + end, std::byte{0});
      {
        program writer(disk);
        auto opened = writer.open("data").value();
        REQUIRE((reserves ? opened.zero(begin, end - begin) : opened.discard(begin, end - begin)));
        CHECK(contents(disk, "data") == expected);
        CHECK(data_of(opened) == std::vector<qio::extent>{{0, page}, {2 * page, page + 700}});
      }
      disk.restart();
      const bytes found = contents(disk, "data");
      REQUIRE(found.size() == size);
      for (std::size_t at = 0; at < size; at += 512) {
        const std::size_t length = std::min<std::size_t>(512, size - at);
        const auto sector = std::span(found).subspan(at, length);
        CHECK((holds_only(sector, 1) || std::ranges::equal(sector, std::span(expected).subspan(at, length))));
      }
    });
}

TEST_CASE("a crash keeps an allocated size or the one before, and a synced one stays") {
  for (const bool synced : {false, true}) {
    std::set<std::size_t> sizes;
    each_seed([&](std::uint64_t seed) {
      qio::simulated_disk disk({.seed = seed});
      make_durable(disk, 1000, 1);
      {
        program writer(disk);
        auto opened = writer.open("data").value();
        REQUIRE(opened.allocate(500, 8000, qio::allocation::keep_size));
        CHECK(opened.size().value() == 1000);
        REQUIRE(opened.allocate(500, 8000));
        CHECK(opened.size().value() == 8500);
        if (synced) REQUIRE(opened.sync());
      }
      disk.restart();
      const bytes found = contents(disk, "data");
      sizes.insert(found.size());
      CHECK(holds_only(std::span(found).first(1000), 1));
      CHECK(holds_only(std::span(found).subspan(1000), 0));
    });
    CHECK(sizes == (synced ? std::set<std::size_t>{8500} : std::set<std::size_t>{1000, 8500}));
  }
}

TEST_CASE("space that is reserved and synced is there after a crash, whatever else is written then") {
  for (const bool zeroes : {false, true})
    for (const bool is_written_before : {false, true})
      each_seed([&](std::uint64_t seed) {
        const bool is_discarded_before = seed % 2 == 0;
        qio::simulated_disk disk({.seed = seed, .capacity = 8 * page});
        make_durable(disk, is_discarded_before ? 5 * page : page, 1);
        {
          program writer(disk);
          auto opened = writer.open("data").value();
          if (is_discarded_before) REQUIRE(opened.discard(page, 4 * page));
          REQUIRE((zeroes ? opened.zero(page, 4 * page) : opened.allocate(page, 4 * page, qio::allocation::keep_size)));
          if (seed % 4 < 2) REQUIRE(opened.write_at(0, filled(page, 5), {.durable = true}));
          REQUIRE(opened.sync());
          if (is_written_before) REQUIRE(opened.write_at(2 * page, filled(page, 2)));
        }
        disk.restart();
        program writer(disk);
        auto other = writer.open("other").value();
        CHECK(other.write_at(0, filled(8 * page, 3)).error().transferred() == 3 * page);
        auto opened = writer.open("data").value();
        CHECK(opened.status().value().allocated_bytes == 5 * page);
        CHECK(opened.write_at(page, filled(4 * page, 4)).value() == 4 * page);
        CHECK(opened.write_at(5 * page, filled(1, 4)).error() == std::errc::no_space_on_device);
      });
}

TEST_CASE("on a full disk allocate(), zero() and clone_from() fail and change nothing, and discard() frees space") {
  qio::simulated_disk disk({.capacity = 6 * page});
  make_durable(disk, 4 * page, 1);
  program writer(disk);
  auto opened = writer.open("data").value();
  auto other = writer.open("other").value();
  const auto is_full = [&](const auto& done) {
    return !done && done.error() == std::errc::no_space_on_device && other.size().value() == 0 &&
           data_of(other).empty() && contents(disk, "data") == filled(4 * page, 1) &&
           opened.status().value().allocated_bytes == 4 * page;
  };
  CHECK(is_full(opened.allocate(3 * page, 4 * page)));
  CHECK(is_full(opened.allocate(3 * page, 4 * page, qio::allocation::keep_size)));
  CHECK(is_full(opened.zero(2 * page, 10 * page)));
  CHECK(is_full(other.clone_from(opened, {0, 3 * page}, 0)));
  CHECK(other.write_at(0, filled(2 * page, 2)));
  CHECK(other.clone_from(opened, {0, page}, 4 * page).error() == std::errc::no_space_on_device);
  CHECK(other.clone_from(opened, {0, page}, page).value() == page);  // in the space that it has
  CHECK(opened.zero(0, 4 * page));
  CHECK(other.write_at(2 * page, filled(page, 2)).error() == std::errc::no_space_on_device);
  CHECK(opened.discard(0, 2 * page));
  CHECK(other.write_at(2 * page, filled(2 * page, 2)));
  CHECK(opened.write_at(0, filled(1, 2)).error() == std::errc::no_space_on_device);
}

TEST_CASE("next_data() of a simulated file finds what was written or cloned, and nothing that is only reserved") {
  qio::simulated_disk disk;
  program writer(disk);
  auto opened = writer.open("data").value();
  REQUIRE(opened.allocate(0, 16 * page));
  CHECK(data_of(opened).empty());
  REQUIRE(opened.write_at(2 * page + 10, filled(page, 1)));
  REQUIRE(opened.write_at(9 * page, filled(1, 1)));
  CHECK(data_of(opened) == std::vector<qio::extent>{{2 * page, 2 * page}, {9 * page, page}});
  CHECK(opened.next_data(2 * page + 100).value() == qio::extent{2 * page + 100, 2 * page - 100});
  REQUIRE(opened.clone_from(opened, {0, 4 * page}, 8 * page));  // its hole replaces what was there
  CHECK(data_of(opened) == std::vector<qio::extent>{{2 * page, 2 * page}, {10 * page, 2 * page}});
  REQUIRE(opened.discard(2 * page, page));
  REQUIRE(opened.zero(10 * page, page));
  REQUIRE(opened.sync());
  CHECK(data_of(opened) == std::vector<qio::extent>{{3 * page, page}, {11 * page, page}});
  REQUIRE(opened.resize(11 * page + 5));
  disk.restart();
  if (!disk.exists("data")) return;
  program reader(disk);
  auto again = reader.open("data").value();
  CHECK(data_of(again)[0] == qio::extent{3 * page, page});
}

TEST_CASE("cloned ranges have the same contents until one is written, and after a crash only what was synced") {
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, pages * page + 100, 1);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      auto other = writer.open("other").value();
      REQUIRE(disk.sync_directory("."));
      REQUIRE(opened.write_at(page, filled(page, 2)));  // not synced, but cloned
      CHECK(other.clone_from(opened, {0, 100 * page}, page).value() == pages * page + 100);
      CHECK(other.size().value() == (pages + 1) * page + 100);
      REQUIRE(opened.write_at(0, filled(page, 3)));
      REQUIRE(other.write_at(3 * page, filled(page, 4)));
      REQUIRE(other.sync());
    }
    disk.restart();
    bytes expected = filled((pages + 1) * page + 100, 1);
    std::fill_n(expected.begin(), page, std::byte{0});
    std::fill_n(expected.begin() + 2 * page, page, std::byte{2});
    std::fill_n(expected.begin() + 3 * page, page, std::byte{4});
    CHECK(contents(disk, "other") == expected);
    const bytes found = contents(disk, "data");
    CHECK(holds_only(std::span(found).subspan(2 * page), 1));
  });
}

TEST_CASE("a durable write survives a crash after a discard that was not synced") {
  std::set<bool> discarded;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, pages * page, 1);
    {
      program writer(disk);
      auto opened = writer.open("data").value();
      REQUIRE(opened.discard(0, pages * page));
      REQUIRE(opened.write_at(page + 512, filled(512, 2), {.durable = true}));
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    CHECK(holds_only(std::span(found).subspan(page + 512, 512), 2));
    for (const std::size_t at : {page, page + 1024, 3 * page}) {
      const auto sector = std::span(found).subspan(at, 512);
      CHECK((holds_only(sector, 0) || holds_only(sector, 1)));
      discarded.insert(holds_only(sector, 0));
    }
  });
  CHECK(discarded.size() == 2);
}

TEST_CASE("after a failed sync a discarded range may have its old bytes, until it is discarded again and synced") {
  std::set<bool> lost;
  for (const bool again : {false, true})
    each_seed([&](std::uint64_t seed) {
      qio::simulated_disk disk({.seed = seed, .sync_errors = 0.5});
      {
        program writer(disk);
        while (!writer.open("data").value().write_at(0, filled(pages * page, 1), {.durable = true})) {}
      }
      REQUIRE(disk.sync_directory("."));
      {
        program writer(disk);
        auto opened = writer.open("data").value();
        REQUIRE(opened.discard(0, page));
        if (opened.sync()) return;
      }
      if (again)
        for (bool done = false; !done;) {
          program writer(disk);
          auto opened = writer.open("data").value();
          REQUIRE(opened.discard(0, page));
          done = opened.sync().has_value();
        }
      disk.restart();
      const bool is_lost = !holds_only(page_of(contents(disk, "data"), 0), 0);
      if (again)
        CHECK_FALSE(is_lost);
      else
        lost.insert(is_lost);
    });
  CHECK(lost == std::set<bool>{false, true});
}

TEST_CASE("a change of space counts as a failed write if it fails by chance, not for another reason") {
  qio::simulated_disk disk({.capacity = page, .write_errors = 1});
  program one(disk);
  auto opened = one.open("data").value();
  CHECK(opened.zero(0, 10 * page).error() == std::errc::no_space_on_device);
  CHECK(disk.failed_writes() == 0);
  CHECK(opened.zero(0, page).error() == std::errc::io_error);
  CHECK(disk.failed_writes() == 1);
}

TEST_CASE("a change of space that fails with EIO has changed nothing, or a discard a part of its range") {
  std::set<bool> is_part;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .write_errors = 1});
    program one(disk);
    auto opened = one.open("data").value();
    REQUIRE(opened.resize(pages * page));
    CHECK(opened.allocate(0, 100 * page).error() == std::errc::io_error);
    CHECK(opened.clone_from(opened, {0, page}, 10 * page).error() == std::errc::io_error);
    CHECK(opened.zero(0, pages * page).error() == std::errc::io_error);
    CHECK(opened.size().value() == pages * page);
    is_part.insert(opened.status().value().allocated_bytes == 0);
  });
  CHECK(is_part.contains(false));
}

TEST_CASE("without power, changes of space fail and change nothing") {
  qio::simulated_disk disk;
  make_durable(disk, pages * page, 1);
  make_source(disk);
  {
    program writer(disk);
    auto opened = writer.open("data").value();
    auto source = writer.open("source").value();
    disk.cut_power_after(0);
    for (const auto& failed : {opened.allocate(0, 100 * page), opened.discard(0, page), opened.zero(0, page)})
      CHECK(failed.error() == std::errc::io_error);
    CHECK(opened.next_data(0).error() == std::errc::io_error);
    CHECK(opened.clone_from(source, {0, page}, 0).error() == std::errc::io_error);
  }
  disk.restart();
  CHECK(contents(disk, "data") == filled(pages * page, 1));
}

TEST_CASE("discard() and zero() repair bad sectors that they cover, and a clone shares them") {
  qio::simulated_disk disk;
  make_durable(disk, pages * page, 1);
  program writer(disk);
  auto opened = writer.open("data").value();
  auto other = writer.open("other").value();
  bytes buffer(page);
  REQUIRE(disk.damage("data", page + 512, 1));
  CHECK(other.clone_from(opened, {0, 4 * page}, 0).value() == 4 * page);
  CHECK(other.read_at(page, buffer).error().transferred() == 512);
  CHECK(other.write_at(page, filled(page, 2)));
  CHECK(other.read_at(page, buffer));
  CHECK(opened.discard(page + 512, 100).error() == std::errc::io_error);
  CHECK(opened.read_at(page, buffer).error().transferred() == 512);
  CHECK(opened.discard(page, page));
  CHECK(opened.read_at(page, buffer).value() == page);
  REQUIRE(disk.damage("data", page, 1));
  CHECK(opened.zero(page, 512));
  CHECK(opened.read_at(page, buffer).value() == page);
}

TEST_CASE("a file of another simulated disk can be copied, but not cloned") {
  qio::simulated_disk disk({.seed = 1}), other({.seed = 2});
  make_durable(disk, pages * page, 1);
  make_durable(other, pages * page, 2);
  program one(disk), two(other);
  auto opened = one.open("data").value();
  auto source = two.open("data").value();
  CHECK(opened.clone_from(source, {0, page}, 0).error() == std::errc::cross_device_link);
  CHECK(opened.copy_from(source, {0, page}, page).value() == page);
  bytes expected = filled(pages * page, 1);
  std::fill_n(expected.begin() + page, page, std::byte{2});
  CHECK(contents(disk, "data") == expected);
}

TEST_CASE("copy() that fails has copied no more than its source has, and the destination has exactly that") {
  const bytes all = filled(page + 904, 1);
  int failed = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk sound, poor({.seed = seed, .short_transfers = 0.7, .write_errors = 0.3});
    program one(sound), two(poor);
    auto from = one.open("from").value();
    auto to = two.open<qio::direct>("to").value();
    REQUIRE(from.write_at(0, all));
    const auto copied = qio::copy(from, to);
    if (copied) return;
    ++failed;
    CHECK(copied.error().transferred() <= all.size());
    CHECK(to.size().value() == copied.error().transferred());
  });
  CHECK(failed > 20);
}

TEST_CASE("a removed file takes space until it is closed, and so does one without a name") {
  qio::simulated_disk disk({.capacity = 4 * page});
  program one(disk);
  {
    auto removed = one.open("removed").value();
    REQUIRE(removed.write_at(0, filled(2 * page, 1)));
    REQUIRE(disk.remove("removed"));
    auto unnamed = qio::cached_file::open_unnamed(one.context, ".").value();
    CHECK(unnamed.write_at(0, filled(3 * page, 1)).error().transferred() == 2 * page);
  }
  auto next = one.open("next").value();
  CHECK(next.write_at(0, filled(4 * page, 1)).value() == 4 * page);
}

TEST_CASE("a huge range of space takes no time or memory") {
  qio::simulated_disk disk({.capacity = std::uint64_t(1) << 60});
  make_durable(disk, page, 1);
  program writer(disk);
  auto opened = writer.open("data").value();
  constexpr std::uint64_t huge = std::uint64_t(1) << 50;
  CHECK(opened.allocate(0, huge));
  CHECK(opened.discard(2 * page, huge));
  CHECK(opened.zero(100, huge));
  CHECK(opened.status().value().allocated_bytes == huge + page);
  CHECK(opened.sync());
  disk.restart();
  program reader(disk);
  auto again = reader.open("data").value();
  CHECK(again.size().value() == huge);
  CHECK(data_of(again) == std::vector<qio::extent>{{0, page}});
}

}  // namespace
