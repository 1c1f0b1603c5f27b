// Reports of several runs as one.
#include "merge/merge.hpp"

#include "merge/stragglers.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "program.hpp"
#include "statistics/histogram.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

qd1::report recorded() {
  const fs::path path = fs::path(QD1_REPORTS) / "linux.json";
  return qd1::read_json(contents(path), path.string());
}

TEST_CASE("bins that were written can be added up again without loss") {
  qd1::histogram first, again;
  for (std::uint64_t sample = 1; sample < (std::uint64_t(1) << 40); sample = sample * 5 / 4 + 1) first.record(sample);
  for (const qd1::bin& each : first.bins()) again.add(each);
  const auto before = first.bins(), after = again.bins();
  REQUIRE(before.size() == after.size());
  for (std::size_t each = 0; each < before.size(); ++each) {
    CHECK(before[each].count == after[each].count);
    CHECK(std::abs(before[each].ns - after[each].ns) <= 0.001 + before[each].ns / 1024);
  }
}

TEST_CASE("runs of the same work become one, sample by sample") {
  const qd1::report one = recorded();
  const qd1::report both = qd1::merged({{"a", one}, {"b", one}});
  REQUIRE(both.series.size() == one.series.size());
  for (std::size_t each = 0; each < one.series.size(); ++each) {
    const qd1::latency &before = one.series[each].latency, &after = both.series[each].latency;
    CHECK(after.samples == 2 * before.samples);
    CHECK(after.min == before.min);
    CHECK(after.max == before.max);
    CHECK(after.mean.value == Approx(before.mean.value));
    REQUIRE(after.bins.size() == before.bins.size());
    for (std::size_t bin = 0; bin < before.bins.size(); ++bin)
      CHECK(after.bins[bin].count == 2 * before.bins[bin].count);
    CHECK(both.series[each].iops == Approx(2 * one.series[each].iops));  // they went on at the same time
    CHECK(both.series[each].contributions.size() == 2);
  }
}

TEST_CASE("operations a second of runs that took turns are not added up") {
  qd1::report one = recorded();
  qd1::report other = one;
  const auto measured_at = [](qd1::report& run, double began) {
    for (qd1::series& each : run.series) {
      each.turns = "file";
      each.began = began;
      for (std::size_t round = 0; round < each.rounds.size(); ++round) {
        each.rounds[round].start = 100. * static_cast<double>(round);
        each.rounds[round].seconds = 40;
      }
    }
  };
  measured_at(one, 1e9);
  measured_at(other, 1e9 + 50);
  const qd1::report both = qd1::merged({{"a", one}, {"b", other}});
  REQUIRE(both.series.size() == one.series.size());
  for (std::size_t each = 0; each < one.series.size(); ++each) {
    const qd1::series& alone = one.series[each];
    CHECK(both.series[each].iops == Approx(static_cast<double>(alone.latency.samples) / alone.seconds));
  }
  CHECK_THAT(both.notes.front(), Contains("the runs took turns"));
}

TEST_CASE("of several runs, the memory of each is in the report, and the range in the table") {
  const auto with_memory = [](std::uint64_t before, std::uint64_t after) {
    qd1::report one = recorded();
    one.machine.host.memory.available_bytes = before << 20;
    one.machine.host.memory.dirty_background_limit_bytes = std::uint64_t(100) << 20;
    one.machine.host.memory.dirty_limit_bytes = std::uint64_t(200) << 20;
    one.memory_after.available_bytes = after << 20;
    return one;
  };
  const qd1::report large = with_memory(4000, 3000), small = with_memory(512, 64), middling = with_memory(900, 800);
  const qd1::report three = qd1::merged({{"a", large}, {"b", small}, {"c", middling}});
  const qd1::report again = qd1::read_json(qd1::json(three), "merged");
  REQUIRE(again.memory.size() == 3);
  CHECK(again.memory[1].name == "b");
  CHECK(again.memory[1].before.available_bytes == std::uint64_t(512) << 20);
  CHECK(again.memory[1].after.available_bytes == std::uint64_t(64) << 20);
  CHECK_THAT(unbroken(qd1::table(again)),
             Contains("Memory available: 512 (b) … 4 000 (a) MiB before, 64 (b) … 3 000 (a) MiB after; writeback "
                      "begins at 100 MiB of dirty memory, writers wait at 200 MiB."));
  // A report that is of several itself.
  const qd1::report nested =
      qd1::merged({{"first", qd1::merged({{"rank 0", large}, {"rank 1", small}})}, {"c", middling}});
  REQUIRE(nested.memory.size() == 3);
  CHECK(nested.memory[1].name == "first, rank 1");
  CHECK(nested.memory[2].name == "c");
  // A single run has no such list.
  CHECK(large.memory.empty());
  CHECK_THAT(unbroken(qd1::table(large)), Contains("Memory available: 4 000 MiB before, 3 000 MiB after"));
}

