// SPDX-License-Identifier: BSL-1.0
// What happens to the process, its clock and its priorities during a run.
#include "measure/disruptions.hpp"

#include "machine/advice.hpp"
#include "machine/find.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

namespace {

using qio_test::Contains;
using namespace qd1_test;

TEST_CASE("trap 29: a process that is stopped during the run is named", "[nightly]") {
  const directory here;
  const std::string script =
      "cd '" + here.path.string() + "' && { '" + QD1_PROGRAM +
      "' run --details --file-size 1M --modes cached --ops read --reads warm --time 2s --samples 100000000 "
      "--rounds 2 --json stopped.json >out & "
      "while kill -STOP $! && sleep 0.02 && kill -CONT $!; do sleep 0.1; done; wait $!; }";
  REQUIRE(os::shell(script + " 2>/dev/null"));
  CHECK_THAT(unbroken(contents(here.path / "out")), Contains("this process was stopped and continued"));
  const auto json = nlohmann::json::parse(contents(here.path / "stopped.json"));
  CHECK(json.at("qio").at("series").at(0).at("rounds").at(0).at("disturbance").at("stops") > 0);
}

TEST_CASE("trap 29: a clock that goes at another speed makes the run invalid", "[nightly]") {
  CHECK(qd1::clock_complaint(10, 10.1).empty());
  CHECK(qd1::clock_complaint(0.01, 0.03).empty());  // the steps of the system's clock
  CHECK(qd1::clock_complaint(1, 1.2, 0.2).empty());
  CHECK_FALSE(qd1::clock_complaint(1, 1.2, 0.1).empty());
  CHECK_THAT(qd1::clock_complaint(10, 10.3), Contains("the clock counted 10.00 s while the system ran for 10.30 s"));
  CHECK_FALSE(qd1::clock_complaint(1, 0.01).empty());

  // One that goes slowly makes latencies look short.
  for (const auto& [speed, time] : {std::pair{"100", "20s"}, std::pair{"0.5", "1s"}}) {
    INFO(speed);
    const directory here;
    const std::string preload = std::string("LD_PRELOAD='") + QD1_OTHER_CLOCK + "' CLOCK_SPEED=" + speed;
    const std::string out = (here.path / "out").string();
    REQUIRE(os::shell("cd '" + here.path.string() + "' && { " + preload + " '" + QD1_PROGRAM +
                      "' run --details --file-size 1M --modes cached --ops read --reads warm --rounds 2 --time " +
                      time + " >'" + out + "'; [ $? -eq 4 ]; }"));
    const std::string text = unbroken(contents(out));
    CHECK_THAT(text, Contains("INVALID") && Contains("something makes it run at another speed") && !Contains("p50 "));
  }
}

TEST_CASE("trap 29: work that is done when nobody else wants to is named") {
  // The scheduler's and the device's class belong to a thread, which ends after it.
  const auto before = qd1::find_machine(".").host.limits.scheduling;  // it may be nice
  qd1::machine_facts machine;
  std::thread([&] {
    const sched_param none{};
    REQUIRE(::sched_setscheduler(0, SCHED_IDLE, &none) == 0);
    constexpr int of_process = 1, idle = 3 << 13;
    REQUIRE(::syscall(SYS_ioprio_set, of_process, 0, idle) == 0);
    qd1::find_priorities(machine.host.limits);
  }).join();
  CHECK(qd1::find_machine(".").host.limits.scheduling == before);  // this thread
  CHECK(before != "idle");
  CHECK(machine.host.limits.scheduling == "idle");
  CHECK(machine.host.limits.io_priority == "idle");
  const auto advice = qd1::advise(machine);
  for (const char* finding : {"this process is scheduled as idle work", "the I/O priority of this process is idle"})
    CHECK(std::ranges::any_of(advice, [&](const qd1::recommendation& each) {
      return each.finding == finding && each.severity == qd1::severity::severe;
    }));
}

TEST_CASE("trap 29: CPUs that are taken away during the run are named") {
  const qd1::clock clock = qd1::clock::calibrated();
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  if (CPU_COUNT(&before) < 2) QIO_SKIP("there is one CPU");
  qd1::report report;
  std::thread([&] {
    const qd1::disruptions disruptions(clock);
    disruptions.judge(report);
    CHECK(report.notes.empty());
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    disruptions.judge(report);
  }).join();
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0], Contains("the CPUs that this process may use were changed during the run"));
}

TEST_CASE("trap 29: a machine that is suspended during the run is named") {
  const qd1::clock clock = qd1::clock::calibrated();
  double suspended = 100;  // before the run
  const qd1::disruptions disruptions(clock, [&] { return suspended; });
  qd1::report report;
  disruptions.judge(report);
  CHECK(report.notes.empty());
  suspended += 4.2;
  disruptions.judge(report);
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0], Contains("the machine was suspended for 4.2 s during the run"));
}

TEST_CASE("trap 20: the memory that is available after a run is in its report") {
  const directory here;
  REQUIRE(run_qd1(here, "run --modes cached --json report.json" + small).status == 0);
  const auto json = nlohmann::json::parse(contents(here.path / "report.json"));
  CHECK(json.at("qio").at("memory_after").at("available_bytes") > 0);
  CHECK(json.at("qio").at("machine").at("host").at("memory").at("available_bytes") > 0);
}

}  // namespace
