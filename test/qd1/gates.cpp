// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "compare/comparison.hpp"
#include "compare/gate.hpp"
#include "figures.hpp"
#include "measure/tally.hpp"
#include "output/json.hpp"
#include "statistics/histogram.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using qio_test::Contains;

// A series as it is measured: log-normal latencies around `median` nanoseconds, in rounds.
qd1::series measured(qd1::mode mode, double median, std::uint64_t seed, int samples = 20'000) {
  constexpr int rounds = 20;
  std::mt19937_64 random(seed);
  std::lognormal_distribution<> latency(std::log(median), 0.2);
  qd1::histogram all;
  std::vector<qd1::sampled_round> sampled;
  qd1::series made;
  made.work.mode = mode;
  for (int round = 0; round < rounds; ++round) {
    qd1::histogram histogram;
    for (int each = 0; each < samples / rounds; ++each) {
      const double ns = latency(random);
      histogram.record(static_cast<std::uint64_t>(ns * 1000));
    }
    all.merge(histogram);
    sampled.push_back(qd1::sampled(histogram));
    made.rounds.push_back({1. * round, {}, 1, histogram.samples(), histogram.mean_ns(), qd1::quantiles(histogram), {}});
  }
  made.latency = qd1::summary(all, sampled);
  made.iops = 1e9 / made.latency.mean.value;
  return made;
}

qd1::report report_of(std::initializer_list<qd1::series> all) {
  qd1::report made;
  made.series = all;
  return made;
}

// As JSON of a version without the checksum that shows edits.
nlohmann::json editable(const qd1::report& run) {
  auto made = nlohmann::json::parse(qd1::json(run));
  for (const char* const later : {"checksum", "kind"}) made["qio"].erase(later);
  return made;
}

qd1::exit_status status(const std::string& gate, const qd1::report& run) {
  qd1::exit_status worst = qd1::exit_pass;
  for (const auto& each : qd1::check(qd1::parse_gate(gate), run)) worst = qd1::worst(worst, each.status);
  return worst;
}

TEST_CASE("a gate is met, missed, or cannot be told") {
  const auto run = report_of({measured(qd1::mode::direct, 100'000, 1), measured(qd1::mode::cached, 1'000, 2, 200)});
  CHECK(status("direct.read.p50<=200us", run) == qd1::exit_pass);
  CHECK(status("direct.read.p50<=50us", run) == qd1::exit_fail);
  CHECK(status("direct.p50<=100us", run) == qd1::exit_inconclusive);
  CHECK(status("cached.p99<=200us", run) == qd1::exit_inconclusive);  // needs 368 samples
  CHECK(status("cached.blocking.warm.p50<=2us", run) == qd1::exit_pass);
  CHECK(status("p50<=0.2ms", run) == qd1::exit_pass);
  CHECK(status("direct.iops>=1000", run) == qd1::exit_pass);
  CHECK(status("direct.iops>=1000000", run) == qd1::exit_fail);
  // A sample of each round is beyond it, and some are slower than the limit.
  CHECK(status("direct.p99.9<=190us", run) == qd1::exit_inconclusive);
  CHECK(status("direct.p99.9<=1ms", run) == qd1::exit_pass);  // no sample is slower
}

