// SPDX-License-Identifier: BSL-1.0
// The sentence a reader remembers has to be true.
#include "catch.hpp"
#include "synthetic.hpp"

#include <qd1/html/overview.hpp>
#include <qd1/html/verdict.hpp>

#include <regex>
#include <string>

using namespace qd1::html;

namespace {

// As a reader sees it: no markup, plain spaces.
std::string words(const nodes& sentence) {
  std::string text = to_string(element("p", {}, sentence));
  text = std::regex_replace(text, std::regex("<[^>]*>|\n"), "");
  return std::regex_replace(text, std::regex("\u00a0"), " ");
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

panel reads(const qd1::report& run) { return panels_of(run).front(); }

}  // namespace

TEST_CASE("who wins, by how much, how sure, and what the device takes") {
  const qd1::report run = qd1_test::synthetic_report(50'000);
  const std::string text = words(verdict_of_modes(reads(run)));
  INFO(text);
  CHECK(contains(text, "mapped is 2.4× faster than cached at the median (0.380 µs vs 0.900 µs; 95 % sure"));
  CHECK(contains(text, "direct async goes to the device: 49"));
}

TEST_CASE("direct that was not verified is not said to go to the device") {
  qd1::report run = qd1_test::synthetic_report(2'000);
  for (qd1::series& each : run.series) each.verification.result = qd1::verification::verdict::unknown;
  CHECK(contains(words(verdict_of_modes(reads(run))), "not verified to go to the device"));
}

TEST_CASE("what differs by less than the uncertainty does not differ") {
  qd1::report run = qd1_test::synthetic_report(2'000);
  for (qd1::series& each : run.series) {
    each.latency.percentiles.front().value =
        qd1::estimate{each.work.mode == qd1::mode::mapped ? 380. : 381., qd1::interval{375, 386}};
  }
  CHECK(contains(words(verdict_of_modes(reads(run))), "do not differ at the median"));
}

TEST_CASE("the sentence and the bars below it agree on whether there is a fastest") {
  const auto shown = [](double cached, double width) {
    qd1::report run = qd1_test::synthetic_report(2'000);
    for (qd1::series& each : run.series) {
      const double ns = each.work.mode == qd1::mode::mapped ? 380. : cached;
      each.latency.percentiles.front().value = qd1::estimate{ns, qd1::interval{ns - width, ns + width}};
    }
    std::erase_if(run.series, [](const qd1::series& each) { return each.work.form == qd1::form::asynchronous; });
    const panel found = reads(run);
    return words(verdict_of_modes(found)) + words({overview(found)});
  };
  CHECK(contains(shown(500, 5), "faster than"));
  CHECK(contains(shown(500, 5), "fastest"));
  CHECK(contains(shown(381, 5), "do not differ at the median"));
  CHECK_FALSE(contains(shown(381, 5), "fastest"));
  CHECK(contains(shown(500, 150), "cannot be told apart at the median"));
  CHECK_FALSE(contains(shown(500, 150), "fastest"));
}

TEST_CASE("bars of series that may be equal to the fastest carry no factor") {
  const auto shown = [](double width) {
    qd1::report run = qd1_test::synthetic_report(2'000);
    std::erase_if(run.series, [](const qd1::series& each) { return each.work.form == qd1::form::asynchronous; });
    for (qd1::series& each : run.series) {
      const double ns = each.work.mode == qd1::mode::mapped ? 380. : 500.;
      each.latency.percentiles.front().value = qd1::estimate{ns, qd1::interval{ns - width, ns + width}};
    }
    return words({overview(reads(run))});
  };
  CHECK(contains(shown(5), "1.3×"));
  CHECK_FALSE(contains(shown(300), "1.3×"));
}

TEST_CASE("the forms of a single mode are compared with each other") {
  qd1::report run = qd1_test::synthetic_report(50'000);
  std::erase_if(run.series, [](const qd1::series& each) { return each.work.mode != qd1::mode::direct; });
  const std::string text = words(verdict_of_modes(reads(run)));
  INFO(text);
  CHECK(contains(text, "direct async"));
  CHECK_FALSE(contains(text, "nothing to compare"));
  std::erase_if(run.series, [](const qd1::series& each) { return each.work.form == qd1::form::asynchronous; });
  const std::string alone = words(verdict_of_modes(reads(run))) + words({overview(reads(run))});
  CHECK(contains(alone, "There is nothing to compare it with"));
  CHECK_FALSE(contains(alone, "fastest"));
}

TEST_CASE("invalid series do not win") {
  qd1::report run = qd1_test::synthetic_report(2'000);
  for (qd1::series& each : run.series)
    if (each.work.mode == qd1::mode::mapped) each.invalid = {"errors"};
  const std::string text = words(verdict_of_modes(reads(run)));
  INFO(text);
  CHECK_FALSE(contains(text, "mapped"));
  CHECK(contains(text, "cached is "));
}

TEST_CASE("nothing measured is said") {
  qd1::report run = qd1_test::synthetic_report(100);
  for (qd1::series& each : run.series) each.invalid = {"errors"};
  CHECK(contains(words(verdict_of_modes(reads(run))), "No figures"));
}

TEST_CASE("another winner in the tail is named, unless the tail is not to be trusted") {
  qd1::report run = qd1_test::synthetic_report(50'000);
  for (qd1::series& each : run.series)
    each.latency.percentiles[3].value =
        qd1::estimate{each.work.mode == qd1::mode::cached ? 1e3 : 1e5, qd1::interval{900, 1100}};
  for (qd1::series& each : run.series)
    if (each.work.mode != qd1::mode::cached) each.latency.percentiles[3].value->interval = qd1::interval{9e4, 1.1e5};
  CHECK(contains(words(verdict_of_modes(reads(run))), "in the tail, at p99.9, cached is the fastest"));
  run.trusted_fraction = 0.99;
  CHECK_FALSE(contains(words(verdict_of_modes(reads(run))), "p99.9"));
}

TEST_CASE("the interval of a ratio spans the ends that are furthest apart") {
  const qd1::estimate by = ratio({200, qd1::interval{190, 210}}, {100, qd1::interval{95, 105}});
  CHECK(by.value == Approx(2));
  CHECK(by.interval->low == Approx(190. / 105));
  CHECK(by.interval->high == Approx(210. / 95));
  CHECK_FALSE(ratio({200, {}}, {100, qd1::interval{95, 105}}).interval);
}

TEST_CASE("runs are compared with the first of them") {
  const qd1::report base = qd1_test::synthetic_report(20'000, 1, 1), slow = qd1_test::synthetic_report(20'000, 1.3, 50),
                    same = qd1_test::synthetic_report(20'000, 1, 90);
  const named_report runs[] = {{"base", &base}, {"slow", &slow}, {"same", &same}};
  const std::vector<panel> panels = panels_of(runs);
  CHECK(panels.size() >= 3);  // one for each mode, at least
  for (const panel& each : panels) {
    const std::string text = words(verdict_of_runs(each, decisions_of(runs)));
    INFO(text);
    CHECK(contains(text, "% slower than base at the median"));
    CHECK(contains(text, "means over the rounds"));
    CHECK(contains(text, "same does not differ from base"));
  }
}

TEST_CASE("several runs have a table of verdicts, and no sentence for each pair") {
  const qd1::report base = qd1_test::synthetic_report(20'000, 1, 1), slow = qd1_test::synthetic_report(20'000, 1.3, 50),
                    same = qd1_test::synthetic_report(20'000, 1, 90);
  const named_report runs[] = {{"base", &base}, {"slow", &slow}, {"same", &same}};
  const std::string text = words({verdict_matrix(runs, decisions_of(runs))});
  INFO(text);
  CHECK(contains(text, "compared with base"));
  CHECK(contains(text, "SLOWER by"));
  CHECK(contains(text, "no difference"));
  const std::string page = render(runs);
  CHECK(contains(page, "At the median, compared with base"));
  CHECK_FALSE(contains(page, "% slower than base"));
}

TEST_CASE("what cannot be told apart from the fastest has no factor") {
  qd1::report run = qd1_test::synthetic_report(2'000);
  for (qd1::series& each : run.series) {
    const double ns = each.work.mode == qd1::mode::mapped ? 380. : each.work.mode == qd1::mode::cached ? 500. : 1'000;
    each.latency.percentiles.front().value = qd1::estimate{ns, qd1::interval{ns / 1.7, ns * 1.7}};
  }
  const std::string text = words(verdict_of_modes(reads(run)));
  INFO(text);
  CHECK(contains(text, "which cannot be told apart from mapped"));
  CHECK_FALSE(contains(text, "slower"));
}

TEST_CASE("medians whose intervals say nothing, or that have none, have no factor anywhere on the page") {
  for (const bool has_interval : {true, false}) {
    qd1::report run = qd1_test::synthetic_report(2'000);
    std::erase_if(run.series, [](const qd1::series& each) { return each.work.form == qd1::form::asynchronous; });
    for (qd1::series& each : run.series) {
      const double ns = each.work.mode == qd1::mode::mapped ? 100. : each.work.mode == qd1::mode::cached ? 370. : 3'700;
      each.latency.percentiles.front().value = qd1::estimate{ns, {}};
      if (has_interval) each.latency.percentiles.front().value->interval = qd1::interval{ns / 10, ns * 10};
    }
    const panel found = reads(run);
    const std::string text = words(verdict_of_modes(found)) + words({overview(found)});
    INFO(text);
    CHECK(contains(text, has_interval ? "mapped and cached are too variable to compare at the median (0.100 µs vs"
                                      : "mapped and cached are not compared, without intervals, at the median"));
    CHECK(contains(text, has_interval ? "which is too variable to compare" : "which is not compared"));
    for (const char* each : {"×", "fastest", "slower", "faster", "told apart"}) CHECK_FALSE(contains(text, each));
  }
}

TEST_CASE("a median that may be the host's noise has the mark of the table") {
  qd1::report run = qd1_test::synthetic_report(2'000);
  run.trusted_fraction = 0.4;
  for (qd1::series& each : run.series) each.trusted_fraction = 0.4;
  CHECK(contains(words(verdict_of_modes(reads(run))), "†"));
}
