// SPDX-License-Identifier: BSL-1.0
// How long a context's thread stood still, in reports and in what is printed.
#include "measure/stalls.hpp"

#include "catch.hpp"
#include "merge/merge.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace {

using namespace std::chrono_literals;
using qio_test::Contains;
using namespace qd1_test;

// As qio counts: late[i] counts waits of 2^i us to twice that.
void wait(qio::stall_statistics& on, std::chrono::microseconds time, qio::stall_cause cause) {
  std::size_t bin = 0;
  while (time.count() >> (bin + 1) != 0) ++bin;
  ++on.late[bin];
  if (time <= on.longest) return;
  on.longest = time;
  on.cause = cause;
}

qd1::report report_with(std::optional<qd1::loop_stall> stall, qd1::report_kind kind = qd1::report_kind::run) {
  qd1::series made;
  made.work.mode = qd1::mode::cached;
  made.work.form = qd1::form::asynchronous;
  made.latency.samples = 1;
  made.latency.bins = {{1000, 1}};
  made.service = {.engine = "io_uring", .reason = {}, .by_inline = 1, .stall = stall};
  qd1::report found;
  found.kind = kind;
  found.series = {made};
  return found;
}

TEST_CASE("what waited before the measured part is not a stall of it") {
  qio::stall_statistics before;
  wait(before, 90ms, qio::stall_cause::reading);
  CHECK(qd1::stall_between(before, before) == qd1::loop_stall());
}

TEST_CASE("the longest stall of the measured part has its length and its cause") {
  qio::stall_statistics before;
  wait(before, 2ms, qio::stall_cause::reading);
  qio::stall_statistics after = before;
  wait(after, 900us, qio::stall_cause::program);
  wait(after, 5ms, qio::stall_cause::program);
  wait(after, 7ms, qio::stall_cause::writing);
  CHECK(qd1::stall_between(before, after) == qd1::loop_stall{7e6, qd1::stall_cause::writing, 2});
}

TEST_CASE("a stall that was shorter than one before the measured part is known to a power of two") {
  qio::stall_statistics before;
  wait(before, 90ms, qio::stall_cause::reading);
  qio::stall_statistics after = before;
  wait(after, 3ms, qio::stall_cause::writing);
  CHECK(qd1::stall_between(before, after) == qd1::loop_stall{4.096e6, qd1::stall_cause::unknown, 1});
  wait(after, 80ms, qio::stall_cause::writing);
  CHECK(qd1::stall_between(before, after) == qd1::loop_stall{90e6, qd1::stall_cause::unknown, 2});
}

TEST_CASE("each cause that qio has is one that a report has") {
  for (int each = 0; !name_of(static_cast<qio::stall_cause>(each)).empty(); ++each) {
    qio::stall_statistics after;
    wait(after, 1ms, static_cast<qio::stall_cause>(each));
    CHECK(name(qd1::stall_between({}, after).cause) == name_of(static_cast<qio::stall_cause>(each)));
  }
}

TEST_CASE("of several rounds, workers and runs, the longest stall counts, and all late turns") {
  std::optional<qd1::loop_stall> all;
  add_stall(all, std::nullopt);
  CHECK_FALSE(all);
  add_stall(all, qd1::loop_stall{2e6, qd1::stall_cause::writing, 3});
  add_stall(all, qd1::loop_stall{1e6, qd1::stall_cause::program, 4});
  add_stall(all, std::nullopt);
  CHECK(all == qd1::loop_stall{2e6, qd1::stall_cause::writing, 7});

  const qd1::report fast = report_with(qd1::loop_stall{2e3, qd1::stall_cause::program, 0});
  const qd1::report slow = report_with(qd1::loop_stall{8e6, qd1::stall_cause::opening, 5});
  const qd1::report merged = qd1::merged_side_by_side({{"fast", fast}, {"slow", slow}});
  CHECK(merged.series.front().service.stall == qd1::loop_stall{8e6, qd1::stall_cause::opening, 5});
  const qd1::report repeated = qd1::repeated({{"run 1", slow}, {"run 2", slow}});
  CHECK(repeated.series.front().service.stall == qd1::loop_stall{8e6, qd1::stall_cause::opening, 10});
}

TEST_CASE("a loop that stood still for a millisecond is a line of the table, a shorter stall is none") {
  for (const qd1::report_kind kind : {qd1::report_kind::run, qd1::report_kind::depth}) {
    CHECK_THAT(qd1::table(report_with(qd1::loop_stall{3.2e6, qd1::stall_cause::writing, 1}, kind)),
               Contains("the loop stood still for at most 3.2 ms (writing)\n"));
    CHECK_THAT(qd1::table(report_with(qd1::loop_stall{1e6, qd1::stall_cause::unknown, 1}, kind)),
               Contains("the loop stood still for at most 1.0 ms (cause unknown)\n"));
    CHECK_THAT(qd1::table(report_with(qd1::loop_stall{999'999, qd1::stall_cause::writing, 0}, kind)),
               !Contains("stood still"));
    CHECK_THAT(qd1::table(report_with(std::nullopt, kind)), !Contains("stood still"));
  }
}

TEST_CASE("a report has the stalls of series on a context, and null for the others", "[nightly]") {
  const directory here;
  for (const std::string& command : {"run" + counted + "--modes cached --ops read --json report.json",
                                     std::string("depth --modes cached --depths 2 --rounds 2 --time 100ms "
                                                 "--file-size 1M --json report.json")}) {
    INFO(command);
    REQUIRE(run_qd1(here, command).status == 0);
    const std::string text = contents(here.path / "report.json");
    const auto report = nlohmann::json::parse(text);
    const qd1::report read = qd1::read_json(text, "report.json");
    std::size_t contexts = 0;
    for (std::size_t each = 0; each < read.series.size(); ++each) {
      const auto& stall = report.at("qio").at("series").at(each).at("service").at("stall");
      const qd1::series& series = read.series[each];
      CHECK(stall.is_null() == (series.work.form == qd1::form::blocking));
      if (stall.is_null()) continue;
      ++contexts;
      CHECK(stall.at("longest_ns") >= 0);
      CHECK(stall.at("late_turns") >= 0);
      REQUIRE(series.service.stall);
      CHECK(stall.at("cause") == name(series.service.stall->cause));
    }
    CHECK(contexts == 1);
  }
}

}  // namespace