TEST_CASE("without an interval a gate is decided only if all samples are on one side of the limit") {
  auto run = report_of({measured(qd1::mode::direct, 100'000, 1)});
  qd1::estimate& median = *run.series.front().latency.percentiles.front().value;
  CHECK(status("p50<=120us", run) == qd1::exit_pass);
  CHECK(status("p50<=80us", run) == qd1::exit_fail);
  median.interval.reset();
  median.withheld = "the rounds have two levels";
  CHECK(status("p50<=120us", run) == qd1::exit_inconclusive);
  CHECK(status("p50<=80us", run) == qd1::exit_inconclusive);
  CHECK(status("p50<=1s", run) == qd1::exit_pass);
  CHECK(status("p50<=1us", run) == qd1::exit_fail);
  CHECK_THAT(qd1::check(qd1::parse_gate("p50<=120us"), run).front().text, Contains("the rounds have two levels"));
}

TEST_CASE("a figure without an interval is printed without one") {
  const auto run = report_of({measured(qd1::mode::direct, 100'000, 1)});
  for (const char* gate : {"max<=1s", "max<=1ns", "min>=1ns"}) {
    const auto result = qd1::check(qd1::parse_gate(gate), run).front();
    INFO(result.text);
    CHECK(result.status == (gate == std::string("max<=1ns") ? qd1::exit_fail : qd1::exit_pass));
    CHECK_THAT(result.text, !Contains("…") && !Contains("within this run"));
  }
  CHECK_THAT(qd1::check(qd1::parse_gate("p50<=1s"), run).front().text, Contains("…"));
}

// Minimum and maximum of latencies decided on operations per second.
TEST_CASE("a figure that is no latency has no verdict without its interval") {
  auto run = report_of({measured(qd1::mode::direct, 100'000, 1)});
  qd1::series& series = run.series.front();
  for (const char* figure : {"iops", "MB/s", "cpu", "batched"}) {
    const qd1::estimate unknown{400, {}, qd1::scope::between_runs, "2 runs; 3 are needed"};
    series.between_runs.push_back({figure, unknown});
    for (const char* limit : {"<=1e9", ">=1e9", "<=1", ">=1"}) {
      const bool is_time = figure == std::string("cpu") || figure == std::string("batched");
      const auto result = qd1::check(qd1::parse_gate(std::string(figure) + limit + (is_time ? "ns" : "")), run).front();
      INFO(result.text);
      CHECK(result.status == qd1::exit_inconclusive);
      CHECK_THAT(result.text, Contains("3 are needed"));
    }
  }
}

TEST_CASE("operations a second of a single run are judged by how its rounds differ") {
  auto run = report_of({measured(qd1::mode::direct, 100'000, 1)});
  qd1::series& series = run.series.front();
  for (std::size_t each = 0; each < series.rounds.size(); ++each)
    series.rounds[each].samples = each % 3 == 0 ? 1'100 : 950;
  const qd1::estimate found = *qd1::metric(series, "iops");
  REQUIRE(found.interval);
  CHECK(found.value == series.iops);
  CHECK(found.interval->low < 0.99 * series.iops);
  CHECK(found.interval->high > 1.01 * series.iops);
  const auto gate = [&](double limit) { return status("iops>=" + std::to_string(limit), run); };
  CHECK(gate(0.8 * series.iops) == qd1::exit_pass);
  CHECK(gate(0.999 * series.iops) == qd1::exit_inconclusive);
  CHECK(gate(1.2 * series.iops) == qd1::exit_fail);
  series.rounds.resize(7);
  const auto result = qd1::check(qd1::parse_gate("iops>=1"), run).front();
  CHECK(result.status == qd1::exit_inconclusive);
  CHECK_THAT(result.text, Contains("7 rounds have samples; 8 are needed"));
}

TEST_CASE("the JSON report has the interval of operations a second that gates and tables use") {
  auto run = report_of({measured(qd1::mode::direct, 100'000, 1), measured(qd1::mode::cached, 1'000, 2)});
  for (std::size_t each = 0; each < run.series[0].rounds.size(); ++each)
    run.series[0].rounds[each].samples = each % 3 == 0 ? 1'100 : 950;
  run.series[1].rounds.resize(7);
  const auto written = [&](std::size_t series) {
    return nlohmann::json::parse(qd1::json(run)).at("qio").at("series").at(series).at("iops_estimate");
  };
  const qd1::estimate found = *qd1::metric(run.series[0], "iops");
  REQUIRE(found.interval);
  CHECK(written(0).at("value") == found.value);
  CHECK(written(0).at("interval") == nlohmann::json({found.interval->low, found.interval->high}));
  CHECK(written(0).at("scope") == "within this run");
  CHECK(written(1).at("interval").is_null());
  CHECK_THAT(written(1).at("withheld").get<std::string>(), Contains("7 rounds have samples; 8 are needed"));
  // Repeated runs have the interval between runs.
  run.series[0].between_runs = {{"iops", {9'500, qd1::interval{9'000, 10'000}, qd1::scope::between_runs}}};
  CHECK(written(0).at("interval") == nlohmann::json({9'000, 10'000}));
  CHECK(written(0).at("scope") == "between runs");
  // A series that is not valid has none.
  run.series[0].invalid = {"it was not direct"};
  const auto refused = nlohmann::json::parse(qd1::json(run)).at("qio").at("series").at(0);
  CHECK_FALSE(refused.contains("iops_estimate"));
}

TEST_CASE("CPU time of a single run is no ground for a gate") {
  auto run = report_of({measured(qd1::mode::direct, 100'000, 1)});
  run.series.front().cpu_ns = 2'000;
  const auto result = qd1::check(qd1::parse_gate("cpu<=1s"), run).front();
  CHECK(result.status == qd1::exit_inconclusive);
  CHECK_THAT(result.text, Contains("it needs repeated runs"));
}

TEST_CASE("no gate on a latency passes where the clock was not read") {
  qd1::series untimed;
  untimed.iops = 10'000;
  untimed.latency.samples = 1'000;
  for (const char* gate : {"mean<=1s", "max<=1s", "min<=1s", "p50<=1s"})
    CHECK(status(gate, report_of({untimed})) == qd1::exit_inconclusive);
}

TEST_CASE("an invalid series meets no gate") {
  auto broken = measured(qd1::mode::direct, 1'000, 1);
  broken.invalid.push_back("transfer 1 failed");
  CHECK(status("direct.p50<=1s", report_of({broken})) == qd1::exit_invalid);
}

TEST_CASE("what is no gate is named") {
  const auto run = report_of({measured(qd1::mode::direct, 100'000, 1)});
  for (const char* text : {"", "p50", "p50<200us", "p50<=", "p50<=fast", "p42<=1us", "p50<=1furlong", "iops>=5us",
                           "p50<=nanx", "p50<=infs", "p50<=-1us", "p50<=1e308s"}) {
    INFO(text);
    CHECK_THROWS_AS(qd1::parse_gate(text), qd1::usage_error);
  }
  CHECK_THROWS_WITH(qd1::parse_gate("direct.raed.p99<=1us"), Contains("'raed' selects no series") &&
                                                                 Contains("direct, cached, mapped") &&
                                                                 Contains("read, write") && Contains("SEQ1M"));
  for (const char* word : {"", "SEQ", "SEQ1", "1M", "Q8", "Q8T", "QT1", "Q8T1x", "random mix"})
    CHECK_THROWS_AS(qd1::parse_gate(word + std::string(".p50<=1us")), qd1::usage_error);
  for (const char* word : {"SEQ1M", "RND512B", "ZIPF4K", "Q32T16", "through", "mix", "unmixed", "flushed", "zipf"})
    CHECK_NOTHROW(qd1::parse_gate(word + std::string(".p50<=1us")));
  CHECK_THROWS_WITH(status("mapped.p50<=1us", run), Contains("no such series"));
  CHECK_THROWS_WITH(status("p50<=1.1x", run), Contains("--gate-vs"));
}

TEST_CASE("gates against a base") {
  const auto base = report_of({measured(qd1::mode::direct, 100'000, 1)});
  const auto same = report_of({measured(qd1::mode::direct, 100'000, 2)});
  const auto slow = report_of({measured(qd1::mode::direct, 130'000, 3)});
  const qd1::gate gate = qd1::parse_gate("p50<=1.10x");
  CHECK(qd1::check_against(gate, base, same).front().status == qd1::exit_pass);
  CHECK(qd1::check_against(gate, base, slow).front().status == qd1::exit_fail);
  CHECK(qd1::check_against(gate, report_of({}), same).front().status == qd1::exit_inconclusive);
  const auto short_one = report_of({measured(qd1::mode::direct, 100'000, 1, 60)});
  const auto untold = qd1::check_against(gate, short_one, same).front();
  CHECK(untold.status == qd1::exit_inconclusive);
  CHECK_THAT(untold.text, Contains("only 0 rounds of a run have enough samples; 5 are needed"));
}

TEST_CASE("trap 30: a gate passes neither on an interrupted run nor against a base that compare refuses") {
  const auto base = report_of({measured(qd1::mode::direct, 100'000, 1)});
  const auto same = report_of({measured(qd1::mode::direct, 100'000, 2)});
  const qd1::gate gate = qd1::parse_gate("p50<=1.10x");
  const auto found = [&](const qd1::report& before, const qd1::report& now) {
    return qd1::check_against(gate, before, now).front();
  };
  qd1::report nothing_yet;
  nothing_yet.complete = false;
  CHECK(found(base, nothing_yet).status == qd1::exit_inconclusive);
  CHECK_THAT(found(base, nothing_yet).text, Contains("interrupted before"));
  CHECK(qd1::check(qd1::parse_gate("direct.p50<=1s"), nothing_yet).front().status == qd1::exit_inconclusive);
  REQUIRE(found(base, same).status == qd1::exit_pass);
  for (const bool all : {true, false}) {
    auto cut = same;
    (all ? cut.complete : cut.series.front().complete) = false;
    CHECK(status("p50<=1s", cut) == qd1::exit_inconclusive);
    CHECK(found(base, cut).status == qd1::exit_inconclusive);
    CHECK(found(cut, same).status == qd1::exit_inconclusive);
    CHECK_THAT(found(cut, same).text, Contains("interrupted"));
  }
  auto verified = same;
  verified.series.front().verification.result = qd1::verification::verdict::verified;
  CHECK(found(base, verified).status == qd1::exit_invalid);
  CHECK_THAT(found(base, verified).text, Contains("not comparable: direct was verified in only one of the runs"));
  auto here = base, elsewhere = same;
  here.machine.filesystem.direct.possible = true;
  elsewhere.machine.filesystem.direct.possible = false;
  CHECK(qd1::compare(here, elsewhere).status == qd1::exit_invalid);
  CHECK(found(here, elsewhere).status == qd1::exit_invalid);
  CHECK_THAT(found(here, elsewhere).text, Contains("the environments differ too much: Direct I/O"));
}

// Trap 17.
TEST_CASE("trap 17: works that differ are not compared") {
  auto base = report_of({measured(qd1::mode::direct, 50'000, 1)});
  auto now = report_of({measured(qd1::mode::direct, 50'000, 2)});
  CHECK(qd1::compare(base, now).status == qd1::exit_pass);
  now.series.front().work.block = 8192;
  const qd1::comparison found = qd1::compare(base, now);
  CHECK(found.status == qd1::exit_invalid);
  CHECK_THAT(found.text, Contains("no verdict") && Contains("not comparable"));

  now.series.front().work.block = 4096;
  now.series.front().verification.result = qd1::verification::verdict::verified;
  CHECK_THAT(qd1::compare(base, now).text, Contains("verified in only one of the runs"));
}

TEST_CASE("a report survives being written and read") {
  auto run = report_of({measured(qd1::mode::direct, 50'000, 1), measured(qd1::mode::mapped, 500, 2)});
  run.version = "1.2.3";
  run.advice = qd1::advise(run.machine);
  run.series.front().work.rate = 1000;
  run.series.front().cycles = 8666.5;
  run.series.front().slices = {{0, 0.1, 5, 50'000, 60'000}};
  run.series.front().rounds.front().disturbance = {0.1, 0.2, 0.3, 4, 5};
  run.series.back().not_available = "why not";
  run.noise_before = qd1::noise{0.5, 2'000, {{1'500, 3}}};
  const qd1::report again = qd1::read_json(qd1::json(run), "again");
  CHECK(qd1::json(again) == qd1::json(run));
  CHECK(again.series.front().work == run.series.front().work);
  CHECK(again.series.front().cycles == 8666.5);
  CHECK_THROWS_AS(qd1::read_json("{}", "a file"), qd1::usage_error);
  CHECK_THROWS_AS(qd1::read_json("qio", "a file"), qd1::usage_error);
}

TEST_CASE("a report whose counts are no counts is refused") {
  const auto right = editable(report_of({measured(qd1::mode::direct, 50'000, 1)}));
  for (const nlohmann::json& wrong : {nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json(1e300)}) {
    INFO(wrong.dump());
    nlohmann::json settings = right, machine = right;
    settings["qio"]["settings"]["samples"] = wrong;
    machine["qio"]["machine"]["host"]["memory"]["total_bytes"] = wrong;
    CHECK_THROWS_AS(qd1::read_json(settings.dump(), "a file"), qd1::usage_error);
    CHECK_THROWS_AS(qd1::read_json(machine.dump(), "a file"), qd1::usage_error);
  }
}

TEST_CASE("a report with an unknown member, value or layout is refused, and the culprit named") {
  const auto right = editable(report_of({measured(qd1::mode::direct, 50'000, 1)}));
  const auto refused = [&right](const std::string& pointer, const nlohmann::json& value) {
    auto wrong = right;
    wrong[nlohmann::json::json_pointer(pointer)] = value;
    try {
      static_cast<void>(qd1::read_json(wrong.dump(), "a file"));
    } catch (const qd1::usage_error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  CHECK(refused("/qio/version", "other").empty());
  for (const char* each : {"/qio", "/qio/settings", "/qio/series/0", "/qio/series/0/work", "/qio/series/0/work/load",
                           "/qio/series/0/latency", "/qio/series/0/rounds/0/disturbance", "/qio/machine/host/cpu"})
    CHECK_THAT(refused(std::string(each) + "/invented", 1), Contains("'invented' is not known"));
  CHECK_THAT(refused("/qio/series/0/work/mode", "fast"), Contains("'fast' is not known"));
  CHECK_THAT(refused("/qio/series/0/verification/verdict", "sure"), Contains("'sure' is not known"));
  CHECK_THAT(refused("/qio/series/0/work/load/depth", 0), Contains("depth: 0; at least 1 is needed"));
  CHECK_THAT(refused("/qio/settings", 7), Contains("settings: is not an object"));
}

TEST_CASE("a report in which a range is upside down is refused, and the range named") {
  const auto right = editable(report_of({measured(qd1::mode::direct, 50'000, 1)}));
  const auto refused = [&right](const auto& turn) {
    auto wrong = right;
    turn(wrong["qio"]["series"][0]["latency"]);
    try {
      static_cast<void>(qd1::read_json(wrong.dump(), "a file"));
    } catch (const qd1::usage_error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  CHECK_THAT(refused([](auto& latency) { std::swap(latency["min_ns"], latency["max_ns"]); }),
             Contains("a file") && Contains("min_ns and max_ns") && Contains("reversed"));
  CHECK_THAT(refused([](auto& latency) {
               latency["mean_ns"]["interval"] = {20, 10.5};
             }),
             Contains("interval: from 20 to 10.5 is reversed"));
  CHECK(refused([](auto& latency) { latency["mean_ns"]["interval"] = {10.5, 10.5}; }).empty());
}

}  // namespace
