// SPDX-License-Identifier: BSL-1.0
// How series went along, second by second, and the pages of short memory.
#include "catch.hpp"
#include "synthetic.hpp"

#include <qd1/html/html.hpp>
#include <qd1/html/memory_panel.hpp>
#include <qd1/html/timeline_chart.hpp>

#include <string>
#include <vector>

namespace {

using namespace qd1::html;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Measured for four seconds without a break; a thousand operations a second, then half as many.
qd1::series decaying(const qd1::work& what) {
  qd1::series made = qd1_test::synthetic_series(what, {60'000, 0.1, 200'000, 4}, 3'000, 1);
  made.rounds.resize(1);
  made.slices.clear();
  for (const std::uint64_t operations : {1000u, 1000u, 500u, 500u}) {
    qd1::slice& next = made.slices.emplace_back();
    next.start = static_cast<double>(made.slices.size() - 1);
    next.seconds = 1;
    next.operations = operations;
    next.cached_pages = 4096 * made.slices.size();
  }
  return made;
}

qd1::work read_within(std::uint64_t bytes, std::uint64_t memory, qd1::temperature state) {
  qd1::work what;
  what.mode = qd1::mode::cached;
  what.working_set = bytes;
  what.memory = memory;
  what.temperature = state;
  return what;
}

qd1::report short_of_memory() {
  constexpr std::uint64_t mebibyte = 1 << 20;
  qd1::report run;
  run.kind = qd1::report_kind::memory;
  for (const std::uint64_t memory : {64 * mebibyte, 16 * mebibyte})
    for (const qd1::temperature state : {qd1::temperature::cold, qd1::temperature::warm}) {
      run.series.push_back(decaying(read_within(32 * mebibyte, memory, state)));
      run.series.back().shortage.emplace().bound = qd1::bound::by_latency;
    }
  return run;
}

panel panel_of(const qd1::series& only) { return {"", "", {{&only, "name", "name", "run2"}}, 0}; }

}  // namespace

TEST_CASE("a series that was measured without a break is drawn second by second") {
  const qd1::series seen = decaying({});
  const std::string chart = to_string(throughput_timeline(panel_of(seen)));
  CHECK(contains(chart, "data-seconds=\"4\""));
  CHECK(contains(chart, "data-high=\"1000\""));
  CHECK(contains(chart, "M1000 0l"));  // half a second of four, at the top
}

TEST_CASE("pages in memory are drawn where the system told, dirty memory where it did not are not") {
  const qd1::series seen = decaying({});
  const nodes charts = memory_timelines(panel_of(seen));
  REQUIRE(charts.size() == 1);
  CHECK(contains(to_string(charts.front()), "Pages in memory"));
}

TEST_CASE("several rounds, and slices shorter than a second, have no such picture") {
  qd1::series seen = decaying({});
  seen.rounds.resize(2);
  CHECK(throughput_timeline(panel_of(seen)).empty());
  seen.rounds.resize(1);
  for (qd1::slice& each : seen.slices) each.seconds = 0.1;
  CHECK(throughput_timeline(panel_of(seen)).empty());
  CHECK(memory_timelines(panel_of(seen)).empty());
}

TEST_CASE("rates that are far apart are drawn on a logarithmic scale") {
  qd1::series seen = decaying({});
  seen.slices.front().operations = 100'000;
  CHECK(contains(to_string(throughput_timeline(panel_of(seen))), "data-scale=\"logarithmic\""));
}

TEST_CASE("the page of short memory says what bound its steps, and shows their timeline") {
  const qd1::report run = short_of_memory();
  const std::string page = render(run);
  CHECK(contains(page, "How fast file I/O is when memory is short"));
  CHECK(contains(page, "32\u00a0MiB, again, with ballast"));
  CHECK(contains(page, "Throughput, second by second"));
  const std::string verdict = verdict_of_memory(panels_of_memory(run).front());
  CHECK(contains(verdict, "32\u00a0MiB: "));
  CHECK(contains(verdict, "With ballast, 32\u00a0MiB: "));
  CHECK(contains(verdict, "again (latency bound)"));
}
