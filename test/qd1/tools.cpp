// SPDX-License-Identifier: BSL-1.0
// What others have made reads what qd1 writes.
#include "program.hpp"
#include "reported.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

struct seen : reported {
  bool does(const std::string& command) const { return os::shell("cd '" + path.string() + "' && " + command); }
};

TEST_CASE("fio's own script makes tables of the bins") {
  const seen here;
  if (!os::shell("command -v fio_jsonplus_clat2csv")) QIO_SKIP("fio_jsonplus_clat2csv is not installed");
  CHECK(here.does("fio_jsonplus_clat2csv report.json bins.csv"));
  CHECK(here.does("fio_jsonplus_clat2csv report.json bins.csv --validate"));
  CHECK_THAT(contents(here.path / "bins_job0.csv"), Contains("read_clat_ns_count"));
}

TEST_CASE("fio-plot draws the report, and its series beside each other", "[nightly]") {
  const seen here;
  if (!os::shell("command -v fio-plot")) QIO_SKIP("fio-plot is not installed (cmake/install-dependencies all)");
  const std::string drawn = "fio-plot -T title -r randread -d 1 -n 1 ";
  CHECK(here.does(drawn + "-i . -H -o histogram.png && test -s histogram.png"));
  const std::string cached = "fio/cached-read-blocking-1-MiB ";
  const std::string mapped = "fio/mapped-read-blocking-1-MiB ";
  CHECK(here.does(drawn + "-i " + cached + "-H -o one.png && test -s one.png"));
  CHECK(here.does(drawn + "-i " + cached + "-l -o line.png && test -s line.png"));
  CHECK(here.does(drawn + "-i " + cached + mapped + "-C -o compared.png && test -s compared.png"));
}

TEST_CASE("an interrupted run writes what it has") {
  const directory here;
  const bool ran =
      os::shell("cd '" + here.path.string() +
                "' && timeout --preserve-status --foreground -s INT 3 '" QD1_PROGRAM
                "' run --modes cached --ops read --file-size 1M --time 8s --samples 100000000 --json cut.json; "
                "test $? = 130 && test -s cut.json");
  REQUIRE(ran);
  const auto report = nlohmann::json::parse(contents(here.path / "cut.json")).at("qio");
  CHECK(report.at("complete") == false);
  CHECK(report.at("series").at(0).at("latency").at("samples") > 0);
  const outcome merged = run_qd1(here, "merge cut.json cut.json");
  CHECK(merged.status == 2);
  CHECK_THAT(merged.err, Contains("are of the same run"));
}

TEST_CASE("four ranks of one machine become one report with a row each") {
  const directory here;
  const bool ran =
      os::shell("cd '" + here.path.string() +
                "' && for rank in 0 1 2 3; do '" QD1_PROGRAM
                "' depth --modes cached --depths 4 --workers 2 --json rank$rank.json --file-size 1M --time 1s "
                "--rounds 2 >/dev/null & done; wait");
  REQUIRE(ran);
  double samples = 0;
  for (const char* name : {"rank0.json", "rank1.json", "rank2.json", "rank3.json"}) {
    const auto series = nlohmann::json::parse(contents(here.path / name)).at("qio").at("series").at(0);
    samples += series.at("latency").at("samples").get<double>();
  }
  const outcome found =
      run_qd1(here, "merge rank0.json rank1.json rank2.json rank3.json --json all.json --html all.html");
  INFO(found.out << found.err);
  REQUIRE(found.status == 0);
  CHECK_THAT(found.out, Contains("run by run") && Contains("rank3.json"));
  const auto all = nlohmann::json::parse(contents(here.path / "all.json")).at("qio").at("series").at(0);
  CHECK(all.at("contributions").size() == 4);
  CHECK(all.at("latency").at("samples") == samples);
}

// Whatever the machine and the user are.
const std::string mpirun = "mpirun --oversubscribe --allow-run-as-root ";

bool takes_part_in_jobs() { return os::shell("command -v mpirun") && os::shell(mpirun + "-n 1 '" QD1_PROGRAM "' env"); }

TEST_CASE("the ranks of an MPI job begin together, and make one report with a row each", "[nightly]") {
  const directory here;
  if (!takes_part_in_jobs()) QIO_SKIP("mpirun is not installed (cmake/install-dependencies all), or qd1 has no MPI");
  REQUIRE(os::shell("(cd '" + here.path.string() + "' && " + mpirun +
                    "-n 4 '" QD1_PROGRAM
                    "' depth --modes cached --depths 4 --json all.json --file-size 1M --time 1s --rounds 1 > table)"));
  const auto all = nlohmann::json::parse(contents(here.path / "all.json")).at("qio").at("series").at(0);
  const auto& rows = all.at("contributions");
  REQUIRE(rows.size() == 4);
  double samples = 0;
  for (const auto& each : rows) samples += each.at("samples").get<double>();
  CHECK(rows.at(3).at("name") == "rank 3");
  CHECK(all.at("latency").at("samples") == samples);
  CHECK_THAT(contents(here.path / "table"), Contains("rank 0") && Contains("rank 3"));
}

TEST_CASE("the ranks of a job repeat their runs together, and each run is a row", "[nightly]") {
  const directory here;
  if (!takes_part_in_jobs()) QIO_SKIP("mpirun is not installed (cmake/install-dependencies all), or qd1 has no MPI");
  REQUIRE(
      os::shell("(cd '" + here.path.string() + "' && " + mpirun +
                "-n 2 '" QD1_PROGRAM
                "' depth --modes cached --depths 4 --repeat 3 --json all.json --file-size 1M --time 200ms --rounds 1 "
                "> table)"));
  const auto report = nlohmann::json::parse(contents(here.path / "all.json")).at("qio");
  CHECK(report.at("runs").size() == 6);
  const auto& rows = report.at("series").at(0).at("contributions");
  REQUIRE(rows.size() == 3);
  CHECK(rows.at(2).at("name") == "run 3");
  CHECK(report.at("series").at(0).at("latency").at("mean_ns").at("scope") == "between runs");
}

TEST_CASE("a rank that cannot go on ends the job, with its reason") {
  const directory here;
  if (!takes_part_in_jobs()) QIO_SKIP("mpirun is not installed (cmake/install-dependencies all), or qd1 has no MPI");
  CHECK_FALSE(os::shell("(cd '" + here.path.string() + "' && " + mpirun +
                        "-n 1 '" QD1_PROGRAM "' depth --modes cached --file-size 1M --time 60s : -n 1 '" QD1_PROGRAM
                        "' depth nowhere/at/all --modes cached 2> errors)"));
  CHECK_THAT(contents(here.path / "errors"), Contains("qd1: nowhere/at: No such file"));
}

}  // namespace
