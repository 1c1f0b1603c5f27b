// Names and replaced files in crashes: at each system call, with many seeds.
#include "program.hpp"
#include <qio/copy.hpp>
#include <qio/directory_reader.hpp>
#include <qio/names.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace simulation;
using qio::if_exists;

constexpr std::size_t old_size = 3000, new_size = 5000;

template <class Value>
qio::task<bool> succeeds(qio::task<qio::result<Value>> work) {
  auto done = co_await std::move(work);
  co_return done.has_value();
}

/// How many system calls `work(program)` makes on the disk that `prepare(disk)` leaves.
template <class Prepare, class Work>
std::uint64_t calls_of(Prepare prepare, Work work) {
  qio::simulated_disk disk;
  prepare(disk);
  const std::uint64_t before = disk.system_calls();
  program one(disk);
  REQUIRE(work(one));
  return disk.system_calls() - before;
}

/// Cuts the power after each number of system calls of `work(program)`, which returns whether it has succeeded, with
/// each seed. After the restart, `check(disk, has_succeeded)`.
template <class Prepare, class Work, class Check>
void cut_everywhere(Prepare prepare, Work work, Check check) {
  const std::uint64_t calls = calls_of(prepare, work);
  REQUIRE(calls >= 2);
  for (std::uint64_t cut = 0; cut <= calls + 1; ++cut)
    each_seed([&](std::uint64_t seed) {
      INFO("power cut after " << cut << " of " << calls << " system calls");
      qio::simulated_disk disk({.seed = seed});
      prepare(disk);
      bool has_succeeded = false;
      {
        program one(disk);
        disk.cut_power_after(cut);
        has_succeeded = work(one);
      }
      if (cut < calls) CHECK_FALSE(has_succeeded);
      if (cut >= calls) CHECK(has_succeeded);
      disk.restart();
      check(disk, has_succeeded);
    });
}

/// Names that no program has chosen.
std::set<std::string> temporary_names(const qio::simulated_disk& disk) {
  std::set<std::string> found;
  for (const std::string& each : disk.names())
    if (each.find(".qio-") != each.npos) found.insert(each);
  return found;
}

void have_old(qio::simulated_disk& disk) { make_durable(disk, old_size, 1); }

}  // namespace

TEST_CASE("a power cut at any system call of replace_file() leaves the old or the new contents, whole") {
  const bytes replacing = filled(new_size, 2);
  std::set<std::string> seen;
  cut_everywhere(
      &have_old,
      [&](program& one) { return one.context.run(succeeds(qio::async_replace_file(one.context, "data", replacing))); },
      [&](qio::simulated_disk& disk, bool has_succeeded) {
        const bytes found = contents(disk, "data");
        const bool is_new = found == replacing;
        CHECK((is_new || found == filled(old_size, 1)));
        if (has_succeeded) CHECK(is_new);
        const auto left = temporary_names(disk);
        CHECK(left.size() <= 1);
        if (has_succeeded) CHECK(left.empty());
        seen.insert(std::string(has_succeeded ? "done"
                                : is_new      ? "new"
                                              : "old") +
                    (left.empty() ? "" : " and temporary"));
      });
  CHECK(seen == std::set<std::string>{"done", "new", "old", "old and temporary"});
}

TEST_CASE("a power cut at any system call of copy_file() leaves the old file or the whole copy") {
  std::set<std::string> seen;
  const bytes old = filled(old_size, 1);
  bytes source = filled(3 * 4096 + 700, 2);
  for (const std::size_t hole : {std::size_t(0), std::size_t(2) * 4096})
    std::fill_n(source.begin() + static_cast<std::ptrdiff_t>(hole), 4096, std::byte{0});
  cut_everywhere(
      [&](qio::simulated_disk& disk) {
        have_old(disk);
        program one(disk);
        auto from = one.open("source").value();
        for (const std::size_t at : {std::size_t(4096), std::size_t(3) * 4096})
          REQUIRE(from.write_at(at, std::span(source).subspan(at, (std::min<std::size_t>)(4096, source.size() - at))));
        REQUIRE(one.context.run(from.async_sync()));
        REQUIRE(disk.sync_directory("."));
      },
      [](program& one) { return one.context.run(succeeds(qio::async_copy_file(one.context, "source", "data"))); },
      [&](qio::simulated_disk& disk, bool has_succeeded) {
        const bytes found = contents(disk, "data");
        const bool is_new = found == source;
        CHECK((is_new || found == old));
        if (has_succeeded) CHECK(is_new);
        CHECK(contents(disk, "source") == source);
        const auto left = temporary_names(disk);
        CHECK(left.size() <= 1);
        if (has_succeeded) CHECK(left.empty());
        seen.insert(has_succeeded ? "done" : is_new ? "new" : left.empty() ? "old" : "old and temporary");
      });
  CHECK(seen == std::set<std::string>{"done", "new", "old", "old and temporary"});
}

