// What the library itself promises about crashes, in every state that a power cut may leave.
#include "program.hpp"
#include <qio/explore_crashes.hpp>
#include <qio/log_writer.hpp>
#include <qio/names.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace simulation;
using qio::explore_crashes;
using qio::explore_crashes_options;
using qio::simulated_disk;

void expect_none(const qio::crash_exploration& found) {
  INFO((found.failure ? found.failure->story() : std::string()));
  CHECK_FALSE(found.failure);
}

const bytes record = filled(600, 7);

template <class Log>
qio::task<void> append(Log& log, std::uint64_t& promised) {
  for (int each = 0; each < 3; ++each) {
    const auto number = co_await log.append(record);
    if (!number) co_return;
    promised = (std::max)(promised, number.value());
  }
}

/// What a run has found in a log.
struct recovery {
  std::uint64_t records = 0;
  bool is_whole = true;
  bool has_opened = false;
};

/// Opens a log, and appends to it from several coroutines. `promised` is the number of the last record acknowledged.
qio::task<recovery> run_log(program& in, simulated_disk& disk, int writers, std::uint64_t& promised) {
  recovery found;
  auto file = in.open("log");
  if (!file || !disk.sync_directory(".")) co_return found;
  const auto visit = [&](const qio::log_record& each) {
    found.records = each.number;
    found.is_whole = found.is_whole && std::ranges::equal(each.bytes, record);
    return true;
  };
  auto log = co_await qio::open_log(std::move(file).value(), visit, {.extent = 16384, .largest_batch = 4096, .id = 5});
  if (!log) co_return found;
  found.has_opened = true;
  std::vector<qio::task<void>> all;
  for (int each = 0; each < writers; ++each) all.push_back(append(log.value(), promised));
  co_await qio::when_all(std::move(all));
  co_return found;
}

qio::crash_exploration explore_log(int writers, const explore_crashes_options& options) {
  std::uint64_t promised = 0;
  return explore_crashes(
      [&](simulated_disk& disk) {
        promised = 0;
        program one(disk);
        one.context.run(run_log(one, disk, writers, promised));
      },
      [&](simulated_disk& disk) -> std::string {
        program one(disk);
        std::uint64_t none = 0;
        const recovery found = one.context.run(run_log(one, disk, 0, none));
        if (!found.has_opened) return "the log does not open";
        if (!found.is_whole) return "a record is torn";
        return found.records < promised ? "a record is lost" : "";
      },
      options);
}

}  // namespace

TEST_CASE("replace_file() leaves the old or the new contents in every state that a power cut may leave") {
  const bytes old = filled(3000, 1), replacing = filled(5000, 2);
  bool has_ended = false;
  const auto found = explore_crashes(
      [&](simulated_disk& disk) {
        has_ended = false;
        program one(disk);
        one.context.run(qio::async_replace_file(one.context, "data", replacing)).value();
        has_ended = true;
      },
      [&](simulated_disk& disk) -> std::string {
        const bytes left = contents(disk, "data");
        return left == replacing || (left == old && !has_ended) ? "" : "neither the old nor the new contents";
      },
      {.prepare = [](simulated_disk& disk) { make_durable(disk, 3000, 1); }, .failing_syncs = true});
  expect_none(found);
  CHECK(found.exhaustive);
  CHECK(found.states > 1000);
}

TEST_CASE("a log loses no record that was acknowledged, also if a sync fails, in thousands of states") {
  for (const int writers : {1, 3}) {
    const auto found = explore_log(writers, {.failing_syncs = true, .most_combinations = 4096});
    expect_none(found);
    CHECK(found.states > 500);
  }
}

TEST_CASE("a log loses no record that was acknowledged, in more states and orders of operations", "[nightly]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const int writers : {1, 8}) expect_none(explore_log(writers, {.disk = {.seed = seed}, .failing_syncs = true}));
}
