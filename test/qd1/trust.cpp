// SPDX-License-Identifier: BSL-1.0
// More of the ways in which benchmarks of storage have lied, numbered as in docs/trust.md.
#include "catch.hpp"
#include "html/html.hpp"
#include "machine/counters.hpp"
#include "machine/find.hpp"
#include "measure/conditions.hpp"
#include "measure/measure.hpp"
#include "measure/noise.hpp"
#include "measure/pace.hpp"
#include "measure/repeat.hpp"
#include "measure/series_seed.hpp"
#include "measure/service.hpp"
#include "measure/steadiness.hpp"
#include "measure/tally.hpp"
#include "measure/totals.hpp"
#include "measure/verification.hpp"
#include "output/summary.hpp"
#include "output/table.hpp"
#include "platform/file.hpp"
#include "platform/names.hpp"
#include "platform/process.hpp"
#include "program.hpp"
#include "statistics/order_statistics.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using verdict = qd1::verification::verdict;

qd1::verification judged(std::optional<std::uint64_t> device, std::uint64_t pages_after) {
  qd1::verification facts;
  facts.application_operations = 1'000'000;
  facts.device_operations = device;
  facts.cached_pages_before = 0;
  facts.cached_pages_after = pages_after;
  qd1::judge(facts, qd1::work{});
  return facts;
}