TEST_CASE("a power cut at any system call leaves no directory without its parents, once they are durable") {
  std::set<std::size_t> seen;
  const std::vector<std::string> all = {"a", "a/b", "a/b/c"};
  cut_everywhere([](qio::simulated_disk&) {},
                 [](program& one) {
                   qio::directory_options options;
                   options.parents = options.durable = true;
                   return one.context.run(succeeds(qio::async_create_directory(one.context, "a/b/c", options)));
                 },
                 [&](qio::simulated_disk& disk, bool has_succeeded) {
                   const std::vector<std::string> found = disk.names();
                   CHECK(std::equal(found.begin(), found.end(), all.begin()));  // each with those above it
                   if (has_succeeded) CHECK(found == all);
                   seen.insert(found.size());
                 });
  CHECK(seen == std::set<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("the same with a writer, interrupted and short writes, and no file before") {
  for (const bool exists : {false, true}) {
    const bytes replacing = filled(new_size, 2);
    const auto writer = [&](auto& file) -> qio::result<void> {
      for (std::size_t at = 0; at < new_size; at += 1000)
        if (auto done = file.write_at(at, std::span(replacing).subspan(at, 1000)); !done) return done.error();
      return qio::success();
    };
    for (std::uint64_t cut = 0; cut < 16; ++cut)
      each_seed([&](std::uint64_t seed) {
        qio::simulated_disk disk({.seed = seed, .short_transfers = 0.3, .interruptions = 0.3});
        if (exists) have_old(disk);
        bool has_succeeded = false;
        {
          program one(disk);
          disk.cut_power_after(cut);
          has_succeeded = one.context.run(succeeds(qio::async_replace_file(one.context, "data", writer)));
        }
        disk.restart();
        INFO("power cut after " << cut << " system calls");
        if (!exists && !disk.exists("data")) {
          CHECK_FALSE(has_succeeded);
          return;
        }
        const bytes found = contents(disk, "data");
        CHECK((found == replacing || (exists && found == filled(old_size, 1))));
        if (has_succeeded) CHECK(found == replacing);
      });
  }
}

TEST_CASE("replace_file() that is not durable may leave an incomplete file after a power cut, and does not sync") {
  std::set<bool> is_whole;
  const bytes replacing = filled(new_size, 2);
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    have_old(disk);
    {
      program one(disk);
      REQUIRE(one.context.run(qio::async_replace_file(one.context, "data", replacing, {.durable = false})));
      CHECK(contents(disk, "data") == replacing);
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    is_whole.insert(found == replacing || found == filled(old_size, 1));
  });
  CHECK(is_whole == std::set<bool>{false, true});
}

TEST_CASE("replace_file() that fails leaves the old file and no other") {
  const bytes replacing = filled(new_size, 2);
  const auto fails = [&](const qio::simulation_options& options, std::errc expected) {
    qio::simulated_disk disk(options);
    have_old(disk);
    program one(disk);
    const auto failed = one.context.run(qio::async_replace_file(one.context, "data", replacing));
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == expected);
    CHECK(failed.error().message().find("cannot replace data: ") == 0);
    CHECK(disk.names() == std::vector<std::string>{"data"});
    CHECK(contents(disk, "data") == filled(old_size, 1));
  };
  fails({.capacity = 8192}, std::errc::no_space_on_device);
}

TEST_CASE("replace_file() on a disk with errors of all kinds leaves the old or the new file, and no other") {
  int failures = 0, successes = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .write_errors = 0.1, .sync_errors = 0.2});
    program one(disk);
    bytes expected;
    for (int value = 1; value <= 5; ++value) {
      const bytes replacing = filled(new_size, value);
      const auto done = one.context.run(qio::async_replace_file(one.context, "data", replacing));
      if (done) expected = replacing;
      ++(done ? successes : failures);
      if (!expected.empty()) CHECK(one.open("data").value().size().value() == new_size);
      CHECK(disk.exists("data") == !expected.empty());
      CHECK(temporary_names(disk).empty());
    }
    disk.restart();
    if (!expected.empty()) CHECK(contents(disk, "data") == expected);
  });
  CHECK(failures > 50);
  CHECK(successes > 50);
}

