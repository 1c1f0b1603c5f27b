// SPDX-License-Identifier: BSL-1.0
// What others have made reads what qd1 writes.
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

using Catch::Matchers::Contains;
using namespace qd1_test;

// A directory with a report in it.
struct reported : directory {
  reported() {
    CHECK(
        run_qd1(*this, "run --ops read --json report.json --html report.html --hgrm curve --fio fio" + small).status ==
        0);
  }
  bool does(const std::string& command) const { return shell("cd '" + path.string() + "' && " + command); }
};

TEST_CASE("fio's own script makes tables of the bins") {
  const reported here;
  if (!shell("command -v fio_jsonplus_clat2csv")) QIO_SKIP("fio_jsonplus_clat2csv is not installed");
  CHECK(here.does("fio_jsonplus_clat2csv report.json bins.csv"));
  CHECK(here.does("fio_jsonplus_clat2csv report.json bins.csv --validate"));
  CHECK_THAT(contents(here.path / "bins_job0.csv"), Contains("read_clat_ns_count"));
}

TEST_CASE("fio-plot draws the report, and its series beside each other") {
  const reported here;
  if (!shell("command -v fio-plot")) QIO_SKIP("fio-plot is not installed (cmake/install-dependencies all)");
  const std::string drawn = "fio-plot -T title -r randread -d 1 -n 1 ";
  CHECK(here.does(drawn + "-i . -H -o histogram.png && test -s histogram.png"));
  const std::string cached = "fio/cached-read-blocking-1-MiB ";
  const std::string mapped = "fio/mapped-read-blocking-1-MiB ";
  CHECK(here.does(drawn + "-i " + cached + "-H -o one.png && test -s one.png"));
  CHECK(here.does(drawn + "-i " + cached + "-l -o line.png && test -s line.png"));
  CHECK(here.does(drawn + "-i " + cached + mapped + "-C -o compared.png && test -s compared.png"));
}

TEST_CASE("the report keeps its published schema") {
  const reported here;
  if (!shell("python3 -c 'import jsonschema'")) QIO_SKIP("python3-jsonschema is not installed");
  CHECK(
      here.does("python3 -c \"import json, jsonschema; jsonschema.validate(json.load(open('report.json')), "
                "json.load(open('" QD1_SCHEMA "')))\""));
}

TEST_CASE("the ladder of percentiles ends in the maximum and all samples") {
  const reported here;
  const std::string text = contents(here.path / "curve-cached-read-blocking-1-MiB.hgrm");
  CHECK_THAT(text,
             Contains("1/(1-Percentile)") && Contains("0.500000000000") && Contains("1.000000000000       1000\n"));
  CHECK_THAT(text, Contains("#[Mean") && Contains("#[Max") && Contains("#[Buckets"));
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
  CHECK_THAT(found.out, Contains("Differences of the surroundings") && Contains("A verdict is on the median") &&
                            Contains("1.000x") && !Contains("FASTER by") && !Contains("SLOWER by"));
  CHECK_THAT(contents(here.path / "both.html"), Contains("<svg"));
  CHECK(run_qd1(here, "compare report.json").status == 2);
  CHECK(run_qd1(here, "compare report.json missing.json").status == 2);
}

TEST_CASE("gates decide the exit status") {
  const reported here;
  const std::string reads = "run --modes cached --ops read" + small;
  CHECK(run_qd1(here, reads + "--gate 'cached.read.p50<=1s'").status == 0);
  CHECK(run_qd1(here, reads + "--gate 'p50<=1ns'").status == 1);
  CHECK(run_qd1(here, reads + "--gate 'p99.999<=1s'").status == 3);
  CHECK(run_qd1(here, reads + "--gate 'p51<=1s'").status == 2);
  CHECK(run_qd1(here, reads + "--gate-vs report.json 'p50<=1000x'").status == 0);
}

TEST_CASE("an interrupted run writes what it has") {
  const directory here;
  const bool ran =
      shell("cd '" + here.path.string() +
            "' && timeout --foreground -s INT 3 '" QD1_PROGRAM
            "' run --modes cached --ops read --file-size 1M --time 8s --samples 100000000 --json cut.json; "
            "test -s cut.json");
  REQUIRE(ran);
  const auto report = nlohmann::json::parse(contents(here.path / "cut.json")).at("qio");
  CHECK(report.at("complete") == false);
  CHECK(report.at("series").at(0).at("latency").at("samples") > 0);
}

}  // namespace