TEST_CASE("traps 3 and 15: direct is believed if the device and the page cache say so") {
  CHECK(judged(1'000'012, 0).result == verdict::verified);
  CHECK(judged(1'000'012, 0).text == "VERIFIED direct: device ops 1,000,012 / app 1,000,000; pages cached 0 -> 0");
  CHECK(judged(498'000, 0).result == verdict::refuted);
  CHECK(judged(1'000'012, 250'000).result == verdict::refuted);
  CHECK(judged(std::nullopt, 0).result == verdict::unknown);
  CHECK_THAT(judged(std::nullopt, 0).text, Contains("could not be verified"));
}

TEST_CASE("trap 4: holes are not read") {
  const directory here;
  const fs::path holes = here.path / "holes";
  std::ofstream(holes).close();
  fs::resize_file(holes, 1 << 20);
  if (!qd1::platform::bytes_without_data(holes.string(), 1 << 20)) QIO_SKIP("the system does not tell of holes");
  const outcome found = run_qd1(here, "run holes --modes cached" + brief);
  CHECK(found.status == 4);
  CHECK_THAT(found.out, Contains("INVALID") && Contains("holes or were never written"));
  CHECK_THAT(found.out, !Contains("p50"));
}

TEST_CASE("trap 5: data that compress are named") {
  const directory here;
  std::ofstream(here.path / "text") << std::string(1 << 20, 'x');
  const outcome found = run_qd1(here, "run text --modes cached" + brief);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("64 of 64 sampled blocks of the file compress"));
  CHECK_THAT(run_qd1(here, "run --modes cached --ops read" + small).out, !Contains("sampled blocks"));
}

TEST_CASE("trap 6: what stays in memory is not called cold") {
  const directory here;
  const std::string path = (here.path / "data").string();
  CHECK(run_qd1(here, "run ./data --modes cached --ops read" + small).status == 0);
  const auto held = qio::mapped_file::open(path);
  REQUIRE(held);
  const auto pages = held.value().view(0, 1 << 20);
  REQUIRE(pages);
  unsigned touched = 0;
  for (std::size_t at = 0; at < pages.value().size(); at += 4096)
    touched += std::to_integer<unsigned>(pages.value()[at]);
  CHECK(touched != 0);
  const outcome found = run_qd1(here, "run data --modes cached --ops read --reads cold" + brief);
  const bool told = qd1::platform::cached_pages(path, 1 << 20).has_value();
  CHECK_THAT(found.out, Contains("cached: not available") &&
                            Contains(told ? "stay in memory" : "does not report which pages are in memory"));
}

TEST_CASE("trap 7: a cold run reads nothing twice") {
  auto offsets = qd1::unvisited_offsets(1, 1 << 20, 4096);
  std::set<std::uint64_t> seen;
  for (int each = 0; each < 128; ++each) CHECK(seen.insert(offsets()).second);
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached --ops read --reads cold" + counted);
  if (found.status != 0) QIO_SKIP("cold reads are unavailable here: " + found.out);
  CHECK_THAT(found.out, Contains("samples        128"));
}

TEST_CASE("trap 10: what reading the clock costs is printed, and what is near it also measured in batches") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes mapped --ops read" + small);
  CHECK_THAT(found.out, Contains("ns to read") && Contains("batched"));
}

qd1::series series_of(double median, double iops) {
  qd1::series made;
  made.latency.samples = 1'000'000;
  made.latency.percentiles = {{0.5, 6, qd1::estimate{median, std::nullopt}}};
  made.iops = iops;
  return made;
}

TEST_CASE("trap 11: the host's noise limits which percentiles are the device's") {
  const qd1::noise quiet{1, 0, {}};
  const qd1::noise loud{1, 4e6, {{4e6, 250}}};
  // None was heard in 2 s: there may be 3.
  CHECK(*qd1::trusted_fraction(series_of(50'000, 20'000), quiet, quiet) == Approx(1 - 1.5 / 20'000));
  CHECK(*qd1::trusted_fraction(series_of(50'000, 20'000), quiet, loud) == Approx(1 - 250. / 20'000));
  // Gaps that are small against the median do not matter.
  const qd1::noise ticks{1, 2'000, {{2'000, 250}}};
  CHECK(*qd1::trusted_fraction(series_of(50'000, 20'000), ticks, ticks) == Approx(1 - 1.5 / 20'000));
  CHECK(*qd1::trusted_fraction(series_of(500, 2e6), ticks, ticks) == Approx(1 - 250. / 2e6));
}

TEST_CASE("trap 11: a gap disturbs all transfers in flight, and those that arrive during it") {
  const qd1::noise quiet{1, 0, {}};
  const qd1::noise loud{1, 4e6, {{4e6, 5}}};
  qd1::series loaded = series_of(500'000, 64'000);
  loaded.work.load.depth = 16;
  loaded.work.load.workers = 2;
  CHECK(*qd1::trusted_fraction(loaded, quiet, loud) == Approx(1 - 5 * 32. / 64'000));
  CHECK(*qd1::trusted_fraction(loaded, quiet, quiet) == Approx(1 - 1.5 * 32 / 64'000));
  loaded.work.load.share = 0.25;  // a mix: of those in flight, a quarter
  CHECK(*qd1::trusted_fraction(loaded, quiet, loud) == Approx(1 - 5 * 8. / 64'000));
  qd1::series open = series_of(50'000, 10'000);
  open.work.rate = 10'000;
  CHECK(*qd1::trusted_fraction(open, quiet, loud) == Approx(1 - 5 * (1 + 40.) / 10'000));
}

TEST_CASE("trap 11: table, badge and chart say the same of how far a series can be trusted") {
  qd1::report run;
  qd1::series each = series_of(50'000, 20'000);
  each.latency.min = 40'000;
  each.latency.max = 60'000;
  each.latency.bins = {{40'000, 1}, {50'000, 999'998}, {60'000, 1}};
  each.trusted_fraction = run.trusted_fraction = 0.98812;
  run.noise_before = run.noise_after = qd1::noise{1, 4e6, {{4e6, 250}}};
  run.series = {each};
  CHECK_THAT(qd1::table(run), Contains("trust to       p98\n"));
  const std::string page = qd1::html::render(run);
  CHECK_THAT(page, Contains("quiet enough up to p98<") &&
                       Contains("beyond p98, the furthest of these series: may be the host"));
}

TEST_CASE("traps 12 and 13: read-ahead of mappings and the kinds of writes have figures of their own") {
  const directory here;
  const outcome reads = run_qd1(here, "run --modes mapped --ops read --advice normal,random" + small);
  CHECK_THAT(reads.out, Contains("mapped, advised random"));
  const outcome writes =
      run_qd1(here, "run --modes cached --ops write --writes accepted,through,flushed --json report.json" + small);
  CHECK_THAT(writes.out,
             Contains("write, accepted") && Contains("write, written through") && Contains("write, flushed"));
  // Each kind in both forms.
  const auto report = nlohmann::json::parse(contents(here.path / "report.json"));
  for (const auto& series : report.at("qio").at("series")) CHECK(series.at("latency").at("samples") > 0);
  CHECK(report.at("qio").at("series").size() == 6);
}

TEST_CASE("trap 14: working sets have series of their own, and writes that have not settled are named") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached --ops read --working-set 64k,1M" + small);
  CHECK_THAT(found.out, Contains("within 64 KiB") && Contains("within 1 MiB"));
  CHECK(run_qd1(here, "run --working-set 2M" + small).status == 2);

  std::vector<qd1::slice> slices(50, qd1::slice{0, 0.1, 100, 50'000, 60'000});
  CHECK(qd1::is_steady(slices) == true);
  for (std::size_t each = 25; each < 50; ++each) slices[each].mean = 100'000;
  CHECK(qd1::is_steady(slices) == false);
  CHECK_FALSE(qd1::is_steady(std::vector<qd1::slice>(3)));
}

// A median of 90 us was printed, of rounds that went from 623 us to 61.
TEST_CASE("trap 27: reads that warm up, or drift, are named like writes") {
  const auto measured = [](qd1::operation operation, const auto& median_of_round) {
    qd1::series made;
    made.work.operation = operation;
    made.seconds = 1;
    for (int round = 0; round < 20; ++round) {
      const double ns = median_of_round(round);
      made.rounds.push_back({1. * round, {}, 0.05, 1'000, ns, {{0.5, ns}}, {}});
    }
    made.latency.samples = 20'000;
    qd1::complete(made, {20'000, 0, 0, std::nullopt, {}});
    return made;
  };
  for (const qd1::operation each : {qd1::operation::read, qd1::operation::write}) {
    const auto warming = measured(each, [](int round) { return round < 5 ? 623'000. / (round + 1) : 61'000. + round; });
    CHECK(warming.steady == false);
    qd1::report run;
    run.series = {warming};
    CHECK_THAT(unbroken(qd1::table(run)),
               Contains("not steady: it warmed up: the first 5 of 20 rounds began at 623.0 µs") &&
                   Contains("Of 1 series: 1 not steady, 1 with direct not verified."));
    const auto drifting = measured(each, [](int round) { return 61'000. * (1 + 0.015 * round); });
    CHECK(drifting.steady == false);
    CHECK_THAT(drifting.unsettled, Contains("it drifts"));
    const auto even = measured(each, [](int round) { return 61'000. + 100 * (round % 3); });
    CHECK(even.steady == true);
    CHECK(even.unsettled.empty());
  }
}

TEST_CASE("trap 28: every series draws its own offsets, the same in every run with that seed") {
  qd1::work blocking;
  blocking.working_set = 1 << 30;
  qd1::work asynchronous = blocking;
  asynchronous.form = qd1::form::asynchronous;
  const auto drawn = [](std::uint64_t seed) {
    auto next = qd1::random_offsets(seed, 1 << 30, 4096);
    return std::array{next(), next(), next(), next()};
  };
  CHECK(drawn(qd1::series_seed(1, blocking)) == drawn(qd1::series_seed(1, blocking)));
  CHECK(drawn(qd1::series_seed(1, blocking)) != drawn(qd1::series_seed(1, asynchronous)));
  CHECK(drawn(qd1::series_seed(1, blocking)) != drawn(qd1::series_seed(2, blocking)));
  CHECK(drawn(qd1::series_seed(1, blocking, 1)) != drawn(qd1::series_seed(1, blocking, 2)));
}

TEST_CASE("trap 16: a stall counts for all that should have begun meanwhile") {
  const auto p99 = [](std::optional<double> rate) {
    const qd1::clock clock = qd1::clock::calibrated();
    qd1::work work;
    work.rate = rate;
    std::array<std::byte, 4096> buffer{};
    qd1::stamps stamps(1);
    const qd1::offset_source offsets = [] { return std::uint64_t(0); };
    qd1::recorder recorder(clock, work, {2'000, 10});
    int calls = 0;
    qd1::repeat({work, clock, offsets, buffer, stamps}, recorder, [&](std::uint64_t) -> qio::result<std::size_t> {
      if (++calls == 1'000) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return std::size_t(4096);
    });
    qd1::tally tally(work);
    tally.add(recorder, {});
    return tally.finished().latency.percentiles[2].value->value;
  };
  CHECK(p99(10'000.) > 50e6);       // a hundred milliseconds at 10 000 a second: a thousand were late
  CHECK(p99(std::nullopt) < 50e6);  // one slow transfer of two thousand
}

TEST_CASE("the clock is the processor's counter of this architecture, or the system's clock with the reason") {
  const qd1::timer_facts facts = qd1::clock::calibrated().facts();
  if (facts.reason.empty()) {
#if defined(__x86_64__)
    CHECK(facts.source == "TSC (invariant)");
#elif defined(__aarch64__)
    CHECK(facts.source == "system counter");
#else
    FAIL("there is no counter to read on this architecture");
#endif
  } else {
    CHECK(facts.source == std::string(qd1::platform::system_clock));
  }
  CHECK(facts.tick_ns > 0);
}

// A loop that is stalled in the first of four rounds, at the end of the round.
TEST_CASE("trap 32: an open loop keeps its times across rounds, and drops none") {
  const qd1::clock clock = qd1::clock::calibrated();
  qd1::work work;
  work.rate = 10'000;
  std::array<std::byte, 4096> buffer{};
  qd1::stamps stamps(1);
  const qd1::offset_source offsets = [] { return std::uint64_t(0); };
  qd1::pace schedule(clock, work, 1);
  qd1::tally tally(work);
  constexpr int rounds = 4;
  int calls = 0;
  double waiting = 1;
  for (int round = 0; round < rounds; ++round) {
    qd1::recorder recorder(clock, work, {1'000'000, 0.05, round + 1 == rounds ? 10. : 0}, &schedule);
    qd1::repeat({work, clock, offsets, buffer, stamps}, recorder, [&](std::uint64_t) -> qio::result<std::size_t> {
      if (++calls == 400) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return std::size_t(4096);
    });
    schedule.pause(recorder.last());
    waiting = recorder.waiting();
    tally.add(recorder, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // between rounds no time passes
  }
  // The rounds are 0.2 s long at least, for which there are 2,000 times. Those that the stall delayed were served in
  // the second round.
  const qd1::series found = tally.finished();
  const double expected = 10'000 * found.seconds;
  CHECK(static_cast<double>(found.latency.samples) >= 1'999);
  CHECK(static_cast<double>(found.latency.samples) <= expected + 1);
  CHECK(waiting == 0);
}

TEST_CASE("an open loop has no CPU time and cycles, which would be those of its wait") {
  qd1::series closed;
  closed.seconds = 1;
  closed.latency.samples = 1'000;
  qd1::series open = closed;
  open.work.rate = 1'000;
  for (qd1::series* const each : {&closed, &open}) qd1::complete(*each, {1'000, 0, 0.9, 3'000'000'000, {}});
  CHECK(closed.cpu_ns == 900'000);
  CHECK(closed.cycles == 3'000'000);
  CHECK_FALSE(open.cpu_ns);
  CHECK_FALSE(open.cycles);
  CHECK(open.iops == 1'000);
  REQUIRE(open.notes.size() == 1);
  CHECK_THAT(open.notes.front(), Contains("no CPU/op") && Contains("spins"));
}

TEST_CASE("random arrivals follow from the seed") {
  const qd1::clock clock = qd1::clock::calibrated();
  qd1::work work;
  work.rate = 1e6;  // all arrivals are past, so none is waited for
  work.poisson = true;
  const auto arrivals = [&](std::uint64_t seed) {
    qd1::pace schedule(clock, work, seed);
    schedule.resume(0);
    std::vector<std::uint64_t> found;
    for (int each = 0; each < 8; ++each) found.push_back(schedule.begin(~std::uint64_t(0)).value());
    return found;
  };
  CHECK(arrivals(1) == arrivals(1));
  CHECK(arrivals(1) != arrivals(2));
  // Each series and each repeated run has a seed of its own.
  qd1::work other = work;
  other.mode = qd1::mode::cached;
  CHECK(arrivals(qd1::series_seed(1, work)) != arrivals(qd1::series_seed(1, other)));
  CHECK(arrivals(qd1::series_seed(qd1::run_seed(1, 1), work)) != arrivals(qd1::series_seed(1, work)));
}

TEST_CASE("trap 16: a rate that was not reached names the cause") {
  qd1::work work;
  work.rate = 1'000;
  CHECK(qd1::missed_rate(work, {1'000, 1, 0.5, 0}).empty());
  CHECK(qd1::missed_rate(work, {999, 1, 0.5, 0}).empty());
  CHECK_THAT(qd1::missed_rate(work, {500, 1, 1, 500}), Contains("RATE NOT REACHED: 500 of 1000") &&
                                                           Contains("at most 500 a second could be served") &&
                                                           Contains("at the end 500 had not begun"));
  CHECK_THAT(qd1::missed_rate(work, {900, 1, 0.5, 0}),
             Contains("there was time for all") && !Contains("had not begun"));
  work.poisson = true;
  CHECK(qd1::missed_rate(work, {900, 1, 0.5, 0}).empty());  // so many came
  CHECK_FALSE(qd1::missed_rate(work, {900, 1, 0.5, 100}).empty());
  work.rate.reset();
  CHECK(qd1::missed_rate(work, {900, 1, 0.5, 100}).empty());
}

TEST_CASE("traps 18 and 20: stolen time and memory are in the report", "[nightly]") {
  const directory here;
  const auto found = run_qd1(here,
                             "run --details --modes cached --ops read --json report.json --file-size 1M --time 1s "
                             "--samples 1000000000 --rounds 1");
  CHECK_THAT(found.out, Contains("Noise of the host"));
  const auto report = nlohmann::json::parse(contents(here.path / "report.json")).at("qio");
  const qd1::machine_facts machine = qd1::find_machine(here.path.string());
  const auto counted = qd1::count(machine).processors;
  const auto& rounds = report.at("series").at(0).at("rounds");
  CHECK(rounds.size() == 1);
  for (const auto& round : rounds)
    CHECK(round.at("disturbance").at("stolen").is_number() == (counted && counted->steal.has_value()));
  CHECK(report.at("counters").contains("processors") == counted.has_value());
  const auto& memory = report.at("machine").at("host").at("memory");
  CHECK(memory.contains("available_bytes") == machine.host.memory.available_bytes.has_value());
  CHECK((found.out.find("Memory available: ") != std::string::npos) == memory.contains("available_bytes"));
}

TEST_CASE("trap 22: rounds begin on all processors that are allowed, and each says on which") {
  const auto allowed = qd1::platform::allowed_processors();
  if (allowed.empty()) QIO_SKIP("the system does not tell which processors a thread may run on");
  const directory here;
  const auto processors = [&](const std::string& rounds) {
    CHECK(run_qd1(here,
                  "run --modes cached --ops read --file-size 1M --time 200ms --samples 10000 --json report.json "
                  "--rounds " +
                      rounds)
              .status == 0);
    std::vector<std::uint64_t> found;
    const auto report = nlohmann::json::parse(contents(here.path / "report.json"));
    for (const auto& round : report.at("qio").at("series").at(0).at("rounds")) found.push_back(round.at("processor"));
    return found;
  };
  const std::vector<std::uint64_t> twice = processors(std::to_string(2 * allowed.size()));
  for (std::size_t each = 0; each < twice.size(); ++each) CHECK(twice[each] == allowed[each % allowed.size()]);
  CHECK(processors("1") == std::vector{allowed[allowed.size() / 2]});
}

TEST_CASE("trap 19: who served instead is said, and why") {
  qd1::report report;
  report.series.push_back(series_of(1'000, 1'000));
  report.series.front().work.form = qd1::form::asynchronous;
  report.series.front().service = {"pool", "seccomp forbids io_uring", 0, 0, 0, 10};
  const std::string preferred(qd1::platform::engines.front().name);
  CHECK_THAT(qd1::table(report), Contains("pool") && Contains("worker 100%") &&
                                     Contains("not " + preferred + ": seccomp forbids io_uring"));
  CHECK_THAT(qd1::summary(report), Contains("not " + preferred + ": seccomp forbids io_uring"));
}

TEST_CASE("trap 19: what Linux AIO carried out is not said to have gone through a ring") {
  qd1::report report;
  report.series.push_back(series_of(1'000, 1'000));
  report.series.front().work.form = qd1::form::asynchronous;
  report.series.front().service = {.engine = "aio", .reason = {}, .by_ring = 9, .by_worker = 1};
  CHECK_THAT(qd1::table(report), Contains("aio 90%") && Contains("worker 10%") && !Contains("ring"));
}

TEST_CASE("trap 19: of a context without io_uring and Linux AIO, both reasons are given") {
  qd1::report report;
  report.series.push_back(series_of(1'000, 1'000));
  report.series.front().work.form = qd1::form::asynchronous;
  qio::explanation facts;
  facts.add("engine", "pool", "8 threads");
  facts.add("fallback", "from io_uring", "it is switched off");
  facts.add("fallback", "from Linux AIO", "the limit is reached");
  report.series.front().service = qd1::service_by(facts);
  CHECK(report.series.front().service.engine == "pool");
  CHECK_THAT(unbroken(qd1::table(report)), Contains(": it is switched off; not Linux AIO: the limit is reached"));
}

TEST_CASE("trap 19: the figures of another engine than the one that --engine names are refused") {
  const auto refusal = [](const std::string& requested, const std::string& engine, const std::string& reason) {
    qd1::report report;
    report.settings.engine = requested;
    report.series.push_back(series_of(1'000, 1'000));
    report.series.front().work.form = qd1::form::asynchronous;
    report.series.front().service = {.engine = engine, .reason = reason};
    qd1::judge_conditions(report);
    const std::vector<std::string>& found = report.series.front().invalid;
    return found.empty() ? std::string() : found.front();
  };
  for (const qd1::platform::engine& each : qd1::platform::engines) {
    const std::string option(each.option), name(each.name);
    INFO(option);
    CHECK(refusal(option, name, "").empty());
    CHECK(refusal("auto", name, "").empty());
    const std::string expected = "--engine " + option + " was requested, but is unavailable: it is forbidden";
    CHECK(refusal(option, "another", "it is forbidden") == expected);
    CHECK(refusal(option, "", "it is forbidden") == expected);    // there was no context
    CHECK(refusal(option, name, "it is forbidden") == expected);  // of one of several workers
    CHECK(refusal("auto", "another", "it is forbidden").empty());
  }
}

}  // namespace
