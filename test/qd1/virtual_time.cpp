// SPDX-License-Identifier: BSL-1.0
// Runs in a virtual time (preload/virtual_time.cpp), whose latencies are known: the same each time, on any machine.
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

struct virtual_run {
  int status = 0;
  std::string text;  // without line breaks
  nlohmann::json series;

  double percentile(double fraction) const {
    for (const auto& each : series.at("latency").at("percentiles"))
      if (each.at("fraction") == Approx(fraction)) return each.at("ns").at("value");
    return 0;
  }
  double mean() const { return series.at("latency").at("mean_ns").at("value"); }
};

// Cached reads, one at a time. The file of the report is of the run's own.
virtual_run run_in(const std::string& settings, const std::string& more = "") {
  const directory here;
  const std::string command = "cd '" + here.path.string() + "' && { LD_PRELOAD='" + QD1_VIRTUAL_TIME + "' " + settings +
                              " '" + QD1_PROGRAM +
                              "' run --details --file-size 1M --modes cached --ops read --reads warm " +
                              "--json out.json " + more + " >out; echo $? >status; }";
  REQUIRE(os::shell(command + " 2>/dev/null"));
  virtual_run found;
  found.status = std::stoi(contents(here.path / "status"));
  found.text = unbroken(contents(here.path / "out"));
  const auto json = nlohmann::json::parse(contents(here.path / "out.json"));
  REQUIRE(json.at("qio").at("clock").at("source") == "clock_gettime");
  found.series = json.at("qio").at("series").at(0);
  return found;
}

