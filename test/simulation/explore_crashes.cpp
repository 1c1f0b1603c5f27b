// What explore_crashes() promises: which states it visits, what it counts, and what a failure reports.
#include "program.hpp"
#include <qio/explore_crashes.hpp>
#include <qio/names.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace simulation;
using qio::explore_crashes;
using qio::simulated_disk;

/// The names, and the contents of the files: a digit for each sector, and the size.
std::string state_of(simulated_disk& disk) {
  std::string all;
  for (const std::string& name : disk.names()) {
    const bytes found = contents(disk, name.c_str());
    all += name + ':' + std::to_string(found.size()) + ':';
    for (std::size_t at = 0; at < found.size(); at += 512) all += std::to_string(static_cast<int>(found[at]));
    all += ' ';
  }
  return all;
}

/// A durable file "data" of some sectors of ones.
auto data_of(std::size_t sectors) {
  return [sectors](simulated_disk& disk) {
    REQUIRE(program(disk).open("data").value().write_at(0, filled(sectors * 512, 1)));
  };
}

void write(simulated_disk& disk, const char* path, std::uint64_t sector, std::size_t sectors, int value) {
  program one(disk);
  one.open(path).value().write_at(sector * 512, filled(sectors * 512, value)).value();
}

/// Two writes that overlap in time.
void write_at_once(simulated_disk& disk, std::uint64_t first, std::uint64_t second) {
  program one(disk);
  auto data = one.open("data").value();
  const bytes some = filled(1024, 2);
  const auto append = [&](std::uint64_t offset) -> qio::task<> {
    (co_await data.async_write_at(offset, some)).value();
  };
  one.context.run(qio::when_all(append(first), append(second)));
}

std::string accept(simulated_disk&) { return {}; }

}  // namespace

TEST_CASE("explored are the states that random power cuts leave, and no others") {
  using step = std::function<void(simulated_disk&)>;
  const std::map<std::string, std::vector<step>> programs = {
      {"overwrites",
       {[](auto& disk) { write(disk, "data", 0, 2, 2); }, [](auto& disk) { write(disk, "data", 1, 2, 3); }}},
      {"extends",
       {[](auto& disk) { write(disk, "data", 3, 2, 2); }, [](auto& disk) { write(disk, "data", 4, 2, 3); },
        [](auto& disk) { program(disk).open("data").value().resize(2100).value(); }}},
      {"new names",
       {[](auto& disk) { write(disk, "new", 0, 1, 2); }, [](auto& disk) { disk.rename("new", "data").value(); },
        [](auto& disk) { write(disk, "data", 1, 1, 3); }, [](auto& disk) { disk.remove("data").value(); }}},
      {"links",
       {[](auto& disk) { disk.link("data", "other").value(); }, [](auto& disk) { write(disk, "other", 0, 1, 2); },
        [](auto& disk) { write(disk, "third", 0, 1, 3); }}},
      {"durable writes",
       {[](auto& disk) { write(disk, "data", 0, 3, 2); },
        [](auto& disk) {
          program one(disk);
          one.open("data").value().write_at(512, filled(512, 3), {.durable = true}).value();
        }}},
      {"a durable write alone", {[](auto& disk) {
         program one(disk);
         one.open("data").value().write_at(1024, filled(1536, 2), {.durable = true}).value();
       }}},
      {"space",
       {[](auto& disk) { program(disk).open("data").value().allocate(0, 8192).value(); },
        [](auto& disk) { write(disk, "data", 8, 1, 2); },
        [](auto& disk) { program(disk).open("data").value().zero(0, 4096).value(); }}},
      {"in flight", {[](auto& disk) { write_at_once(disk, 1024, 1536); }}},
  };
  for (const auto& [name, steps] : programs) {
    INFO(name);
    const auto in_order = std::chrono::nanoseconds(0);  // all calls take equally long
    const auto run = [&](simulated_disk& disk) {
      for (const step& each : steps) each(disk);
    };
    std::set<std::string> explored, random;
    const auto found = explore_crashes(run,
                                       [&](simulated_disk& disk) {
                                         explored.insert(state_of(disk));
                                         return std::string();
                                       },
                                       {.disk = {.longest = in_order}, .prepare = data_of(3)});
    CHECK_FALSE(found.failure);
    CHECK(found.exhaustive);
    for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
      simulated_disk disk({.seed = seed, .longest = in_order});
      make_durable(disk, 3 * 512, 1);
      disk.cut_power_after(seed % (found.crashes + 1));
      try {
        run(disk);
      } catch (const std::exception&) {
        REQUIRE_FALSE(disk.has_power());
      }
      disk.restart();
      random.insert(state_of(disk));
    }
    CHECK(explored.size() > 3);
    CHECK(explored == random);
  }
}