TEST_CASE("a power cut at any system call of rename() and sync_directory() leaves the old or the new file, whole") {
  const auto prepare = [](qio::simulated_disk& disk) {
    have_old(disk);
    program one(disk);
    auto made = one.open("new").value();
    REQUIRE(made.write_at(0, filled(new_size, 2)));
    REQUIRE(made.sync());
    REQUIRE(disk.sync_directory("."));
  };
  const auto check = [](qio::simulated_disk& disk, bool has_succeeded) {
    const bytes found = contents(disk, "data");
    const bool is_new = found == filled(new_size, 2);
    CHECK((is_new || found == filled(old_size, 1)));
    CHECK(disk.exists("new") == !is_new);
    if (has_succeeded) CHECK(is_new);
  };
  cut_everywhere(
      prepare,
      [](program& one) {
        return one.context.run(succeeds(qio::async_rename(one.context, "new", "data"))) &&
               one.context.run(succeeds(qio::async_sync_directory(one.context, ".")));
      },
      check);
  cut_everywhere(
      prepare,
      [](program& one) {
        return one.context.run(
            succeeds(qio::async_rename(one.context, "new", "data", if_exists::replace, {.durable = true})));
      },
      check);
}

TEST_CASE(
    "a power cut at any system call of open_unnamed() and give_name() leaves the old file or the new one, whole") {
  const bytes replacing = filled(new_size, 2);
  for (const bool replaces : {false, true}) {
    const char* const name = replaces ? "data" : "new";
    std::set<std::string> seen;
    cut_everywhere(
        &have_old,
        [&](program& one) {
          auto opened = one.context.run(qio::cached_file::async_open_unnamed(one.context, "."));
          return opened && opened.value().write_at(0, replacing) && opened.value().sync() &&
                 opened.value().give_name(name, replaces ? if_exists::replace : if_exists::fail) &&
                 one.context.run(succeeds(qio::async_sync_directory(one.context, ".")));
        },
        [&](qio::simulated_disk& disk, bool has_succeeded) {
          const bool is_new = disk.exists(name) && contents(disk, name) == replacing;
          if (has_succeeded) CHECK(is_new);
          if (!is_new && !replaces) CHECK_FALSE(disk.exists(name));
          if (!is_new || !replaces) CHECK(contents(disk, "data") == filled(old_size, 1));
          CHECK(disk.names().size() == (is_new && !replaces ? 2 : 1));  // no file without a name has one now
          seen.insert(has_succeeded ? "done" : is_new ? "new" : "old");
        });
    CHECK(seen == std::set<std::string>{"done", "new", "old"});
  }
}

TEST_CASE("a file that was given a name without a sync is there after a crash with any part of its contents, or not") {
  std::set<std::string> seen;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    {
      program one(disk);
      auto unnamed = qio::cached_file::open_unnamed(one.context, ".").value();
      REQUIRE(unnamed.write_at(0, filled(new_size, 2)));
      REQUIRE(unnamed.give_name("data"));
    }
    disk.restart();
    if (!disk.exists("data")) {
      seen.insert("none");
      return;
    }
    const bytes found = contents(disk, "data");
    CHECK((found.size() % 4096 == 0 || found.size() == new_size));  // written out page by page
    for (const std::byte each : found) CHECK((each == std::byte{0} || each == std::byte{2}));
    seen.insert(found == filled(new_size, 2) ? "whole" : found.empty() ? "empty" : "in part");
  });
  CHECK(seen == std::set<std::string>{"none", "empty", "in part"});
}

TEST_CASE("an exchange of two names is whole after a crash, and durable after a sync of either directory") {
  for (const char* const synced : {"", "a", "b"}) {
    std::set<std::string> seen;
    each_seed([&](std::uint64_t seed) {
      qio::simulated_disk disk({.seed = seed});
      program one(disk);
      for (const char* const name : {"a/x", "b/y"}) {
        auto made = one.open(name).value();
        REQUIRE(made.write_at(0, filled(100, name[0])));
        REQUIRE(made.sync());
      }
      REQUIRE(disk.sync_directory("a"));
      REQUIRE(disk.sync_directory("b"));
      REQUIRE(one.context.run(qio::async_rename(one.context, "a/x", "b/y", if_exists::exchange)));
      if (*synced != '\0') REQUIRE(one.context.run(qio::async_sync_directory(one.context, synced)));
      disk.restart();
      const bytes x = contents(disk, "a/x"), y = contents(disk, "b/y");
      seen.insert({static_cast<char>(x[0]), static_cast<char>(y[0])});
    });
    CHECK(seen == (*synced != '\0' ? std::set<std::string>{"ba"} : std::set<std::string>{"ab", "ba"}));
  }
}

