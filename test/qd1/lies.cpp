// SPDX-License-Identifier: BSL-1.0
// Ways in which benchmarks have lied, set up for real: file systems, control groups, filters and rivals of the system's
// own. Those that need root, or a file system that is not there, are skipped.
#include "machine/counters.hpp"
#include "machine/find.hpp"
#include "measure/conditions.hpp"
#include "measure/measure.hpp"
#include "measure/noise.hpp"
#include "measure/steadiness.hpp"
#include "measure/verification.hpp"
#include "output/table.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <vector>

namespace {

using Catch::Matchers::Contains;
using namespace qd1_test;

// As one line, however the table was broken into lines.
std::string unbroken(const std::string& text) {
  std::string line;
  for (const char each : text)
    if (!((each == ' ' || each == '\n') && !line.empty() && line.back() == ' ')) line += each == '\n' ? ' ' : each;
  return line;
}

// What is mounted below a directory, until the end of the test.
struct mounts : directory {
  mounts() = default;
  mounts(const mounts&) = delete;
  mounts& operator=(const mounts&) = delete;
  ~mounts() {
    for (; !made.empty(); made.pop_back()) shell("umount '" + made.back().string() + "'");
  }

  bool add(const std::string& what, const fs::path& where) {
    fs::create_directories(where);
    if (::geteuid() != 0 || !shell("cd '" + path.string() + "' && mount " + what + " '" + where.string() + "'"))
      return false;
    made.push_back(where);
    return true;
  }