TEST_CASE("a pause of 0.3 s once a second is in no percentile but the mean, and is named", "[nightly]") {
  for (const char* seed : {"1", "2", "3"}) {
    INFO(seed);
    const virtual_run found = run_in(std::string("VIRTUAL_PAUSES=1 VIRTUAL_SEED=") + seed);
    CHECK(found.percentile(0.5) == Approx(80'000).epsilon(0.01));
    CHECK(found.percentile(0.99) == Approx(101'000).epsilon(0.02));
    CHECK(found.percentile(0.999) < 120'000);
    CHECK(found.mean() > 85'000);
    CHECK(found.mean() < 150'000);
    CHECK(found.mean() * 1e-9 * found.series.at("iops").get<double>() == Approx(1).epsilon(0.02));
    CHECK_THAT(found.text, Contains("stalls of") && Contains("the longest 0.3 s"));
  }
}

TEST_CASE("a clock whose steps are as long as the latencies makes the run invalid") {
  const virtual_run found = run_in("VIRTUAL_STEP=100000", "--time 1s");
  CHECK(found.status == 4);
  CHECK_THAT(found.text, Contains("the clock moves in steps of 100 µs") && !Contains("p50 "));
}

TEST_CASE("a clock in coarse steps widens intervals by a step, and is named") {
  const virtual_run found = run_in("VIRTUAL_STEP=20000", "--time 1s");
  CHECK(found.status == 0);
  CHECK_THAT(found.text, Contains("the clock moves in steps of 20 µs, 25 % of the median"));
  for (const auto& each : found.series.at("latency").at("percentiles"))
    if (each.at("fraction") == Approx(0.5)) {
      CHECK(each.at("ns").at("interval").at(0) <= 80'000);
      CHECK(each.at("ns").at("interval").at(1) >= 80'000);
    }
}

TEST_CASE("a random walk is not steady, and samples that remember 10,000 others have no intervals", "[nightly]") {
  int steady = 0, given = 0;
  for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
    const virtual_run walk = run_in(std::string("VIRTUAL_WALK=0.1 VIRTUAL_SEED=") + seed);
    steady += walk.series.at("steady").get<bool>();
    const virtual_run bound = run_in(std::string("VIRTUAL_MEMORY=0.9999 VIRTUAL_SEED=") + seed);
    for (const auto& each : bound.series.at("latency").at("percentiles"))
      given += each.at("fraction") == Approx(0.99) && each.at("ns").contains("interval") &&
               each.at("ns").at("interval").is_array();
  }
  CHECK(steady <= 1);
  CHECK(given <= 1);
}

TEST_CASE("runs in the same virtual time have the same figures") {
  const virtual_run first = run_in("VIRTUAL_MEMORY=0.9", "--time 1s");
  const virtual_run second = run_in("VIRTUAL_MEMORY=0.9", "--time 1s");
  CHECK(first.series.at("latency").at("bins_ns") == second.series.at("latency").at("bins_ns"));
}

struct virtual_detection {
  int status = 0;
  nlohmann::json found;  // one for each form

  bool all(const std::string& verdict) const {
    for (const auto& each : found)
      if (each.at("verdict") != verdict) return false;
    return found.size() == 2;
  }
};

// Compares cached reads of two files; the second file is the slower one.
virtual_detection detect_in(const std::string& settings, const std::string& more = "") {
  const directory here;
  const std::string command = "cd '" + here.path.string() + "' && { LD_PRELOAD='" + QD1_VIRTUAL_TIME +
                              "' VIRTUAL_FILE=second " + settings + " '" + QD1_PROGRAM +
                              "' run ./first ./second --detect 2% --file-size 1M --modes cached --ops read " +
                              "--json out.json " + more + " >out; echo $? >status; }";
  REQUIRE(os::shell(command + " 2>/dev/null"));
  virtual_detection found;
  found.status = std::stoi(contents(here.path / "status"));
  found.found = nlohmann::json::parse(contents(here.path / "out.json")).at("qio").at("detections");
  return found;
}

TEST_CASE("detection finds a file that is 5 % slower, however much each read resembles the one before it",
          "[nightly]") {
  for (const char* memory : {"0", "0.99"})
    for (const char* seed : {"1", "2"}) {
      INFO(memory << ", " << seed);
      const virtual_detection found =
          detect_in(std::string("VIRTUAL_SLOWER=1.05 VIRTUAL_MEMORY=") + memory + " VIRTUAL_SEED=" + seed);
      CHECK(found.status == 0);
      CHECK(found.all("SLOWER"));
      for (const auto& each : found.found) {
        CHECK(each.at("ratio").at("interval").at(0) < 1.05);
        CHECK(each.at("ratio").at("interval").at(1) > 1.05);
        CHECK(each.at("pairs").size() < 100);
      }
    }
}

TEST_CASE("detection finds no difference between equal files, and stops", "[nightly]") {
  for (const char* memory : {"0", "0.99"})
    for (const char* seed : {"1", "2"}) {
      INFO(memory << ", " << seed);
      const virtual_detection found = detect_in(std::string("VIRTUAL_MEMORY=") + memory + " VIRTUAL_SEED=" + seed);
      CHECK(found.status == 0);
      CHECK(found.all("no difference"));
      for (const auto& each : found.found) CHECK(each.at("pairs").size() < 150);
    }
}

TEST_CASE("detection does not decide what the pairs allowed do not show, and exits with 3") {
  const virtual_detection found = detect_in("VIRTUAL_WALK=1", "--rounds 12 --time 3s");
  CHECK(found.status == 3);
  CHECK(found.all("undecided"));
  for (const auto& each : found.found) CHECK(each.at("pairs").size() == 12);
}

TEST_CASE("the order within the pairs of --detect is drawn by the seed") {
  const auto orders = [](const std::string& seed) {
    std::string text;
    const virtual_detection found = detect_in("VIRTUAL_SLOWER=2", "--rounds 40 --time 2s --seed " + seed);
    for (const auto& each : found.found)
      for (const auto& pair : each.at("pairs")) text += pair.at("base_first").get<bool>() ? '1' : '2';
    return text;
  };
  const std::string one = orders("1");
  CHECK(one.size() >= 20);
  CHECK(one.find("12") != std::string::npos);
  CHECK(one.find("21") != std::string::npos);
  CHECK((one.find("11") != std::string::npos || one.find("22") != std::string::npos));
  CHECK(orders("1") == one);
  CHECK(orders("2") != one);
}

}  // namespace