TEST_CASE("a removed name may come back after a crash, until its directory is synced, and a link shares its contents") {
  std::set<bool> comes_back;
  for (const bool durable : {false, true})
    each_seed([&](std::uint64_t seed) {
      qio::simulated_disk disk({.seed = seed});
      have_old(disk);
      program one(disk);
      REQUIRE(one.context.run(qio::async_link(one.context, "data", "other", {.durable = true})));
      {
        auto opened = one.open("other").value();
        REQUIRE(opened.write_at(0, filled(old_size, 3)));
        REQUIRE(opened.sync());
      }
      REQUIRE(one.context.run(qio::async_remove(one.context, "data", {.durable = durable})).value());
      CHECK_FALSE(disk.exists("data"));
      disk.restart();
      if (durable)
        CHECK_FALSE(disk.exists("data"));
      else
        comes_back.insert(disk.exists("data"));
      if (disk.exists("data")) CHECK(contents(disk, "data") == filled(old_size, 3));
      CHECK(contents(disk, "other") == filled(old_size, 3));
    });
  CHECK(comes_back == std::set<bool>{false, true});
}

TEST_CASE("a removal that another process began is durable after a durable call that finds nothing to remove") {
  each_seed([](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    have_old(disk);
    program one(disk);
    REQUIRE(one.context.run(qio::async_remove(one.context, "data")).value());
    REQUIRE_FALSE(one.context.run(qio::async_remove(one.context, "data", {.durable = true})).value());
    disk.restart();
    CHECK_FALSE(disk.exists("data"));
  });
}

TEST_CASE("changes of names in flight at a restart change nothing afterwards, when their context is destroyed") {
  int lost = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, old_size, 1);
    program before(disk);
    std::string left;
    {
      qio::task_scope scope(before.context);
      const auto change = [&](qio::task<qio::result<void>> work) -> qio::task<> {
        static_cast<void>(co_await std::move(work));
      };
      scope.spawn(change(qio::async_rename(before.context, "data", "other")));
      scope.spawn(change(qio::async_sync_directory(before.context, ".")));
      before.context.poll();
      disk.restart();
      left = disk.names().front();
      REQUIRE(disk.link(left, "new"));
    }
    CHECK_FALSE(disk.exists(left == "data" ? "other" : "data"));
    disk.restart();
    lost += disk.exists("new") ? 0 : 1;  // nobody has synced it
  });
  CHECK(lost > 50);
}

TEST_CASE("a file with two names takes its space once") {
  qio::simulated_disk disk({.capacity = 8192});
  make_durable(disk, 4096, 1);
  REQUIRE(disk.link("data", "other"));
  program one(disk);
  auto third = one.open("third").value();
  CHECK(third.write_at(0, filled(4096, 2)));
  CHECK(third.write_at(4096, filled(1, 2)).error() == std::errc::no_space_on_device);
}

namespace {

/// The names that are listed in a directory, in the order in which they come; none if the power was cut.
std::optional<std::vector<std::string>> listed(program& one, const std::string& path) {
  auto opened = one.context.run(qio::directory_reader::async_open(one.context, path));
  if (!opened) return std::nullopt;
  auto reader = std::move(opened).value();
  std::vector<std::string> all;
  for (;;) {
    const auto batch = one.context.run(reader.async_next_batch(one.context));
    if (!batch) return std::nullopt;
    if (batch.value().empty()) return all;
    for (const auto& each : batch.value()) all.emplace_back(each.name);
  }
}

}  // namespace

TEST_CASE("a directory lists what has a name beneath it, in an order that follows from the seed") {
  std::set<std::vector<std::string>> orders;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    program one(disk);
    for (const char* each : {"logs/1", "logs/2", "logs/old/0", "top", "./here", "/root/file", "logsbeside"})
      REQUIRE(one.open(each));
    REQUIRE(one.context.run(qio::async_create_directory(one.context, "logs/empty")).value());
    const auto found = listed(one, "logs").value();
    orders.insert(found);
    CHECK(std::set<std::string>(found.begin(), found.end()) == std::set<std::string>{"1", "2", "old", "empty"});
    CHECK(found.size() == 4);
    CHECK(listed(one, "logs/")->size() == 4);
    CHECK(listed(one, "logs/old").value() == std::vector<std::string>{"0"});
    CHECK(listed(one, "logs/empty")->empty());
    CHECK(listed(one, "/").value() == std::vector<std::string>{"root"});
    const auto top = listed(one, ".").value();
    CHECK(std::set<std::string>(top.begin(), top.end()) == std::set<std::string>{"logs", "top", "here", "logsbeside"});
    auto reader = one.context.run(qio::directory_reader::async_open(one.context, ".")).value();
    CHECK(reader.status({"here"}).value().type == qio::file_type::regular);
    CHECK(reader.status({"logs"}).value().type == qio::file_type::directory);
    CHECK(one.context.run(qio::directory_reader::async_open(one.context, "log")).error() ==
          std::errc::no_such_file_or_directory);
  });
  CHECK(orders.size() > 1);
}

