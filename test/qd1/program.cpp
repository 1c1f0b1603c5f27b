// SPDX-License-Identifier: BSL-1.0
// qd1 as its users meet it: arguments, exit statuses, output, and that it harms nobody's files.
#include "program.hpp"

#include "catch.hpp"
#include "platform/file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

TEST_CASE("a run prints the modes side by side and leaves nothing behind") {
  const directory here;
  const outcome found = run_qd1(here, "run" + small);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("direct") && Contains("cached") && Contains("mapped") && Contains("p99.999"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("nothing is said but the result where nobody looks on") {
  const directory here;
  CHECK(run_qd1(here, "run" + small).err.empty());
}

TEST_CASE("no line is wider than a terminal") {
  const directory here;
  std::istringstream lines(run_qd1(here, "run" + small).out);
  for (std::string line; std::getline(lines, line);) {
    const auto continuation = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
    CHECK(line.size() - static_cast<std::size_t>(std::count_if(line.begin(), line.end(), continuation)) <= 100);
  }
}

TEST_CASE("JSON on standard output is all that is there") {
  const directory here;
  const outcome found = run_qd1(here, "run" + counted + "--modes cached --ops read --json -");
  CHECK(found.status == 0);
  const auto report = nlohmann::json::parse(found.out);
  const auto& series = report.at("qio").at("series");
  REQUIRE(series.size() == 2);
  CHECK(series[0].at("latency").at("samples") == 1000);
  CHECK(series[1].at("service").at("by_inline").get<int>() + series[1].at("service").at("by_ring").get<int>() +
            series[1].at("service").at("by_worker").get<int>() ==
        1000);
}

TEST_CASE("JSON in a file comes beside the table") {
  const directory here;
  const outcome found = run_qd1(here, "run" + small + "--modes mapped --json report.json");
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("mapped"));
  CHECK(nlohmann::json::parse(contents(here.path / "report.json")).contains("qio"));
}

TEST_CASE("the engine that was asked for serves") {
  const directory here;
  const outcome found = run_qd1(here, "run" + small + "--modes direct --ops read --engine pool");
  if (found.out.find("direct: not available") != std::string::npos) QIO_SKIP("no direct I/O here");
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("pool") && Contains("worker 100%"));
}

TEST_CASE("what cannot be done is refused with the numbers") {
  const directory here;
  struct refused {
    const char* arguments;
    const char* because;
  };
  for (const auto& [arguments, because] : std::array<refused, 10>{{
           {"run --block 4x", "'4x'"},
           {"run --block 1000 --file-size 1000000 --modes direct", "1000 is not a multiple of"},
           {"run --file-size 10000", "10000 is not a multiple of the block, 4096; the next one is 12288"},
           {"run --file-size 9000000T", "9000000T"},
           {"run --file-size 1000T", "bytes are needed"},
           {"run --time soon", "'soon'"},
           {"run --samples 0", "--samples"},
           {"run --modes fast", "--modes"},
           {"fly", "fly is not a command"},
           {"env missing", "missing: No such file or directory"},
       }}) {
    const outcome found = run_qd1(here, arguments);
    INFO(arguments << '\n' << found.out << found.err);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains(because));
    CHECK(found.out.empty());
  }
  CHECK(run_qd1(here, "").status == 2);
  CHECK(run_qd1(here, "--help").status == 0);
  CHECK(run_qd1(here, "run --help").status == 0);
}

void make_strangers_file(const fs::path& path) { std::ofstream(path) << std::string(1 << 20, 's'); }

TEST_CASE("a stranger's file is read, never written") {
  const directory here;
  make_strangers_file(here.path / "precious");
  const std::string before = contents(here.path / "precious");

  const outcome reads = run_qd1(here, "run precious" + brief);
  CHECK(reads.status == 0);
  CHECK_THAT(reads.out, Contains("reads only") && Contains("--overwrite"));
  CHECK_THAT(reads.out, !Contains("KiB write"));
  CHECK(contents(here.path / "precious") == before);

  const outcome refused = run_qd1(here, "run precious --ops write" + brief);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("--overwrite"));
  CHECK(contents(here.path / "precious") == before);

  CHECK(run_qd1(here, "run precious --ops write --overwrite" + brief).status == 0);
  CHECK(contents(here.path / "precious") != before);
}