TEST_CASE("three operations of four blocks between syncs are explored exhaustively") {
  std::set<std::string> at_end;
  bool has_ended = false;
  const auto found = explore_crashes(
      [&](simulated_disk& disk) {
        has_ended = false;
        for (std::uint64_t each = 0; each < 3; ++each) write(disk, "data", 4 * each, 4, 2);
        has_ended = true;
      },
      [&](simulated_disk& disk) {
        if (has_ended) at_end.insert(state_of(disk));
        return std::string();
      },
      {.prepare = data_of(12)});
  CHECK(found.exhaustive);
  CHECK_FALSE(found.failure);
  CHECK(at_end.size() == 4096);
  CHECK(found.crashes == 7);  // three opens and three writes
  CHECK(found.states == 2 * (1 + 16 + 256) + 4096);
}

TEST_CASE("a durable write that nothing overlaps may be torn until it has succeeded") {
  const bytes some = filled(2048, 2);
  const auto blocking = [&](program&, auto& data) { static_cast<void>(data.write_at(0, some, {.durable = true})); };
  const auto asynchronous = [&](program& one, auto& data) {
    static_cast<void>(one.context.run(data.async_write_at(0, some, {.durable = true})));
  };
  // None knows of the power failure when it begins.
  const auto two = [&](program& one, auto& data) {
    const auto half = [&](std::size_t offset) -> qio::task<> {
      static_cast<void>(co_await data.async_write_at(offset, std::span(some).subspan(offset, 1024), {.durable = true}));
    };
    one.context.run(qio::when_all(half(0), half(1024)));
  };
  const auto states_of = [&](const auto& change) {
    std::set<std::string> states;
    bool has_ended = false;
    const auto found = explore_crashes(
        [&](simulated_disk& disk) {
          has_ended = false;
          program one(disk);
          if (auto data = one.open("data")) change(one, data.value());
          has_ended = disk.has_power();
        },
        [&](simulated_disk& disk) {
          states.insert(state_of(disk));
          return has_ended && state_of(disk) != "data:2048:2222 " ? "it is lost" : std::string();
        },
        {.prepare = data_of(4)});
    CHECK_FALSE(found.failure);
    CHECK(found.exhaustive);
    return states.size();
  };
  CHECK(states_of(blocking) == 16);
  CHECK(states_of(asynchronous) == 16);
  CHECK(states_of(two) == 16);
}

TEST_CASE("a write in flight at a power failure is explored in full, also if the program then cancels it") {
  const bytes some = filled(2048, 2);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    std::set<std::string> states;
    const auto found = explore_crashes(
        [&](simulated_disk& disk) {
          program one(disk);
          auto data = one.open("data");
          if (!data) return;
          const auto write = [&](std::uint64_t offset, std::size_t bytes) {
            return data.value().async_write_at(offset, std::span(some).first(bytes), {.durable = true});
          };
          bool has_ended = false;
          qio::operation_slot<decltype(write(0, 0))> first;
          first.emplace([&] { return write(0, 2048); }).start([&](qio::result<std::size_t>) { has_ended = true; });
          if (!one.context.run(write(2048, 512))) return;  // which destroys the first one
          while (!has_ended) one.context.poll();
        },
        [&](simulated_disk& disk) {
          states.insert(state_of(disk));
          return std::string();
        },
        {.disk = {.seed = seed}, .prepare = data_of(5)});
    CHECK_FALSE(found.failure);
    CHECK(found.exhaustive);
    CHECK(states.size() == 32);
  }
}

