// SPDX-License-Identifier: BSL-1.0
// qd1 selftest: attacks on this machine, and what it says of them.
#include "selftest/selftest.hpp"

#include "measure/clock.hpp"
#include "program.hpp"
#include "selftest/calibration.hpp"
#include "selftest/staged.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using qd1::attack_result;

TEST_CASE("qd1 selftest notices each attack that can be tried here", "[nightly]") {
  const directory here;
  const outcome found = run_qd1(here, "selftest --json found.json");
  INFO(found.out << found.err);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("believed: a run that nobody attacks"));
  const auto json = nlohmann::json::parse(contents(here.path / "found.json"));
  CHECK(json.at("unattacked_run_believed") == true);
  std::set<std::string> noticed;
  for (const auto& each : json.at("attacks")) {
    CHECK(each.at("result") != "NOT noticed");
    CHECK_FALSE(each.at("text").get<std::string>().empty());
    if (each.at("result") == "noticed") noticed.insert(each.at("attack"));
  }
  CHECK(json.at("attacks").size() == qd1::known_attacks().size());
  // Those that need neither root nor anything of the machine.
  for (const char* each :
       {"offsets that are not multiples of the block", "reads past the end of the file", "reads of a file of zeros",
        "3 stalls of 0.1 s in 1,500 transfers", "time that passes between transfers",
        "an open loop that leaves out who waits", "a clock in steps of 1 ms", "latencies that fall from round to round",
        "p99.9 of 300 samples", "a report of which a digit was changed", "a report merged with itself"}) {
    INFO(each);
    CHECK(noticed.contains(each));
  }
  fs::remove(here.path / "found.json");
  CHECK(fs::is_empty(here.path));
}

// The command and all attacks, each of which takes a second: the test before it, each night.
TEST_CASE("qd1 selftest notices an attack of each kind", "[nightly]") {
  const directory here;
  std::vector<qd1::attack> some;
  for (qd1::attack& each : qd1::known_attacks())
    for (const char* name : {"reads past the end of the file", "a clock in steps of 1 ms", "p99.9 of 300 samples",
                             "a report of which a digit was changed", "a report merged with itself"})
      if (each.name == name) some.push_back(std::move(each));
  REQUIRE(some.size() == 5);
  std::string said;
  const auto all =
      qd1::carry_out(qd1::no_attack(), some, here.path.string(), [&](const std::string& line) { said += line + '\n'; });
  INFO(said);
  CHECK(qd1::closing(all) == "5 of 5 attacks were noticed.");
  CHECK(qd1::verdict(all) == qd1::exit_pass);
  CHECK(fs::is_empty(here.path));
}

qd1::attack that_is(const std::string& name, attack_result result) {
  return {name, "INVALID", [result](const std::string&) { return qd1::finding{result, "words"}; }};
}

TEST_CASE("qd1 selftest fails if an attack is not noticed, or a run refused that nobody attacks") {
  std::string said;
  const auto tell = [&](const std::string& line) { said += line + '\n'; };
  const qd1::attack none = that_is("nothing", attack_result::noticed);
  const qd1::attack seen = that_is("seen", attack_result::noticed);
  const qd1::attack untried = {"impossible", "INVALID",
                               [](const std::string&) -> qd1::finding { throw qd1::usage_error("no such device"); }};
  const auto all = qd1::carry_out(none, {seen, that_is("unseen", attack_result::missed), untried}, ".", tell);
  CHECK(qd1::verdict(all) == qd1::exit_fail);
  CHECK_THAT(said, Contains("believed: nothing\n") && Contains("noticed: seen (expected: INVALID): words\n") &&
                       Contains("NOT noticed: unseen (expected: INVALID): words\n") &&
                       Contains("could not be tried here: impossible (expected: INVALID): no such device\n"));
  CHECK(qd1::closing(all) == "1 of 2 attacks were noticed; 1 could not be tried here.");
  CHECK(qd1::verdict(qd1::carry_out(none, {seen, untried}, ".")) == qd1::exit_pass);
  CHECK(qd1::verdict(qd1::carry_out(none, {untried}, ".")) == qd1::exit_usage);
  const auto refused = qd1::carry_out(that_is("nothing", attack_result::missed), {seen}, ".", tell);
  CHECK(qd1::verdict(refused) == qd1::exit_fail);
  CHECK_THAT(said, Contains("REFUSED: nothing (expected: INVALID): words\n"));
  CHECK_THAT(qd1::closing(refused), Contains("a run that nobody attacked was refused"));
}

