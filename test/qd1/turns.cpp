// SPDX-License-Identifier: BSL-1.0
// Runs side by side, one of which measures at a time.
#include "measure/turns.hpp"

#include "catch.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

TEST_CASE("of those who take turns one has the turn at a time") {
  const directory here;
  const std::string path = (here.path / "turns").string();
  std::atomic<int> inside = 0;
  std::atomic<int> violations = 0;
  std::vector<std::thread> runs;
  for (int run = 0; run < 3; ++run)
    runs.emplace_back([&] {
      qd1::turns turns(path);
      for (int round = 0; round < 200; ++round) {
        if (++inside != 1) ++violations;
        std::this_thread::yield();
        --inside;
        turns.pass();
      }
    });
  for (std::thread& each : runs) each.join();
  CHECK(violations == 0);
}

TEST_CASE("who waits for a turn has it, whatever the others do") {
  const directory here;
  const std::string path = (here.path / "turns").string();
  qd1::turns greedy(path);
  std::atomic<int> had = 0;
  std::thread patient([&] {
    for (qd1::turns turns(path); ++had < 100;) turns.pass();
  });
  while (had < 100) greedy.pass();
  patient.join();
  CHECK(had == 100);
}

TEST_CASE("a report says by which file its rounds took turns, and a file that cannot be made is an error") {
  const directory here;
  const std::string brief_read = "run --ops read --modes cached" + brief + "--file-size 1M ";
  CHECK(run_qd1(here, brief_read + "--turns turns --json one.json").status == 0);
  CHECK(run_qd1(here, brief_read + "--json other.json").status == 0);
  const auto turns_of = [&](const char* name) {
    return nlohmann::json::parse(contents(here.path / name)).at("qio").at("series").at(0).at("turns");
  };
  CHECK(turns_of("one.json") == "turns");
  CHECK(turns_of("other.json") == "");
  // A later run by the same file did not take turns with it.
  CHECK(run_qd1(here, brief_read + "--turns turns --json later.json").status == 0);
  CHECK_THAT(unbroken(run_qd1(here, "compare one.json later.json").out),
             Contains("both took turns by turns, but not with each other") && Contains("spread of 3 %"));
  const outcome refused = run_qd1(here, brief_read + "--turns nowhere/turns");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("nowhere/turns"));
}

}  // namespace