TEST_CASE("a write that completes while a sync is in flight is not covered by it") {
  const bytes some = filled(1024, 2);
  std::uint64_t overtaken = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    bool was_overtaken = false;
    const auto found = explore_crashes(
        [&](simulated_disk& disk) {
          was_overtaken = false;
          program one(disk);
          auto data = one.open("data");
          if (!data) return;
          bool is_written = false, is_overtaken = false;
          const auto write = [&]() -> qio::task<> {
            is_written = (co_await data.value().async_write_at(0, some)).has_value();
          };
          const auto sync = [&]() -> qio::task<> {
            is_overtaken = (co_await data.value().async_sync()).has_value() && is_written;
          };
          one.context.run(qio::when_all(sync(), write()));
          was_overtaken = is_overtaken;
        },
        [&](simulated_disk& disk) {
          const bool is_lost = was_overtaken && state_of(disk) != "data:1024:22 ";
          return is_lost ? "it was not covered" : std::string();
        },
        {.disk = {.seed = seed}, .prepare = data_of(2)});
    overtaken += was_overtaken ? 1u : 0u;
    lost += found.failure ? 1u : 0u;
  }
  CHECK(overtaken > 3);
  CHECK(lost == overtaken);
}

TEST_CASE("combinations that leave the same state are checked once") {
  std::uint64_t checks = 0;
  const auto found = explore_crashes(
      [](simulated_disk& disk) {
        for (const int value : {2, 3, 4}) write(disk, "data", 0, 4, value);
      },
      [&](simulated_disk&) {
        ++checks;
        return std::string();
      },
      {.prepare = data_of(4)});
  CHECK(found.exhaustive);
  CHECK(found.combinations > 4096);
  CHECK(found.states == checks);
  CHECK(found.states == 2 + 2 * (16 + 81) + 256);  // two, three or four values of each sector
}

TEST_CASE("a sector that a write does not change is no choice") {
  const auto found =
      explore_crashes([](simulated_disk& disk) { write(disk, "data", 0, 40, 1); }, accept, {.prepare = data_of(40)});
  CHECK(found.exhaustive);
  CHECK(found.states == 3);
}

TEST_CASE("a failure is the one after the fewest calls, with the fewest changes lost") {
  const auto found = explore_crashes(
      [](simulated_disk& disk) {
        write(disk, "data", 0, 4, 2);
        write(disk, "data", 4, 4, 3);
        write(disk, "data", 0, 8, 4);
      },
      [](simulated_disk& disk) -> std::string {
        const bytes data = contents(disk, "data");
        return data[4 * 512] == std::byte(3) && data[7 * 512] != std::byte(3) ? "torn" : "";
      },
      {.prepare = data_of(8)});
  REQUIRE(found.failure);
  CHECK_FALSE(found.exhaustive);
  CHECK(found.failure->reason == "torn");
  CHECK(found.failure->system_calls == 4);
  const std::vector<std::string> expected = {
      "write 2048 bytes at 0 of \"data\": survived",
      "write 2048 bytes at 2048 of \"data\": bytes 2048 to 3583 survived; bytes 3584 to 4095 lost"};
  CHECK(found.failure->operations == expected);
  CHECK(found.failure->story() == "torn\nThe power failed after these operations:\n  1. " + expected[0] + "\n  2. " +
                                      expected[1] + "\nRepeat it with the option .state = \"" + found.failure->state +
                                      "\"\n");
}