TEST_CASE("an attack is noticed by what qd1 says of it, not by anything else that it says") {
  qd1::report report;
  CHECK(qd1::named(report, "stall").result == attack_result::missed);
  qd1::series& one = report.series.emplace_back();
  one.notes = {"3 stalls"};
  report.notes = {"the host was busy"};
  CHECK(qd1::named(report, "stall").text == "3 stalls");
  CHECK(qd1::named(report, "busy").result == attack_result::noticed);
  CHECK(qd1::refused(report, "stall").result == attack_result::missed);
  CHECK(qd1::refused(report, "stall").text == "only this was reported: 3 stalls");
  one.invalid = {"3 stalls"};
  CHECK(qd1::refused(report, "stall").text == "INVALID: 3 stalls");
  one = {};
  one.not_available = "no direct I/O";
  CHECK(qd1::refused(report, "stall").result == attack_result::untried);
}

qd1::known_run run_with(double own_ns, qd1::estimate median) {
  qd1::known_run made;
  for (int each = 0; each < 1'000; ++each) made.own.record(static_cast<std::uint64_t>(own_ns * 1'000));
  made.measured.latency.samples = 1'000;
  made.measured.latency.percentiles = {{0.5, 6, std::move(median)}};
  return made;
}

TEST_CASE("a calibration counts the intervals that hold the known value, and those that were withheld") {
  using qd1::interval;
  const qd1::calibration found = qd1::judged(
      {.runs = 9, .rounds = 8, .samples = 1'000},
      {run_with(21'000, {20'100, interval{19'900, 20'200}}), run_with(21'000, {21'000, interval{20'500, 21'500}}),
       run_with(21'000, {20'600, interval{19'000, 22'000}}), run_with(21'000, {20'300, {}})});
  CHECK(found.plan.runs == 4);  // the others were not made
  REQUIRE(found.percentiles.size() == 3);
  const qd1::known_percentile& median = found.percentiles.front();
  CHECK(median.known_ns == Approx(20'000));
  CHECK(median.own_ns == Approx(21'000).epsilon(0.002));
  CHECK(median.measured_ns == Approx(20'500));
  CHECK(median.intervals == 3);
  CHECK(median.with_known == 2);
  CHECK(median.with_own == 2);
  CHECK(found.percentiles[1].known_ns == Approx(20'000 * std::exp(0.3 * 2.3263)).epsilon(1e-4));
  CHECK(found.percentiles[1].intervals == 0);
  CHECK_THAT(qd1::text(found), Contains("p50       20.00     21.00     20.50     2 of 3     2 of 3"));
}

TEST_CASE("qd1 selftest --calibrate measures no transfer shorter than it is") {
  const directory here;
  const outcome found = run_qd1(here, "selftest --calibrate --runs 2 --json known.json");
  REQUIRE(found.status == 0);
  CHECK_THAT(found.out, Contains("2 runs of 10 rounds") && Contains("p99.9") && Contains("does nothing"));
  const auto json = nlohmann::json::parse(contents(here.path / "known.json")).at("calibration");
  CHECK(json.at("runs") == 2);
  CHECK(json.at("added_ns") > 0);
  for (const auto& each : json.at("percentiles")) {
    // 110,000 are drawn from the same seeds each time.
    CHECK(each.at("own_ns").get<double>() > 0.95 * each.at("known_ns").get<double>());
    CHECK(each.at("measured_ns").get<double>() > 0.95 * each.at("known_ns").get<double>());
    CHECK(each.at("with_known") <= each.at("intervals"));
  }
  CHECK(run_qd1(here, "selftest --runs 3").status == 2);
}

TEST_CASE("qd1 selftest refuses what is not a directory") {
  const directory here;
  const outcome found = run_qd1(here, "selftest missing");
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains("missing: name a directory"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a clock with a flaw has it") {
  const qd1::clock coarse = qd1::clock::calibrated({.step_ns = 1'000'000});
  CHECK(coarse.before() % 1'000'000 == 0);
  CHECK(coarse.step_ns() >= 1'000'000);
  const auto half = qd1::clock::calibrated({.speed = 0.5}).facts();
  CHECK(half.deviation > 0.3);
}

}  // namespace