TEST_CASE("a file that qd1 made is kept and used again, until somebody changes it") {
  const directory here;
  CHECK(run_qd1(here, "run ./data --modes cached" + small).status == 0);
  CHECK(fs::file_size(here.path / "data") == 1 << 20);
  if (!qd1::platform::is_made_by_qd1((here.path / "data").string())) QIO_SKIP("the file system keeps no marks");
  CHECK_THAT(run_qd1(here, "run data --modes cached" + brief).out, Contains("KiB write"));

  std::ofstream(here.path / "data", std::ios::app) << "a stranger's line";
  CHECK_THAT(run_qd1(here, "run data --modes cached" + brief).out, Contains("reads only"));
}

TEST_CASE("a mistyped command gets a suggestion and never becomes a file") {
  const directory here;
  for (const char* each : {"dpeth", "run dpeth", "depth dpeth", "memory dpeth", "reproduce afio-2017 dpeth"}) {
    INFO(each);
    const outcome found = run_qd1(here, each);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains("dpeth") && Contains("did you mean the command depth?"));
    CHECK(fs::is_empty(here.path));
  }
  CHECK_THAT(run_qd1(here, "nothing-like-it").err, Contains("is not a command") && !Contains("did you mean"));
  CHECK_THAT(run_qd1(here, "run data").err, Contains("./data") && Contains("--create"));
  CHECK(fs::is_empty(here.path));
  CHECK(run_qd1(here, "run data --create --modes cached --ops read" + small).status == 0);
  CHECK(fs::exists(here.path / "data"));
}

TEST_CASE("what cannot be is refused before anything is measured") {
  const directory here;
  const auto refused = [&](const std::string& what) {
    const outcome found = run_qd1(here, "run --modes cached --ops read " + what + small);
    return found.status == 2 && found.out.empty() && !found.err.empty();
  };
  CHECK(refused("--gate \"p50<=1.1x\""));
  CHECK(refused("--gate \"p51<=1s\""));
  CHECK(refused("--gate \"p50<=1\""));
  CHECK(refused("--gate \"mapped.p50<=1s\""));
  CHECK(refused("--gate \"quick.p50<=1s\""));
  CHECK(refused("--gate-vs missing.json \"p50<=1.1x\""));
  CHECK(refused("--json nope/x.json"));
  CHECK(refused("--html nope/x.html"));
  CHECK(refused("--block 4k --working-set 5k"));
  CHECK(refused("--working-set 2M"));
  const outcome found = run_qd1(here, "memory --memory 64M --gate \"direct.p50<=1s\" --time 0.1");
  CHECK(found.status == 2);
  CHECK(found.out.empty());
  if (!Contains("--memory: ").match(found.err) && !Contains("this system does not report").match(found.err))
    CHECK_THAT(found.err, Contains("the run has no such series"));  // memory can be made short here
}

// By the first word of each line below "Subcommands:".
std::vector<std::string> commands() {
  const directory here;
  std::istringstream lines(run_qd1(here, "--help").out);
  std::vector<std::string> found;
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    if (listed && words >> first) found.push_back(first);
    if (line.empty()) listed = false;
    listed = listed || line.starts_with("Commands:");
  }
  return found;
}

TEST_CASE("the scripts that build qd1 hand each of its commands to it") {
  const fs::path benchmark = fs::path(QD1_REPORTS).parent_path().parent_path().parent_path() / "benchmark";
  const std::string script = contents(benchmark / "run"), on_windows = contents(benchmark / "run.ps1");
  const std::vector<std::string> all = commands();
  CHECK(all.size() > 5);
  for (const std::string& each : all) {
    CHECK_THAT(script, Contains(" " + each + " |") || Contains(" " + each + ") ;;"));
    CHECK_THAT(on_windows, Contains("'" + each + "',"));
  }
}

}  // namespace