TEST_CASE("a story reports what was durable, lost with its name, in flight, synced and renamed") {
  bool has_ended = false;
  const auto story_of = [&](auto run, auto fails, bool failing_syncs = false) {
    const auto found = explore_crashes(
        [&](simulated_disk& disk) {
          has_ended = false;
          run(disk);
          has_ended = true;
        },
        [&](simulated_disk& disk) { return std::string(fails(disk) ? "wrong" : ""); },
        {.prepare = data_of(4), .failing_syncs = failing_syncs});
    return found.failure ? found.failure->operations : std::vector<std::string>();
  };
  using lines = std::vector<std::string>;
  CHECK(story_of(
            [](simulated_disk& disk) {
              program one(disk);
              auto data = one.open("data").value();
              data.write_at(0, filled(512, 2)).value();
              data.sync().value();
              auto made = one.open("new").value();
              made.write_at(0, filled(512, 3)).value();
              disk.rename("new", "other").value();
            },
            [&](simulated_disk& disk) { return has_ended && !disk.exists("other"); }) ==
        lines{"write 512 bytes at 0 of \"data\": durable", "sync \"data\"", "create \"new\": survived",
              "write 512 bytes at 0 of \"new\": survived", "rename \"new\" to \"other\": lost"});
  CHECK(story_of(
            [](simulated_disk& disk) {
              write(disk, "new", 0, 1, 2);
              write(disk, "data", 4, 1, 2);
              disk.link("data", "other").value();
            },
            [&](simulated_disk& disk) {
              return has_ended && !disk.exists("new") && contents(disk, "data").size() > 2048;
            }) == lines{"create \"new\": lost", "write 512 bytes at 0 of \"new\": lost with the name of the file",
                        "write 512 bytes at 2048 of \"data\": survived", "link \"data\" as \"other\": lost"});
  CHECK(story_of([](simulated_disk& disk) { write_at_once(disk, 0, 2048); },
                 [](simulated_disk& disk) { return contents(disk, "data").size() == 2560; }) ==
        lines{"write 1024 bytes at 0 of \"data\": survived",
              "write 1024 bytes at 2048 of \"data\", in flight: "
              "bytes 2048 to 2559, the size survived; sectors that had not begun lost"});
  CHECK(story_of(
            [](simulated_disk& disk) {
              program one(disk);
              auto data = one.open("data").value();
              data.write_at(0, filled(512, 2)).value();
              while (!one.open("data").value().sync()) {}
              data.resize(100).value();
              disk.sync_directory(".").value();
            },
            [](simulated_disk& disk) {
              const bytes found = contents(disk, "data");
              return found.size() == 100 && found[0] == std::byte(1);
            },
            true) == lines{"write 512 bytes at 0 of \"data\": lost", "fail to sync \"data\"", "sync \"data\"",
                           "resize \"data\" to 100 bytes: the size survived; bytes 0 to 99 lost"});
}

TEST_CASE("the state of a failure repeats it, and nothing else") {
  const auto run = [](simulated_disk& disk) {
    write(disk, "data", 0, 4, 2);
    write(disk, "new", 0, 1, 3);
  };
  std::uint64_t checks = 0;
  const auto check = [&](simulated_disk& disk) -> std::string {
    ++checks;
    const std::string found = state_of(disk);
    return found.starts_with("data:2048:2122 new:512:3") ? found : "";
  };
  const auto found = explore_crashes(run, check, {.prepare = data_of(4)});
  REQUIRE(found.failure);
  checks = 0;
  const auto again = explore_crashes(run, check, {.prepare = data_of(4), .state = found.failure->state});
  REQUIRE(again.failure);
  CHECK(checks == 1);
  CHECK(again.states == 1);
  CHECK_FALSE(again.exhaustive);
  CHECK(again.failure->story() == found.failure->story());
  const auto corrected = explore_crashes(run, accept, {.prepare = data_of(4), .state = found.failure->state});
  CHECK_FALSE(corrected.failure);
  CHECK(corrected.states == 1);
  for (const char* invalid : {"1", "0:1", "0:1:2:3:4", "0:x:1:1", "::1:1", "0:1,2:1:1", "-1:1::"}) {
    const auto refused = explore_crashes(run, accept, {.prepare = data_of(4), .state = invalid});
    REQUIRE(refused.failure);
    CHECK_THAT(refused.failure->reason, qio_test::Contains('"' + std::string(invalid) + "\" is no state"));
  }
}

TEST_CASE("too many combinations are sampled: those first that lose or keep one change, then as the seed says") {
  const auto explore = [](auto fails, std::uint64_t seed = 1) {
    return explore_crashes([](simulated_disk& disk) { write(disk, "data", 0, 40, 2); },
                           [&](simulated_disk& disk) -> std::string {
                             const bytes data = contents(disk, "data");
                             std::ptrdiff_t kept = 0;
                             for (std::size_t at = 0; at < data.size(); at += 512) kept += data[at] == std::byte(2);
                             return fails(data, kept) ? "found" : "";
                           },
                           {.disk = {.seed = seed}, .prepare = data_of(40), .most_combinations = 200});
  };
  const auto all = explore([](const bytes&, std::ptrdiff_t) { return false; });
  CHECK_FALSE(all.exhaustive);
  CHECK_FALSE(all.failure);
  CHECK(all.combinations <= 2 * (200 + 50 + 50));
  CHECK(explore([](const bytes& data, std::ptrdiff_t kept) {
          return kept == 39 && data[13 * 512] == std::byte(1);
        }).failure);
  CHECK(explore([](const bytes& data, std::ptrdiff_t kept) {
          return kept == 1 && data[13 * 512] == std::byte(2);
        }).failure);
  std::set<std::string> states;
  for (const std::uint64_t seed : {1u, 1u, 2u}) {
    const auto middle = explore([](const bytes&, std::ptrdiff_t kept) { return kept == 20; }, seed);
    REQUIRE(middle.failure);
    states.insert(middle.failure->story());
  }
  CHECK(states.size() == 2);
}