TEST_CASE("listing makes system calls, at each of which the power may be cut, and shows what a crash has left") {
  for (std::uint64_t cut = 0; cut < 6; ++cut)
    each_seed([&](std::uint64_t seed) {
      qio::simulated_disk disk({.seed = seed});
      {
        program one(disk);
        for (int i = 0; i < 40; ++i) REQUIRE(one.open(("logs/" + std::to_string(i)).c_str()));
        disk.cut_power_after(cut);
        CHECK(listed(one, "logs").has_value() == (cut == 5));  // an open, and batches of 16, 16, 8 and none
      }
      disk.restart();
      program again(disk);
      const auto left = listed(again, "logs").value_or(std::vector<std::string>());
      CHECK(left.size() == disk.names().size());
      for (const std::string& each : left) CHECK(disk.exists("logs/" + each));
    });
}

TEST_CASE("what a simulated disk has no names for is refused") {
  qio::simulated_disk disk;
  program one(disk);
  REQUIRE(one.context.run(qio::async_create_directory(one.context, "directory")).value());
  CHECK(one.context.run(qio::async_rename(one.context, "directory", "other")).error() ==
        std::errc::operation_not_supported);
  CHECK(one.context.run(qio::async_symlink(one.context, "data", "link")).error() == std::errc::operation_not_supported);
  CHECK(one.open("directory", creation::if_needed).error() == std::errc::is_a_directory);
  const bytes replacing = filled(1, 1);
  CHECK(one.context.run(qio::async_replace_file(one.context, "directory", replacing)).error() ==
        std::errc::is_a_directory);
  auto unnamed = qio::cached_file::open_unnamed(one.context, ".").value();
  CHECK(unnamed.give_name("directory", if_exists::replace).error() == std::errc::is_a_directory);
}

TEST_CASE(
    "temporary files and directories of a simulated disk are gone with their objects, or after a crash may be not") {
  qio::simulated_disk disk;
  program one(disk);
  {
    auto scratch = one.context.run(qio::temporary_file<>::async_create(one.context)).value();
    auto kept = qio::temporary_file<qio::direct>::create(one.context, {.within = "kept"}).value();
    auto directory = one.context.run(qio::temporary_directory<>::async_create(one.context)).value();
    CHECK(disk.exists(scratch.path()));
    CHECK(scratch.file().write_at(0, filled(10, 1)));
    CHECK(one.open((directory.path() + "/file").c_str(), creation::if_needed));
    CHECK(disk.names().size() == 4);
    kept.keep();
  }
  REQUIRE(disk.names().size() == 1);
  CHECK(disk.names()[0].find("kept/.qio-") == 0);
}

TEST_CASE("a temporary file that has another name by then is not there to be removed, and what took its name stays") {
  qio::simulated_disk disk;
  program one(disk);
  std::string name;
  {
    auto scratch = one.context.run(qio::temporary_file<>::async_create(one.context)).value();
    name = scratch.path();
    disk.rename(name, "final").value();
    one.open(name.c_str(), creation::only_if_missing).value();
  }
  CHECK(disk.exists(name));
  CHECK(disk.exists("final"));
}

TEST_CASE("what is temporary stays after a restart, when the objects of the program that has crashed are destroyed") {
  int left = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    std::vector<std::string> there;
    {
      program one(disk);
      const auto file = one.context.run(qio::temporary_file<>::async_create(one.context)).value();
      const auto directory =
          one.context.run(qio::temporary_directory<qio::simulated>::async_create(one.context)).value();
      one.open((directory.path() + "/file").c_str(), creation::only_if_missing).value();
      disk.restart();
      there = disk.names();
    }
    CHECK(disk.names() == there);
    left += there.size() == 3 ? 1 : 0;
  });
  CHECK(left != 0);
}