  std::vector<fs::path> made;
};

TEST_CASE("trap 3: direct on an overlay in memory is not available") {
  mounts here;
  const fs::path memory = here.path / "memory";
  if (!here.add("-t tmpfs none", memory)) QIO_SKIP("tmpfs cannot be mounted");
  for (const char* each : {"lower", "upper", "work"}) fs::create_directory(memory / each);
  if (!here.add("-t overlay none -o lowerdir=memory/lower,upperdir=memory/upper,workdir=memory/work",
                here.path / "over"))
    QIO_SKIP("no overlay can be mounted");
  const outcome found = run_qd1(here, "run over --modes direct" + small);
  CHECK(found.status == 2);
  CHECK_THAT(found.out, Contains("direct: not available: ") && !Contains("p50"));
}

TEST_CASE("traps 3 and 5: a file system that compresses serves direct reads from memory, and is named") {
  mounts here;
  if (!shell("command -v mkfs.btrfs")) QIO_SKIP("mkfs.btrfs is not installed");
  const std::string image = (here.path / "image").string();
  if (!shell("truncate -s 128M '" + image + "' && mkfs.btrfs -q '" + image + "'") ||
      !here.add("-o loop,compress-force=zstd image", here.path / "btrfs"))
    QIO_SKIP("no btrfs can be mounted");
  std::ofstream(here.path / "btrfs/zeros") << std::string(4 << 20, '\0') << std::flush;
  REQUIRE(shell("sync -f '" + (here.path / "btrfs/zeros").string() + "'"));
  const outcome found = run_qd1(here, "run btrfs/zeros --modes direct --ops read" + brief);
  const std::string text = unbroken(found.out);
  CHECK(found.status == 4);
  CHECK_THAT(text, Contains("NOT direct") && Contains("INVALID") && !Contains("p50"));
  CHECK_THAT(text, Contains("64 of 64 sampled blocks of the file compress") && Contains("this file system compresses"));
}

TEST_CASE("traps 12 and 15: what reads of a mapping have the device do is told, with and without read-ahead") {
  const directory here;
  const outcome found = run_qd1(
      here,
      "run --file-size 16M --modes mapped --ops read --reads cold --advice normal,random --json cold.json" + brief);
  if (found.status != 0) QIO_SKIP("cold cannot be had here: " + found.out);
  CHECK_THAT(unbroken(found.out), Contains("MADV_RANDOM") && Contains("device ops") && Contains("/ app"));
  std::map<std::string, double> device_operations;  // for each of the application's, by advice
  const auto report = nlohmann::json::parse(contents(here.path / "cold.json"));
  for (const auto& series : report.at("qio").at("series")) {
    const auto& counted = series.at("verification");
    if (series.at("work").at("form") != "blocking") continue;
    if (counted.at("device_operations").is_null()) QIO_SKIP("the system counts no operations of the device here");
    device_operations[series.at("work").at("advice")] =
        counted.at("device_operations").get<double>() / counted.at("application_operations").get<double>();
  }
  REQUIRE(device_operations.size() == 2);
  if (qd1::find_machine(here.path.string()).devices.front().read_ahead_kib.value_or(0) < 64)
    QIO_SKIP("the device reads nothing ahead");
  CHECK(device_operations["random"] > device_operations["normal"]);
}

TEST_CASE("trap 15: how many operations of the device each of the application's takes is told") {
  qd1::verification facts;
  facts.application_operations = 54;
  facts.device_operations = 108;
  qd1::judge(facts, qd1::work{});
  CHECK_THAT(facts.text, Contains("device ops 108 / app 54 (2 for each: split"));
  qd1::work mapped;
  mapped.mode = qd1::mode::mapped;
  facts.device_operations = 2;
  qd1::judge(facts, mapped);
  CHECK_THAT(facts.text, Contains("device ops 2 / app 54 (0.037 for each: read ahead"));
}

qd1::series measured_by(const std::function<void(int)>& transfer, int samples) {
  const qd1::clock clock = qd1::clock::calibrated();
  qd1::series found;
  found.work.operation = qd1::operation::write;
  std::array<std::byte, 4096> buffer{};
  const qd1::offset_source offsets = [] { return std::uint64_t(0); };
  qd1::recorder recorder(clock, found.work, {static_cast<std::uint64_t>(samples), 10});
  int calls = 0;
  qd1::repeat({found.work, clock, offsets, buffer}, recorder, [&](std::uint64_t) -> qio::result<std::size_t> {
    transfer(calls++);
    return std::size_t(4096);
  });
  recorder.summarize(found);
  found.steady = qd1::is_steady(found.slices);
  return found;
}

TEST_CASE("trap 14: writes that become slower as they go on are named") {
  qd1::report report;
  report.series.push_back(measured_by(
      [](int call) { std::this_thread::sleep_for(std::chrono::microseconds(call < 5'000 ? 200 : 2'000)); }, 6'500));
  CHECK(report.series.front().steady == false);
  CHECK_THAT(qd1::table(report), Contains("not steady"));
}

TEST_CASE("trap 16: a rate that cannot be reached is said") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached --ops read --rate 500000000" + small);
  CHECK_THAT(found.out, Contains("RATE NOT REACHED: "));
  CHECK_THAT(run_qd1(here, "run --modes cached --ops read" + small).out, !Contains("RATE NOT REACHED"));
}

TEST_CASE("trap 17: runs of different blocks are not compared") {
  const directory here;
  CHECK(run_qd1(here, "run --modes cached --ops read --json a.json" + small).status == 0);
  CHECK(run_qd1(here, "run --modes cached --ops read --block 8192 --json b.json" + small).status == 0);
  const outcome found = run_qd1(here, "compare a.json b.json");
  CHECK(found.status == 4);
  CHECK_THAT(found.out, Contains("no verdict") && Contains("not comparable") && !Contains("FASTER"));
}

// Another process that computes on this thread's processor, to which this thread is bound.
struct rival {
  pid_t child = -1;
  cpu_set_t before{};

  rival() {
    ::sched_getaffinity(0, sizeof before, &before);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &here);
    ::sched_setaffinity(0, sizeof here, &here);
    child = ::fork();
    while (child == 0 && ::getppid() != 1) {}
    if (child == 0) ::_exit(0);
  }
  rival(const rival&) = delete;
  rival& operator=(const rival&) = delete;
  ~rival() {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::sched_setaffinity(0, sizeof before, &before);
  }
};

TEST_CASE("trap 11: a program that takes the processor away lowers what can be trusted") {
  const qd1::clock clock = qd1::clock::calibrated();
  const rival rival;
  const qd1::noise heard = qd1::listen(clock, 0.5);
  CHECK(heard.max_ns > 500'000);
  qd1::series slow;
  slow.latency.samples = 1'000;
  slow.latency.percentiles = {{0.5, 6, qd1::estimate{100'000, std::nullopt}}};
  slow.iops = 10'000;
  const qd1::noise quiet{1, 0, {}};
  CHECK(qd1::trusted_fraction(slow, quiet, quiet) == 1.);
  CHECK(*qd1::trusted_fraction(slow, quiet, heard) < 0.9999);
}

qd1::report judged(const std::function<void(qd1::report&)>& change) {
  const qd1::data_file file({"", std::uint64_t(1) << 20, 4096, false, 1});
  qd1::report report;
  change(report);
  qd1::judge_conditions(file, report);
  return report;
}

TEST_CASE("trap 18: time that other guests took during the run is told") {
  const auto stolen = [](std::uint64_t steal) {
    return unbroken(qd1::table(judged([&](qd1::report& report) {
      qd1::machine_counters before, after;
      before.processors = qd1::processor_time{.total = 10'000, .steal = 500};
      after.processors = qd1::processor_time{.total = 11'000, .steal = 500 + steal};
      report.counters = after - before;
    })));
  };
  CHECK_THAT(stolen(50), Contains("5.0 % of processor time went to other guests"));
  CHECK_THAT(stolen(5), !Contains("other guests"));
}

TEST_CASE("trap 18: a frequency that changed during the run is told, where frequencies are managed") {
  qd1::cpu_facts before, after;
  before.frequency_driver = "intel_pstate";
  before.frequency_mhz = 3'400;
  after.frequency_mhz = 2'100;
  CHECK_THAT(qd1::frequency_change(before, after).value(), Contains("3400 MHz before the run and at 2100 MHz after"));
  after.frequency_mhz = 3'300;
  CHECK_FALSE(qd1::frequency_change(before, after));
  before.frequency_driver.reset();
  after.frequency_mhz = 2'100;
  CHECK_FALSE(qd1::frequency_change(before, after));
}

TEST_CASE("trap 19: where io_uring is forbidden the report says who served, and io_uring asked for is refused") {
  const directory here;
  const auto forbidden = [&](const std::string& arguments) {
    return run_qd1(here, "--version >version && '" QD1_WITHOUT_IO_URING "' EPERM '" QD1_PROGRAM "' " + arguments);
  };
  const outcome served = forbidden("run --modes cached --ops read" + small);
  CHECK(served.status == 0);
  CHECK_THAT(unbroken(served.out), Contains("pool") && Contains("not io_uring: ") && Contains("seccomp"));
  const outcome refused = forbidden("run --modes cached --ops read --engine uring" + small);
  CHECK(refused.status == 4);
  CHECK_THAT(unbroken(refused.out), Contains("INVALID: cached read, asynchronous") && Contains("--engine uring"));
}

// A control group of version 1 with so much memory.
struct memory_group {
  fs::path path = "/sys/fs/cgroup/memory/qd1-test-" + std::to_string(::getpid());
  bool made = false;

  explicit memory_group(std::uint64_t bytes) {
    std::error_code failed;
    if (!fs::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes") || !fs::create_directory(path, failed)) return;
    made = static_cast<bool>(std::ofstream(path / "memory.limit_in_bytes") << bytes << std::flush);
  }
  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;
  ~memory_group() {
    if (::rmdir(path.c_str()) != 0) WARN("a control group stays behind: " << path);
  }
};

TEST_CASE("trap 20: writes for which memory is too small are named") {
  const directory here;
  const memory_group group(32 << 20);
  if (!group.made) QIO_SKIP("no control group of memory can be made (version 1, root)");
  const fs::path report = here.path / "report";
  REQUIRE(shell("sh -c 'echo $$ >" + (group.path / "cgroup.procs").string() + "; cd \"" + here.path.string() +
                "\"; \"" QD1_PROGRAM
                "\" run --modes cached --ops write --writes accepted --file-size 64M --time 50ms >report'"));
  CHECK_THAT(unbroken(contents(report)), Contains("memory is limited to 33 554 432 bytes by a control group"));
}

}  // namespace
