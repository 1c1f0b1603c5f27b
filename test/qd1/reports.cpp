// SPDX-License-Identifier: BSL-1.0
// What qd1 writes, and reads again.
#include "output/hgrm.hpp"
#include "reported.hpp"

#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

TEST_CASE("the ladder of percentiles ends in the maximum and all samples") {
  const reported here;
  const std::string text = contents(here.path / "curve-cached-read-blocking-1-MiB.hgrm");
  CHECK_THAT(text,
             Contains("1/(1-Percentile)") && Contains("0.500000000000") && Contains("1.000000000000       1000\n"));
  CHECK_THAT(text, Contains("#[Mean") && Contains("#[Max") && Contains("#[Buckets"));
}

TEST_CASE("in the ladder of percentiles each round has the same weight, however many samples it has") {
  qd1::latency of;
  of.samples = 1000;
  of.min = 1000;
  of.max = 2000;
  of.bins = {{1000, 900}, {2000, 100}};  // of a round each
  of.shares = {0.5, 1};
  const auto first_line_of = [](const std::string& text, const std::string& percentile) {
    const std::size_t at = text.find(percentile), begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK_THAT(first_line_of(qd1::hgrm(of), " 0.500000000000"), Contains(" 1.000 "));
  CHECK_THAT(first_line_of(qd1::hgrm(of), " 0.550000000000"), Contains(" 2.000 "));
  of.shares.clear();
  CHECK_THAT(first_line_of(qd1::hgrm(of), " 0.750000000000"), Contains(" 1.000 "));
}

TEST_CASE("the page needs nothing else") {
  const reported here;
  const std::string page = contents(here.path / "report.html");
  CHECK_THAT(page, Contains("<svg"));
  CHECK_THAT(page, !Contains("src=\"http") && !Contains("@import"));
}

TEST_CASE("reports are compared") {
  const reported here;
  const outcome found = run_qd1(here, "compare report.json report.json --html both.html");
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("Differences between the environments") && Contains("Verdicts are on the median") &&
                            (Contains("1.000x") || Contains("too variable to compare")) && !Contains("FASTER by") &&
                            !Contains("SLOWER by"));
  CHECK_THAT(contents(here.path / "both.html"), Contains("<svg"));
  CHECK(run_qd1(here, "compare report.json report.json report.json").status == 0);
  CHECK(run_qd1(here, "compare report.json").status == 2);
  CHECK(run_qd1(here, "compare report.json missing.json").status == 2);
}

TEST_CASE("gates decide the exit status") {
  const reported here;
  const std::string reads = "run --repeat 1 --modes cached --ops read" + unhurried;
  CHECK(run_qd1(here, reads + "--gate \"cached.read.p50<=1s\"").status == 0);
  CHECK(run_qd1(here, reads + "--gate \"p50<=1ns\"").status == 1);
  CHECK(run_qd1(here, reads + "--gate \"p99.999<=1s\"").status == 3);
  CHECK(run_qd1(here, reads + "--gate \"p51<=1s\"").status == 2);
  CHECK(run_qd1(here, reads + "--gate-vs report.json \"p50<=1000x\"").status == 0);
}

}  // namespace