TEST_CASE("a failure among combinations that are sampled is reduced to what it takes") {
  const auto found = explore_crashes([](simulated_disk& disk) { write(disk, "data", 0, 40, 2); },
                                     [&](simulated_disk& disk) -> std::string {
                                       const bytes data = contents(disk, "data");
                                       int lost = 0;
                                       for (const std::size_t each : {3u, 13u, 23u, 33u})
                                         lost += data[each * 512] == std::byte(1);
                                       return lost == 4 && data[0] == std::byte(2) ? "found" : "";
                                     },
                                     {.prepare = data_of(40), .most_combinations = 400});
  REQUIRE(found.failure);
  CHECK(found.failure->operations ==
        std::vector<std::string>{"write 20480 bytes at 0 of \"data\": bytes 0 to 1535, bytes 2048 to 6655, "
                                 "bytes 7168 to 11775, bytes 12288 to 16895, bytes 17408 to 20479 survived; "
                                 "bytes 1536 to 2047, bytes 6656 to 7167, bytes 11776 to 12287, "
                                 "bytes 16896 to 17407 lost"});
}

TEST_CASE("a program that ends only when its operations fail is explored up to a number of calls") {
  const auto found = explore_crashes(
      [](simulated_disk& disk) {
        program one(disk);
        auto data = one.open("data").value();
        while (data.write_at(0, filled(512, 2)) && data.sync()) {}
      },
      accept, {.most_calls = 20});
  CHECK(found.crashes == 21);
  CHECK_FALSE(found.exhaustive);
  CHECK_FALSE(found.failure);
}

TEST_CASE("each sync fails in a run of its own, and may lose any part of what was written") {
  std::set<std::string> seen;
  int failed = 0;
  const auto run = [&](simulated_disk& disk) {
    failed = 0;
    program one(disk);
    auto data = one.open("data").value();
    for (std::uint64_t each = 0; each < 2; ++each) {
      data.write_at(1024 * each, filled(1024, 2)).value();
      if (!one.open("data").value().sync() && disk.has_power()) failed += static_cast<int>(each) + 1;
    }
  };
  const auto check = [&](simulated_disk& disk) {
    seen.insert(std::to_string(failed) + ' ' + state_of(disk));
    return std::string();
  };
  const auto without = explore_crashes(run, check, {.prepare = data_of(4)});
  const auto all_succeeded = seen.size();
  CHECK(std::ranges::all_of(seen, [](const std::string& each) { return each.starts_with("0 "); }));
  const auto with = explore_crashes(run, check, {.prepare = data_of(4), .failing_syncs = true});
  CHECK(with.exhaustive);
  CHECK(with.states > without.states);
  std::map<char, std::size_t> count;
  for (const std::string& each : seen) ++count[each[0]];
  CHECK(count['0'] == all_succeeded);
  CHECK(count['1'] == 16);  // each of four sectors
  CHECK(count['2'] == 4);   // the first two are durable
  CHECK(count.size() == 3);
}

TEST_CASE("what the program finds is durable, and was prepared without faults") {
  const auto found =
      explore_crashes([](simulated_disk&) {},
                      [](simulated_disk& disk) -> std::string {
                        disk.restart();
                        return disk.names() == std::vector<std::string>{"data", "made"} ? "" : "lost";
                      },
                      {.disk = {.write_errors = 1, .sync_errors = 1}, .prepare = [](simulated_disk& disk) {
                         data_of(4)(disk);
                         program one(disk);
                         REQUIRE(one.open("made").value().sync());
                       }});
  CHECK_FALSE(found.failure);
  CHECK(found.states == 1);
}

