// SPDX-License-Identifier: BSL-1.0
// Repeated runs: one report of all, intervals between them, and verdicts by them.
#include "measure/repeat.hpp"

#include "catch.hpp"
#include "compare/comparison.hpp"
#include "compare/difference.hpp"
#include "compare/gate.hpp"
#include "html/html.hpp"
#include "measure/interruption.hpp"
#include "measure/tally.hpp"
#include "merge/merge.hpp"
#include "merge/of_ranks.hpp"
#include "normal_source.hpp"
#include "output/contributions.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "program.hpp"
#include "statistics/between_runs.hpp"
#include "statistics/histogram.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace qd1 {
std::string csv(const report& report);  // csv.cpp
}

namespace {

using qio_test::Contains;
using namespace qd1_test;

// A run as it is measured: lognormal latencies around `median` nanoseconds, in 20 rounds. The slowest 2 % take `tail`
// times as long.
qd1::report run_of(double median, std::uint64_t seed, int samples = 20'000, double tail = 1) {
  constexpr int rounds = 20;
  normal_source chance(static_cast<std::uint32_t>(seed));
  qd1::histogram all;
  std::vector<qd1::sampled_round> sampled;
  qd1::series made;
  for (int round = 0; round < rounds; ++round) {
    qd1::histogram histogram;
    for (int each = 0; each < samples / rounds; ++each) {
      const double normal = chance.normal();
      histogram.record(static_cast<std::uint64_t>(1000 * median * std::exp(0.2 * normal) * (normal > 2 ? tail : 1)));
    }
    all.merge(histogram);
    sampled.push_back(qd1::sampled(histogram));
    made.rounds.push_back({1. * round, {}, 1, histogram.samples(), histogram.mean_ns(), qd1::quantiles(histogram), {}});
  }
  made.latency = qd1::summary(all, sampled);
  made.seconds = rounds;
  made.iops = 1e9 / made.latency.mean.value;
  made.bytes_per_second = made.iops * static_cast<double>(made.work.block);
  made.service.engine = "system calls";
  made.service.by_call = made.latency.samples;
  made.verification.application_operations = made.latency.samples;
  qd1::report run;
  run.series = {made};
  run.runs = {fmt::format("{}", seed)};
  run.settings.seed = seed;
  run.started_seconds = static_cast<std::int64_t>(1'000 * seed);
  return run;
}

std::vector<double> medians_about(double median, double spread, int runs, std::uint32_t seed) {
  normal_source chance(seed);
  std::vector<double> found;
  for (int run = 0; run < runs; ++run) found.push_back(median * std::exp(spread * chance.normal()));
  return found;
}

// One report of runs with these medians.
qd1::report repeated(const std::vector<double>& medians, std::uint64_t first_seed = 1) {
  std::vector<qd1::report> runs;
  for (const double each : medians) {
    runs.push_back(run_of(each, first_seed + runs.size()));
    runs.back().settings.repeat = medians.size();
  }
  return qd1::in_one(std::move(runs));
}

double printed_median(const qd1::series& from) { return qd1::median_of(from)->value; }

TEST_CASE("repeated runs are one series whose figures are means over the runs, with intervals between them") {
  const std::vector<double> medians = {50'000, 51'500, 48'900, 50'700, 49'600};
  const qd1::report all = repeated(medians);
  REQUIRE(all.series.size() == 1);
  const qd1::series& found = all.series.front();
  REQUIRE(qd1::repetitions(found) == 5);
  CHECK(qd1::interval_scope(found) == "between 5 runs");
  CHECK(all.runs.size() == 5);
  CHECK(all.settings.seed == 1);
  CHECK(all.complete);
  std::vector<double> of_runs, rates;
  for (const qd1::contribution& each : found.contributions) {
    of_runs.push_back(each.percentiles.front().value->value);
    rates.push_back(each.iops);
    CHECK(each.percentiles.front().value->scope == qd1::scope::within_run);
    CHECK(each.seed == of_runs.size());
  }
  CHECK(found.contributions.at(1).name == "run 2");
  CHECK(of_runs.at(1) == Approx(51'500).epsilon(0.01));
  const qd1::estimate expected = qd1::between_runs(of_runs);
  const qd1::estimate median = *qd1::median_of(found);
  CHECK(median.value == expected.value);
  REQUIRE(median.interval);
  CHECK(median.interval->low == expected.interval->low);
  CHECK(median.interval->high == expected.interval->high);
  CHECK(median.scope == qd1::scope::between_runs);
  const qd1::estimate rate = *qd1::metric(found, "iops");
  CHECK(rate.value == qd1::between_runs(rates).value);
  CHECK(rate.value == found.iops);
  REQUIRE(rate.interval);
  CHECK(rate.interval->high == qd1::between_runs(rates).interval->high);
  CHECK(qd1::metric(found, "MB/s")->value == Approx(found.bytes_per_second / 1e6));
}

TEST_CASE("samples, rounds and calls of repeated runs add up, and time goes on from run to run") {
  const qd1::report all = repeated({50'000, 51'000, 49'000});
  const qd1::series& found = all.series.front();
  CHECK(found.latency.samples == 60'000);
  CHECK(found.service.by_call == 60'000);
  CHECK(found.verification.application_operations == 60'000);
  CHECK_THAT(found.verification.text, Contains("app 60,000"));
  CHECK(found.seconds == Approx(60));
  REQUIRE(found.rounds.size() == 60);
  for (std::size_t each = 0; each < 60; ++each) CHECK(found.rounds[each].start == Approx(each));
}

TEST_CASE("each run has the same weight in the curve of all, however many samples it has") {
  std::vector<qd1::report> runs;
  runs.push_back(run_of(10'000, 1, 40'000));
  runs.push_back(run_of(90'000, 2, 4'000));
  const qd1::report all = qd1::in_one(std::move(runs));
  const qd1::latency& found = all.series.front().latency;
  REQUIRE(found.shares.size() == found.bins.size());
  for (std::size_t each = 0; each < found.bins.size(); ++each)
    if (found.bins[each].ns > 25'000 && found.bins[each].ns < 35'000)
      CHECK(found.shares[each] == Approx(0.5).margin(1e-3));
  CHECK(found.shares.back() == 1);
}

TEST_CASE("two runs have no interval between them, and the reason is given") {
  const qd1::report all = repeated({50'000, 51'000});
  const qd1::estimate median = *qd1::median_of(all.series.front());
  CHECK_FALSE(median.interval);
  CHECK(median.scope == qd1::scope::between_runs);
  CHECK_THAT(median.withheld, Contains("2 runs were made; 3 are needed"));
  CHECK_THAT(unbroken(qd1::table(all)), Contains("between 2 runs") && Contains("2 runs were made; 3 are needed"));
}

TEST_CASE("a percentile that a run is too short for has no interval between runs") {
  std::vector<qd1::report> runs;
  for (std::uint64_t each = 1; each <= 4; ++each) runs.push_back(run_of(50'000, each, 2'000));
  const qd1::report all = qd1::in_one(std::move(runs));
  const qd1::percentile& found = all.series.front().latency.percentiles.at(3);
  REQUIRE(found.fraction == 0.999);
  REQUIRE(found.value);  // of the 8,000 samples of all
  CHECK_FALSE(found.value->interval);
  CHECK_THAT(found.value->withheld, Contains("each needs 3688"));
}

TEST_CASE("table, page, JSON and CSV print the same interval between runs") {
  const qd1::report all = repeated({50'000, 51'500, 48'900, 50'700, 49'600});
  const qd1::estimate median = *qd1::median_of(all.series.front());
  const qd1::estimate rate = *qd1::metric(all.series.front(), "iops");
  const auto text = [](double ns) { return qd1::figure_text(qd1::unit::nanoseconds, ns); };
  const std::string table = qd1::table(all);
  CHECK_THAT(unbroken(table), Contains("95 % between 5 runs]") && !Contains("95 % within this run]:"));
  CHECK_THAT(table,
             Contains(text(median.value) + "  " + text(median.interval->low) + " … " + text(median.interval->high)));
  CHECK_THAT(table,
             Contains(fmt::format("{:.0f}  {:.0f} … {:.0f}", rate.value, rate.interval->low, rate.interval->high)));

  const auto json = nlohmann::json::parse(qd1::json(all)).at("qio").at("series").at(0);
  const auto& stored = json.at("latency").at("percentiles").at(0).at("ns");
  CHECK(stored.at("value") == median.value);
  CHECK(stored.at("interval") == nlohmann::json({median.interval->low, median.interval->high}));
  CHECK(stored.at("scope") == "between runs");
  CHECK(json.at("between_runs").at(0).at("figure") == "iops");
  CHECK(json.at("between_runs").at(0).at("value").at("interval").at(1) == rate.interval->high);
  CHECK(json.at("iops") == rate.value);
  CHECK(json.at("contributions").size() == 5);

  const std::string page = qd1::html::render(all);
  CHECK_THAT(page, Contains("shaded 95 % interval between 5 runs") && !Contains("shaded 95 % interval within"));
  CHECK_THAT(page, Contains("95 % intervals between 5 runs") &&
                       Contains("The runs one by one, with 95 % intervals within each"));
  CHECK_THAT(page, Contains(fmt::format("{:.1f}–{:.1f}", median.interval->low / 1000, median.interval->high / 1000)));

  std::istringstream lines(qd1::csv(all));
  std::string head, line;
  std::getline(lines, head);
  std::getline(lines, line);
  CHECK_THAT(head, Contains(",runs,intervals,p50 low,p50 high,"));
  CHECK_THAT(line,
             Contains(fmt::format(",5,between 5 runs,{:.9g},{:.9g},", median.interval->low, median.interval->high)));
}

TEST_CASE("a single run is labeled as one wherever its intervals are printed") {
  const qd1::report one = run_of(50'000, 1);
  CHECK_THAT(unbroken(qd1::table(one)), Contains("95 % within this run]") && !Contains("between"));
  CHECK_THAT(qd1::html::render(one), Contains("95 % intervals within this run") && !Contains("one by one") &&
                                         Contains("shaded 95 % interval within this run"));
  CHECK_THAT(qd1::csv(one), Contains(",1,within this run,"));
  CHECK_THAT(qd1::check(qd1::parse_gate("p50<=1s"), one).front().text, Contains(", within this run"));
}

TEST_CASE("the figures of each run stand below those of all, with its own intervals") {
  const qd1::report all = repeated({50'000, 51'500, 48'900});
  const std::string text = qd1::contributions(all);
  CHECK_THAT(text, Contains("run by run [µs, 95 % within this run]") && Contains("run 1 ") && Contains("run 3 "));
  const qd1::estimate second = *all.series.front().contributions.at(1).percentiles.front().value;
  const auto digits = [](double ns) { return qd1::figure_text(qd1::unit::nanoseconds, ns); };
  CHECK_THAT(text, Contains(digits(second.value) + "  " + digits(second.interval->low) + " … " +
                            digits(second.interval->high)));
}

TEST_CASE("tables of loads print the intervals between runs below the runs") {
  std::vector<qd1::report> runs;
  for (const double median : {50'000, 51'500, 48'900}) {
    runs.push_back(run_of(median, runs.size() + 1));
    runs.back().kind = qd1::report_kind::depth;
    runs.back().series.front().work.load.depth = 4;
  }
  const qd1::report all = qd1::in_one(std::move(runs));
  const qd1::estimate rate = *qd1::metric(all.series.front(), "iops");
  CHECK_THAT(unbroken(qd1::table(all)), Contains(fmt::format("95 % between 3 runs: IOPS {:.0f} ({:.0f} … {:.0f}), p50 ",
                                                             rate.value, rate.interval->low, rate.interval->high)));
}

TEST_CASE("a report of repeated runs survives being written and read, and an edited one is refused") {
  qd1::report all = repeated({50'000, 51'500, 48'900});
  all.advice = qd1::advise(all.machine);
  CHECK(qd1::json(qd1::read_json(qd1::json(all), "again")) == qd1::json(all));
  const auto refused = [&](const std::string& pointer, const nlohmann::json& value) {
    auto edited = nlohmann::json::parse(qd1::json(all));
    for (const char* const later : {"checksum", "kind"}) edited["qio"].erase(later);
    edited["qio"]["runs"] = nlohmann::json::array();
    edited[nlohmann::json::json_pointer("/qio/series/0" + pointer)] = value;
    try {
      static_cast<void>(qd1::read_json(edited.dump(), "a file"));
    } catch (const qd1::usage_error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  CHECK(refused("/turns", "").empty());
  const auto interval = all.series.front().latency.percentiles.front().value->interval;
  CHECK_THAT(refused("/latency/percentiles/0/ns/value", 49'900.), Contains("p50") && Contains("by its 3 runs"));
  CHECK_THAT(refused("/latency/percentiles/0/ns/interval", {interval->low, interval->high * 0.99}), Contains("p50"));
  CHECK_THAT(refused("/latency/mean_ns/value", 50'100.), Contains("mean_ns"));
  CHECK_THAT(refused("/between_runs/0/value/value", 1.), Contains("iops"));
  CHECK_THAT(refused("/contributions/0/samples", 19'000),
             Contains("contributions") && Contains("59000 samples of 60000"));
}

qd1::exit_status status(const std::string& gate, const qd1::report& run) {
  return qd1::check(qd1::parse_gate(gate), run).front().status;
}

TEST_CASE("limits between runs rise with the percentile, also of runs whose tails differ, and are read again") {
  std::vector<qd1::named_run> runs;
  for (const double tail : {1., 30., 1., 40., 2.})
    runs.push_back({fmt::format("run {}", runs.size()), run_of(50'000, runs.size() + 1, 20'000, tail)});
  const auto between = [&](double fraction) {
    std::vector<double> values;
    for (const qd1::named_run& each : runs)
      values.push_back(qd1::percentile_of(each.run.series.front(), fraction)->value);
    return *qd1::between_runs(values).interval;
  };
  CHECK(between(0.99).low < between(0.5).low);  // by itself
  const qd1::report all = qd1::repeated(runs);
  const qd1::series& of = all.series.front();
  const auto median = *qd1::percentile_of(of, 0.5)->interval, rare = *qd1::percentile_of(of, 0.99)->interval;
  CHECK(rare.low >= median.low);
  CHECK(rare.high >= median.high);
  CHECK_NOTHROW(qd1::read_json(qd1::json(all), "written"));
}

TEST_CASE("gates on repeated runs are judged by the interval between them") {
  const std::vector<double> medians = {50'000, 54'000, 47'000, 52'000, 48'000};
  const qd1::report one = run_of(medians.front(), 1), all = repeated(medians);
  const auto [low, high] = *qd1::median_of(all.series.front())->interval;
  REQUIRE(low < 48'000);
  REQUIRE(high > 52'000);
  // Beyond what the first run says about itself, and within what the runs say.
  CHECK(status("p50<=52us", one) == qd1::exit_pass);
  CHECK(status("p50<=52us", all) == qd1::exit_inconclusive);
  CHECK(status("p50<=60us", all) == qd1::exit_pass);
  CHECK(status("p50<=40us", all) == qd1::exit_fail);
  CHECK_THAT(qd1::check(qd1::parse_gate("p50<=60us"), all).front().text, Contains(", between 5 runs"));
  const qd1::interval rates = *qd1::metric(all.series.front(), "iops")->interval;
  CHECK(status(fmt::format("iops>={:.0f}", (rates.low + rates.high) / 2), all) == qd1::exit_inconclusive);
  CHECK(status(fmt::format("iops>={:.0f}", rates.low * 0.99), all) == qd1::exit_pass);
  CHECK(status(fmt::format("iops>={:.0f}", rates.high * 1.01), all) == qd1::exit_fail);
}

TEST_CASE("reports that hold runs are compared by how the runs differ") {
  const qd1::report base = repeated(medians_about(50'000, 0.01, 5, 1), 10);
  const qd1::report slower = repeated(medians_about(58'000, 0.01, 5, 2), 20);
  const qd1::decision found = qd1::compare(base.series.front(), slower.series.front(), "p50");
  CHECK(found.base_runs == 5);
  CHECK(found.now_runs == 5);
  CHECK(found.verdict == qd1::difference::slower);
  // What stands beside the ratio is what the reports print.
  CHECK(found.base == Approx(printed_median(base.series.front())).epsilon(1e-12));
  CHECK(found.now == Approx(printed_median(slower.series.front())).epsilon(1e-12));
  CHECK(qd1::compare(slower.series.front(), base.series.front(), "iops").verdict == qd1::difference::faster);
  CHECK(qd1::compare(slower.series.front(), base.series.front(), "MB/s").verdict == qd1::difference::faster);
  const std::string text = qd1::compare(base, slower).text;
  CHECK_THAT(text, Contains("SLOWER by") && Contains("decided by runs: 5 -> 5 runs") && Contains("By runs:") &&
                       !Contains("By rounds:"));
  const qd1::gate_result gate = qd1::check_against(qd1::parse_gate("p50<=1.05x"), base, slower).front();
  CHECK(gate.status == qd1::exit_fail);
  CHECK_THAT(gate.text, Contains("by 5 runs and 5 of the base"));
}

TEST_CASE("an inconclusive comparison of runs gives the number of runs that would decide") {
  const qd1::report base = repeated({50'000, 56'000, 45'000, 53'000, 47'000}, 10);
  const qd1::report now = repeated({54'000, 60'000, 48'000, 57'000, 50'000}, 20);
  const qd1::decision found = qd1::compare(base.series.front(), now.series.front(), "p50");
  CHECK(found.verdict == qd1::difference::inconclusive);
  REQUIRE(found.repeats_needed);
  CHECK(*found.repeats_needed > 5);
  CHECK_THAT(qd1::compare(base, now).text,
             Contains("inconclusive") && Contains(fmt::format("{} runs of each might decide", *found.repeats_needed)));
}

// Runs of the same thing that differ by 3 %, and of 10 % more.
TEST_CASE("that many runs decide in most cases") {
  int asked = 0, decided = 0;
  for (std::uint32_t pair = 0; pair < 500; ++pair) {
    const auto found =
        qd1::decide_by_runs(medians_about(50'000, 0.06, 5, 2 * pair + 1), medians_about(55'000, 0.06, 5, 2 * pair + 2));
    if (!found.repeats_needed || *found.repeats_needed > 100) continue;
    ++asked;
    const int runs = static_cast<int>(*found.repeats_needed);
    decided += qd1::decide_by_runs(medians_about(50'000, 0.06, runs, 2 * pair + 1001),
                                   medians_about(55'000, 0.06, runs, 2 * pair + 1002))
                   .verdict != qd1::difference::inconclusive;
  }
  CHECK(asked > 100);
  CHECK(decided * 2 > asked);
}

TEST_CASE("a single run is compared with repeated ones by rounds, and that is reported") {
  const qd1::report one = run_of(50'000, 1), all = repeated(medians_about(50'000, 0.01, 5, 3), 10);
  const qd1::decision found = qd1::compare(one.series.front(), all.series.front(), "p50");
  CHECK(found.base_runs == 0);
  REQUIRE(found.ratio);
  CHECK(found.verdict == qd1::difference::none);
  CHECK_THAT(found.remark, Contains("the reports have 1 and 5 runs; deciding by runs needs 3 in each"));
}

TEST_CASE("reports of single runs of the same thing are merged with intervals between runs") {
  std::vector<qd1::named_run> runs;
  for (std::uint64_t each = 1; each <= 3; ++each)
    runs.push_back({fmt::format("{}.json", each), run_of(50'000. + 500. * static_cast<double>(each), each)});
  const qd1::report all = qd1::merged(runs);
  CHECK(qd1::repetitions(all.series.front()) == 3);
  CHECK(qd1::median_of(all.series.front())->interval);
  CHECK(all.series.front().contributions.at(2).name == "3.json");

  // Merged again with further runs, each run counts once.
  const qd1::report more = qd1::merged({{"all", all}, {"4.json", run_of(50'000, 4)}});
  REQUIRE(qd1::repetitions(more.series.front()) == 4);
  CHECK(more.series.front().contributions.at(1).name == "all: 2.json");
  std::vector<double> medians;
  for (const auto& each : more.series.front().contributions) medians.push_back(each.percentiles.front().value->value);
  CHECK(printed_median(more.series.front()) == qd1::between_runs(medians).value);

  // Other settings, or at the same time: no repetitions.
  runs.back().run.settings.rounds = 7;
  CHECK(qd1::repetitions(qd1::merged(runs).series.front()) == 0);
  runs.back().run.settings.rounds = 0;
  for (qd1::named_run& each : runs) each.run.started_seconds = 5;
  CHECK(qd1::repetitions(qd1::merged(runs).series.front()) == 0);
}

TEST_CASE("what all runs say alike is said once, and what one says has its name") {
  std::vector<qd1::report> runs;
  for (std::uint64_t each = 1; each <= 3; ++each) {
    runs.push_back(run_of(50'000, each));
    runs.back().notes = {"of all"};
    runs.back().series.front().notes = {"of each series"};
  }
  runs.back().series.front().notes.emplace_back("of one");
  runs.back().series.front().steady = false;
  runs.back().series.front().unsettled = "it drifts";
  const qd1::report all = qd1::in_one(std::move(runs));
  const qd1::series& found = all.series.front();
  CHECK(found.notes == std::vector<std::string>{"of each series", "run 3: of one"});
  CHECK(std::count(all.notes.begin(), all.notes.end(), "of all") == 1);
  CHECK(found.steady == false);
  CHECK(found.unsettled == "run 3: it drifts");
}

TEST_CASE("the seeds of repeated runs follow from the seed, and differ") {
  CHECK(qd1::run_seed(7, 0) == 7);
  std::set<std::uint64_t> all;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t run = 0; run < 10; ++run) all.insert(qd1::run_seed(seed, run));
  CHECK(all.size() == 100);
  const auto seeds = [] {
    std::vector<std::uint64_t> found;
    qd1::repeat_runs(3, 42, [&](std::uint64_t seed) {
      found.push_back(seed);
      return run_of(50'000, 1);
    });
    return found;
  };
  CHECK(seeds() == seeds());
  CHECK(seeds().front() == 42);
}

// As Ctrl-C does.
struct interruption {
  interruption() { qd1::detail::interrupt_requested = true; }
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption() { qd1::detail::interrupt_requested = false; }
};

TEST_CASE("runs that were complete when the user interrupted are kept, and their number is given") {
  std::optional<interruption> user;
  std::uint64_t made = 0;
  const auto measure = [&](std::uint64_t seed) {
    qd1::report run = run_of(50'000, seed % 1'000 + ++made);
    if (made == 3) {
      user.emplace();
      run.complete = false;
    }
    return run;
  };
  const qd1::report all = qd1::in_one(qd1::repeat_runs(5, 1, measure));
  CHECK(made == 3);
  CHECK(qd1::repetitions(all.series.front()) == 2);
  CHECK_FALSE(all.complete);
  CHECK(all.notes.back() == "interrupted: 2 of 5 runs are complete; the others are left out");
  CHECK(qd1::check(qd1::parse_gate("p50<=1s"), all).front().status == qd1::exit_inconclusive);
}

TEST_CASE("a run that was interrupted is kept if it is the first") {
  const interruption user;
  const qd1::report all = qd1::in_one(qd1::repeat_runs(5, 1, [](std::uint64_t) {
    qd1::report run = run_of(50'000, 1);
    run.complete = false;
    return run;
  }));
  CHECK_FALSE(all.complete);
  CHECK(qd1::repetitions(all.series.front()) == 0);
  CHECK(all.series.front().measured());
  CHECK(all.notes.back() == "interrupted in the first of 5 runs");
}

nlohmann::json report_of(const directory& here, const std::string& arguments, int expected = 0) {
  const outcome found = run_qd1(here, arguments + " --json report.json");
  INFO(arguments << '\n' << found.out << found.err);
  CHECK(found.status == expected);
  return nlohmann::json::parse(contents(here.path / "report.json")).at("qio");
}

const std::string reads = " --modes cached --ops read --samples 1000 --rounds 8 --time 10s --file-size 1M";

TEST_CASE("the option --repeat measures the whole set that many times", "[nightly]") {
  const directory here;
  const auto report = report_of(here, "run --repeat 3" + reads);
  CHECK(report.at("runs").size() == 3);
  CHECK(report.at("settings").at("repeat") == 3);
  REQUIRE(report.at("series").size() == 2);
  for (const auto& series : report.at("series")) {
    CHECK(series.at("contributions").size() == 3);
    CHECK(series.at("rounds").size() == 24);
    CHECK(series.at("latency").at("samples") == 3000);
    CHECK(series.at("latency").at("mean_ns").at("scope") == "between runs");
    CHECK(series.at("latency").at("mean_ns").at("interval").is_array());
  }
}

TEST_CASE("a gate makes five runs unless --repeat gives another number, and a plain run is one", "[nightly]") {
  const directory here;
  const std::string gate = " --gate \"p50<=1s\"";
  CHECK(report_of(here, "run" + reads).at("runs").size() == 1);
  CHECK(report_of(here, "run" + reads + gate).at("runs").size() == 5);
  CHECK(report_of(here, "run --repeat 1" + reads + gate).at("runs").size() == 1);
  const outcome against = run_qd1(here, "run" + reads + " --json now.json --gate-vs report.json \"p50<=1000x\"");
  CHECK(against.status == 0);
  CHECK(nlohmann::json::parse(contents(here.path / "now.json")).at("qio").at("runs").size() == 5);
  CHECK_THAT(run_qd1(here, "run --repeat 0" + reads).err,
             Contains("--repeat: '0' is not a whole number from 1 to 100"));
}

TEST_CASE("loads are repeated as well", "[nightly]") {
  const directory here;
  const auto report =
      report_of(here, "depth --repeat 3 --modes cached --depths 1,2 --file-size 1M --time 50ms --rounds 2");
  CHECK(report.at("runs").size() == 3);
  REQUIRE(report.at("series").size() == 2);
  CHECK(report.at("series").at(1).at("contributions").size() == 3);
  CHECK(report.at("series").at(1).at("between_runs").at(0).at("value").at("interval").is_array());
}

TEST_CASE("the plan and the progress of repeated runs count the runs", "[nightly]") {
  const directory here;
  const outcome found = run_qd1(
      here, "run --modes cached --ops read --time 50ms --samples 1000 --rounds 2 --file-size 1M --repeat 3 --progress");
  CHECK_THAT(found.err, Contains("3 runs of 2 series, 2 rounds") && Contains("run 1/3, round 1/2"));
}

}  // namespace
