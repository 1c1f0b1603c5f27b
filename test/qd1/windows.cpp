// SPDX-License-Identifier: BSL-1.0
// qd1.exe: how it ends, and what Windows cannot be asked.
#include "program.hpp"
#include <qio/qio.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace {

using qio_test::Contains;
using namespace qd1_test;

// qd1 at work, for longer than any test here waits.
struct working {
  directory here;
  os::child child{
      here.path, QD1_PROGRAM,
      "run --modes cached --ops read --file-size 1M --time 20s --samples 100000000 --rounds 20 --json cut.json",
      here.path.string() + ".out", here.path.string() + ".err"};

  ~working() {
    child.kill();
    child.wait();
    fs::remove(here.path.string() + ".out");
    fs::remove(here.path.string() + ".err");
  }
  bool has_files() const { return !fs::is_empty(here.path); }
  void wait_for_file() const {
    while (child.runs() && !has_files()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};

TEST_CASE("the temporary file is gone when qd1 has been killed") {
  const working run;
  run.wait_for_file();
  CHECK(run.has_files());
  run.child.kill();
  run.child.wait();
  CHECK_FALSE(run.has_files());
}

TEST_CASE("an interrupted run writes what it has") {
  const working run;
  run.wait_for_file();
  std::this_thread::sleep_for(std::chrono::seconds(4));  // it listens for noise first
  if (!run.child.interrupt()) QIO_SKIP("there is no console, by which a program is interrupted");
  CHECK(run.child.wait() == 130);
  const auto report = nlohmann::json::parse(contents(run.here.path / "cut.json")).at("qio");
  CHECK(report.at("complete") == false);
  CHECK(report.at("series").at(0).at("latency").at("samples") > 0);
}

TEST_CASE("the engine of asynchronous series is the completion port") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached --ops read --engine iocp" + small);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("iocp") && Contains("ring 100%"));
  CHECK(run_qd1(here, "run --engine uring" + small).status == 2);
}

TEST_CASE("mappings cannot be advised here, and that is said") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes mapped --ops read --advice random" + small);
  CHECK(found.status == 2);
  CHECK_THAT(found.out, Contains("mapped: not available") && Contains("cannot be told"));
}

TEST_CASE("names may be of any language") {
  const directory here;
  const std::string name = "\xc3\xa4\xe6\x97\xa5";
  CHECK(run_qd1(here, "run ./" + name + " --modes cached --ops read" + small).status == 0);
  CHECK(fs::exists(here.path / fs::path(std::u8string(name.begin(), name.end()))));
}

TEST_CASE("devices are refused") {
  const directory here;
  const outcome found = run_qd1(here, R"(run \\.\PhysicalDrive0)" + small);
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains("devices are not measured on Windows"));
}

TEST_CASE("short memory is refused before a file is made, since Windows does not tell what is in memory") {
  const directory here;
  const outcome found = run_qd1(here, "memory ./data");
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains("does not tell which pages of a file are in memory"));
  CHECK(fs::is_empty(here.path));
}

}  // namespace