TEST_CASE("a run is not merged with itself, nor with what it is a part of") {
  qd1::report one = recorded(), other = one;
  one.runs = {"1"};
  other.runs = {"2"};
  const qd1::report both = qd1::merged({{"a", one}, {"b", other}});
  CHECK(both.runs == std::vector<std::string>{"1", "2"});
  CHECK_THROWS_WITH(qd1::merged({{"a", one}, {"b", one}}), Contains("a and b are of the same run, 1"));
  CHECK_THROWS_WITH(qd1::merged({{"both", both}, {"b", other}}), Contains("both and b are of the same run, 2"));
}

TEST_CASE("cycles of several runs are the mean of what each operation took, where all know it") {
  qd1::report one = recorded(), other = recorded();
  one.series.front().cycles = 8000;
  CHECK_FALSE(qd1::merged({{"a", one}, {"b", other}}).series.front().cycles);
  other.series.front().cycles = 10'000;
  CHECK(*qd1::merged({{"a", one}, {"b", other}}).series.front().cycles == Approx(9000));
}

TEST_CASE("operations a second of runs at different times are not added up") {
  const qd1::report first = recorded();
  qd1::report later = first;
  later.started_seconds += 3600;
  CHECK(qd1::ran_together({{"a", first}, {"b", first}}));
  CHECK_FALSE(qd1::ran_together({{"a", first}, {"b", later}}));
  const qd1::report both = qd1::merged({{"a", first}, {"b", later}});
  CHECK(both.series.front().iops == Approx(first.series.front().iops));
}

TEST_CASE("what is not steady in one run is not steady in all, and the run is named") {
  qd1::report sound = recorded();
  for (qd1::series& each : sound.series) each.steady = true;
  qd1::report other = sound;
  other.started_seconds += 3600;
  CHECK(qd1::merged({{"a", sound}, {"b", other}}).series.front().steady == true);
  other.series.front().steady = false;
  other.series.front().unsettled = "it warmed up";
  for (const std::int64_t later : {0, 3600}) {  // side by side, and apart
    other.started_seconds = sound.started_seconds + later;
    const qd1::series both = qd1::merged({{"a", sound}, {"b", other}}).series.front();
    CHECK(both.steady == false);
    CHECK(both.unsettled == "b: it warmed up");
  }
  other.series.front().steady.reset();
  CHECK_FALSE(qd1::merged({{"a", sound}, {"b", other}}).series.front().steady);
}

TEST_CASE("the run that is behind the others is named") {
  std::vector<qd1::contribution> all(4);
  for (qd1::contribution& each : all) {
    each.iops = 1000;
    each.p50 = 50e3;
    each.p99 = 90e3;
  }
  qd1::name_stragglers(all);
  for (const qd1::contribution& each : all) CHECK(each.straggles.empty());
  all[2].p99 = 200e3;
  all[2].iops = 500;
  qd1::name_stragglers(all);
  CHECK(all[2].straggles == "STRAGGLES: p99 2.2 times the median, IOPS 0.5 times the median");
  CHECK(all[0].straggles.empty());
}

TEST_CASE("what is invalid in one run is invalid in all") {
  const qd1::report sound = recorded();
  qd1::report other = sound;
  other.series.front().invalid.push_back("it was not direct");
  const qd1::report both = qd1::merged({{"a", sound}, {"b", other}});
  REQUIRE(both.series.front().invalid.size() == 1);
  CHECK(both.series.front().invalid.front() == "b: it was not direct");
}

TEST_CASE("reports that have nothing in common are not merged") {
  const directory here;
  REQUIRE(run_qd1(here, "run --modes cached --ops read --json a.json" + small).status == 0);
  REQUIRE(run_qd1(here, "run --modes cached --ops write --writes accepted --json b.json" + small).status == 0);
  const outcome found = run_qd1(here, "merge a.json b.json");
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains("the reports have no series of the same work in common"));
}

}  // namespace
