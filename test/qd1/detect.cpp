// SPDX-License-Identifier: BSL-1.0
// qd1 run --detect: pairs of runs until a difference is decided. What it finds in a known time: virtual_time.cpp.
#include "compare/pair_test.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

const std::string quickly = " --ops read --file-size 1M --rounds 12 --time 600ms --json out.json";

nlohmann::json report_in(const directory& here) {
  return nlohmann::json::parse(contents(here.path / "out.json")).at("qio");
}

TEST_CASE("a second path needs --detect, and --detect two targets or two modes") {
  const directory here;
  const outcome two = run_qd1(here, "run ./a ./b");
  CHECK(two.status == 2);
  CHECK_THAT(two.err, Contains("./b: a second PATH is compared with the first; add --detect"));
  for (const char* modes : {"", " --modes cached", " --modes cached,mapped,direct"}) {
    const outcome one = run_qd1(here, std::string("run ./a --detect 2%") + modes);
    CHECK(one.status == 2);
    CHECK_THAT(one.err, Contains("name a second PATH, or give two --modes"));
  }
  for (const char* refused : {"0", "0%", "101%", "2%%", "x"}) {
    INFO(refused);
    const outcome found = run_qd1(here, std::string("run ./a ./b --detect ") + refused);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains("--detect"));
  }
  CHECK_THAT(run_qd1(here, "run ./a ./b --detect 2% --repeat 5").err,
             Contains("--repeat cannot be given with --detect"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("two modes of a file are compared, and the report has the series of both") {
  const directory here;
  const outcome found = run_qd1(here, "run ./a --modes cached,mapped --detect 50%" + quickly);
  const auto report = report_in(here);
  CHECK(report.at("series").size() == 4);
  const auto& detections = report.at("detections");
  REQUIRE(detections.size() == 2);
  bool is_open = false;
  for (const auto& each : detections) {
    CHECK(each.at("base") == "cached");
    CHECK(each.at("now") == "mapped");
    CHECK(each.at("error") == Approx(0.025));
    CHECK(each.at("pairs").size() <= 12);
    is_open = is_open || each.at("verdict") == "undecided";
  }
  CHECK(found.status == (is_open ? 3 : 0));
  CHECK_THAT(unbroken(found.out),
             Contains("cached -> mapped") && Contains("in random order") && !Contains("The series are those of"));
}

TEST_CASE("two files are compared, and the report has the series of the first, and says so", "[nightly]") {
  const directory here;
  const outcome found =
      run_qd1(here, "run ./a ./b --modes cached --details --html out.html --csv out.csv --detect 50%" + quickly);
  const char* const whose = "The series are those of ./a. Of ./b, there is the median of each run";
  CHECK_THAT(unbroken(found.out), Contains(whose) && Contains("./a -> ./b"));
  const std::string page = contents(here.path / "out.html");
  CHECK_THAT(page, Contains(whose) && Contains("./a and ./b compared") && Contains("p50 of ./b"));
  std::istringstream lines(contents(here.path / "out.csv"));
  std::string head, line;
  std::getline(lines, head);
  CHECK_THAT(head, Contains(",detection base,detection now,base p50,now p50,ratio,ratio low,ratio high,pairs,verdict"));
  std::size_t count = 0;
  for (; std::getline(lines, line); ++count) {
    CHECK_THAT(line, Contains(",\"./a\",\"./b\","));
    // Titles have commas.
    const std::string rest = line.substr(line.find('"', 1));
    CHECK(std::ranges::count(rest, ',') == std::ranges::count(head, ','));
  }
  CHECK(count == 2);
  const auto report = report_in(here);
  CHECK(report.at("series").size() == 2);
  REQUIRE(report.at("detections").size() == 2);
  for (const auto& each : report.at("detections")) {
    CHECK(each.at("base") == "./a");
    CHECK(each.at("now") == "./b");
  }
}

TEST_CASE("a second file that must not be believed makes the comparison invalid", "[nightly]") {
  const directory here;
  std::ofstream(here.path / "b").put('b');
  fs::resize_file(here.path / "b", 1 << 20);  // a hole
  const outcome found = run_qd1(here, "run ./a ./b --modes cached --detect 50%" + quickly);
  const auto report = report_in(here);
  if (report.at("detections").at(0).at("not_decidable") == "") QIO_SKIP("holes are not found here");
  CHECK(found.status == 4);
  CHECK_THAT(found.out, Contains("no verdict:"));
  for (const auto& each : report.at("detections")) CHECK(each.at("verdict") == "undecided");
}

TEST_CASE("pairs decide nothing before the signs of ten can be no accident") {
  qd1::pair_test test(0.02, 0.05);
  CHECK(test.verdict() == qd1::detected::undecided);
  while (test.pairs() < 5) {
    test.add(100, 200);
    CHECK(test.verdict() == qd1::detected::undecided);
  }
  while (test.pairs() < 15) test.add(100, 200);
  CHECK(test.verdict() == qd1::detected::slower);
  CHECK(test.ratio().value == Approx(2));
}

TEST_CASE("pairs that are faster and pairs that are alike are decided") {
  qd1::pair_test faster(0.02, 0.05), alike(0.02, 0.05);
  for (int pair = 0; pair < 20; ++pair) {
    faster.add(105, 100);
    alike.add(1000 + pair % 2, 1000 + pair / 2 % 2);
  }
  CHECK(faster.verdict() == qd1::detected::faster);
  CHECK(alike.verdict() == qd1::detected::none);
}

TEST_CASE("a few disturbed pairs widen the interval little") {
  qd1::pair_test quiet(0.02, 0.05), disturbed(0.02, 0.05);
  for (int pair = 0; pair < 60; ++pair) {
    const double now = pair % 2 == 0 ? 99 : 101;
    quiet.add(100, now);
    disturbed.add(100, pair % 10 == 7 ? 500 : now);
  }
  const auto narrow = *quiet.ratio().interval, wide = *disturbed.ratio().interval;
  CHECK(wide.high - wide.low < 3 * (narrow.high - narrow.low));
  CHECK(disturbed.ratio().value == Approx(1).epsilon(0.02));
}

}  // namespace