TEST_CASE("each state is checked on a copy, which recovery may change") {
  std::uint64_t checks = 0;
  const auto found = explore_crashes([](simulated_disk& disk) { write(disk, "data", 0, 2, 2); },
                                     [&](simulated_disk& disk) -> std::string {
                                       ++checks;
                                       if (disk.names() != std::vector<std::string>{"data"}) return "changed";
                                       write(disk, "other", 0, 1, 3);
                                       disk.remove("data").value();
                                       return {};
                                     },
                                     {.prepare = data_of(2)});
  CHECK_FALSE(found.failure);
  CHECK(checks == 6);
}

TEST_CASE("an exception ends a program without power, another one leaves the exploration, and a check's is a failure") {
  const auto throws = [](simulated_disk& disk) {
    write(disk, "data", 0, 1, 2);
    if (disk.has_power()) throw std::runtime_error("mistake");
  };
  CHECK_THROWS_AS(explore_crashes(throws, accept, {}), std::runtime_error);
  const auto found = explore_crashes([](simulated_disk& disk) { write(disk, "data", 0, 1, 2); },
                                     [](simulated_disk& disk) -> std::string {
                                       if (disk.exists("data")) throw std::runtime_error("mistake");
                                       return {};
                                     });
  REQUIRE(found.failure);
  CHECK(found.failure->reason == "the check threw an exception: mistake");
}

TEST_CASE("a program that turns the power on or off itself is a failure") {
  const auto explore = [](void (*change_power)(simulated_disk&)) {
    return explore_crashes(
        [&](simulated_disk& disk) {
          program one(disk);
          if (auto data = one.open("data")) static_cast<void>(data.value().write_at(0, filled(512, 2)));
          change_power(disk);
        },
        accept, {.prepare = data_of(1)});
  };
  for (const auto change_power :
       {+[](simulated_disk& disk) { disk.restart(); }, +[](simulated_disk& disk) { disk.cut_power_after(0); },
        +[](simulated_disk& disk) { disk.cut_power_after(100); }}) {
    const auto found = explore(change_power);
    CHECK_FALSE(found.exhaustive);
    REQUIRE(found.failure);
    CHECK_THAT(found.failure->reason, qio_test::Contains("restart()"));
  }
  CHECK_FALSE(explore([](simulated_disk&) {}).failure);
}

TEST_CASE("a program that does not do the same each time is reported") {
  int runs = 0;
  const auto found = explore_crashes(
      [&](simulated_disk& disk) {
        if (++runs <= 2) write(disk, "data", 0, 1, 2);
      },
      [](simulated_disk& disk) { return std::string(disk.exists("data") ? "there" : ""); });
  REQUIRE(found.failure);
  CHECK_THAT(found.failure->reason, qio_test::Contains("there (not when it ran again"));
}

TEST_CASE("every program of three operations of four blocks is explored exhaustively", "[nightly]") {
  using step = void (*)(simulated_disk&);
  const std::vector<step> steps = {
      [](auto& disk) { write(disk, "data", 0, 4, 2); },
      [](auto& disk) { write(disk, "data", 2, 4, 3); },
      [](auto& disk) { write(disk, "data", 8, 4, 4); },
      [](auto& disk) { write(disk, "new", 0, 4, 5); },
      [](auto& disk) { write(disk, "other", 1, 4, 6); },
      [](auto& disk) { static_cast<void>(disk.rename("new", "data")); },
      [](auto& disk) { static_cast<void>(disk.link("data", "other")); },
      [](auto& disk) { static_cast<void>(disk.remove("data")); },
      [](auto& disk) { program(disk).open("data").value().resize(2500).value(); },
      [](auto& disk) { program(disk).open("data").value().sync().value(); },
  };
  std::uint64_t states = 0;
  for (const step first : steps)
    for (const step second : steps)
      for (const step third : steps) {
        const auto run = [&](simulated_disk& disk) {
          for (const step each : {first, second, third}) each(disk);
        };
        std::set<std::string> explored;
        const auto found = explore_crashes(run,
                                           [&](simulated_disk& disk) {
                                             explored.insert(state_of(disk));
                                             return std::string();
                                           },
                                           {.prepare = data_of(8)});
        REQUIRE(found.exhaustive);
        states += found.states;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
          simulated_disk disk({.seed = seed});
          make_durable(disk, 8 * 512, 1);
          run(disk);
          disk.restart();
          REQUIRE(explored.contains(state_of(disk)));
        }
      }
  INFO(states << " states");
  CHECK(states > 500'000);
}
