// SPDX-License-Identifier: BSL-1.0
// Ways in which benchmarks have lied, set up for real: file systems, control groups, filters and rivals of the system's
// own. Those that need root, or a file system that is not there, are skipped.
#include "machine/counters.hpp"
#include "machine/find.hpp"
#include "measure/conditions.hpp"
#include "measure/data_checks.hpp"
#include "measure/measure.hpp"
#include "measure/noise.hpp"
#include "measure/tally.hpp"
#include "measure/verification.hpp"
#include "mounts.hpp"
#include "output/table.hpp"
#include "platform/file.hpp"
#include <qio/context.hpp>

#include <nlohmann/json.hpp>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <thread>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using os::shell;

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

TEST_CASE("trap 6: of an overlay's file, the pages of the file below are counted") {
  mounts here;
  for (const char* each : {"lower", "upper", "work"}) fs::create_directory(here.path / each);
  if (!here.add("-t overlay none -o lowerdir=lower,upperdir=upper,workdir=work", here.path / "over"))
    QIO_SKIP("no overlay can be mounted");
  const std::string path = (here.path / "over/data").string();
  const std::string plain = (here.path / "plain").string();
  constexpr std::uint64_t bytes = 1 << 20;
  for (const std::string& each : {path, plain}) std::ofstream(each) << std::string(bytes, 'x');
  CHECK(qd1::platform::cached_pages(path, bytes) == bytes / 4096);
  ::sync();  // only what is clean can be let go
  for (const std::string& each : {path, plain}) qd1::platform::drop_cached_pages(each);
  if (qd1::platform::cached_pages(plain, bytes) != 0u) QIO_SKIP("pages of files here cannot be let go");
  CHECK(qd1::platform::cached_pages(path, bytes) == 0u);
}

// A file system on a device that is a file, which the kernel keeps in the page cache: direct for the upper one only.
struct loop_mount : mounts {
  bool ready = false;

  explicit loop_mount(const std::string& size) {
    const std::string image = (path / "image").string();
    ready = shell("truncate -s " + size + " '" + image + "' && mkfs.ext4 -q '" + image + "'") &&
            add("-o loop image", path / "loop");
  }
};

TEST_CASE("trap 3: direct on a loop device that keeps its file in memory is refuted") {
  const loop_mount here("64M");
  if (!here.ready) QIO_SKIP("no loop device can be mounted");
  // A neighbor that uses the same drive may hide it from a series, which then is not verified; but not for long.
  std::string text;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const outcome found = run_qd1(here, "run loop --file-size 16M --modes direct --ops read" + brief);
    text = unbroken(found.out);
    CHECK_THAT(text, !Contains("VERIFIED"));
    if (text.find("NOT direct") == std::string::npos)
      QIO_SKIP("the loop device reads its file directly, or nothing counts under it: " + text);
    CHECK(found.status == 4);
    CHECK_THAT(text, Contains("keeps its file in the page cache") && Contains("INVALID"));
    if (text.find("p50") == std::string::npos) break;
  }
  CHECK_THAT(text, !Contains("p50"));
}

TEST_CASE("trap 3: what is asked under a loop device decides, where it does not read its file directly") {
  qd1::verification facts;
  facts.application_operations = facts.device_operations.emplace(1'000);
  qd1::evidence found;  // not by designated initializers, whose temporary GCC 12 takes for uninitialized
  found.below = qd1::device_below{"loop0", "vda", 3};
  qd1::judge(facts, qd1::work(), found);
  CHECK(facts.result == qd1::verification::verdict::refuted);
  CHECK_THAT(facts.text, Contains("NOT direct: loop0 keeps its file in the page cache") &&
                             Contains("vda under it had 3 operations"));
  found.below = qd1::device_below{"loop0", "vda", 1'000};  // which may be a neighbor's
  found.loop_doubt = "loop0 reads its file through the page cache, so some of it may have come from there";
  qd1::judge(facts, qd1::work(), found);
  CHECK(facts.result == qd1::verification::verdict::unknown);
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

TEST_CASE("trap 6: where nothing tells which pages are in memory, cold reads are those that the device has read") {
  constexpr std::uint64_t bytes = 1'000 * 4096;
  qd1::verification facts;
  facts.application_operations = 1'000;
  qd1::work reads;
  reads.mode = qd1::mode::cached;
  reads.temperature = qd1::temperature::cold;
  const auto judged = [&](std::optional<std::uint64_t> of_device) {
    qd1::evidence found;
    found.device_bytes = of_device;
    qd1::judge(facts, reads, found);
    return facts.result;
  };
  using verdict = qd1::verification::verdict;
  CHECK(judged(bytes) == verdict::not_applicable);
  CHECK(judged(8 * bytes) == verdict::not_applicable);  // read ahead
  CHECK(judged(bytes / 2) == verdict::refuted);
  CHECK_THAT(facts.text, Contains("NOT cold: 2,048,000 bytes were read from the device, of 4,096,000"));
  CHECK(judged(std::nullopt) == verdict::refuted);
  CHECK_THAT(facts.text, Contains("counts no operations of the device"));
  facts.cached_pages_before = 0;
  CHECK(judged(std::nullopt) == verdict::not_applicable);
  reads.temperature = qd1::temperature::warm;
  facts.cached_pages_before.reset();
  CHECK(judged(0) == verdict::not_applicable);
}

TEST_CASE("traps 12 and 15: what the device does for reads of a mapping is reported, with and without read-ahead") {
  const directory here;
  const outcome found =
      run_qd1(here,
              "run --details --file-size 16M --modes mapped --ops read --reads cold --advice normal,random "
              "--json cold.json --rounds 1 --time 20s --samples 100000");
  if (found.status != 0) QIO_SKIP("cold reads are unavailable here: " + found.out);
  CHECK_THAT(unbroken(found.out), Contains("advised random") && Contains("device ops") && Contains("/ app"));
  std::map<std::string, double> device_operations;  // for each of the application's, by form and advice
  const auto report = nlohmann::json::parse(contents(here.path / "cold.json"));
  for (const auto& series : report.at("qio").at("series")) {
    const std::string kind =
        series.at("work").at("form").get<std::string>() + ' ' + series.at("work").at("advice").get<std::string>();
    const auto& counted = series.at("verification");
    if (counted.at("device_operations").is_null()) QIO_SKIP("the system counts no operations of the device here");
    device_operations[kind] =
        counted.at("device_operations").get<double>() / counted.at("application_operations").get<double>();
  }
  REQUIRE(device_operations.size() == 4);
  if (qd1::find_machine(here.path.string()).devices.front().read_ahead_kib.value_or(0) < 64)
    QIO_SKIP("the device reads nothing ahead");
  CHECK(device_operations["blocking random"] > device_operations["blocking normal"]);
  // By the handle, the kernel sees that the offsets are random, and reads no more than was asked for.
  CHECK(device_operations["asynchronous normal"] > device_operations["blocking normal"]);
}

// At depth, neighbors meet in the kernel's queue, and go to the device as one.
TEST_CASE("trap 3: transfers that were merged on their way have reached the device") {
  qd1::verification facts;
  facts.application_operations = 1'000;
  facts.device_operations = 900;
  qd1::judge(facts, qd1::work{});
  CHECK(facts.result == qd1::verification::verdict::refuted);
  facts.merged_operations = 100;
  qd1::judge(facts, qd1::work{});
  CHECK(facts.result == qd1::verification::verdict::verified);
  CHECK_THAT(facts.text, Contains("VERIFIED direct: device ops 900 + 100 merged / app 1,000"));
}

TEST_CASE("trap 15: how many operations of the device each of the application's takes is reported") {
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
  qd1::work work;
  work.operation = qd1::operation::write;
  std::array<std::byte, 4096> buffer{};
  qd1::stamps stamps(1);
  const qd1::offset_source offsets = [] { return std::uint64_t(0); };
  qd1::recorder recorder(clock, work, {static_cast<std::uint64_t>(samples), 10});
  int calls = 0;
  qd1::repeat({work, clock, offsets, buffer, stamps}, recorder, [&](std::uint64_t) -> qio::result<std::size_t> {
    transfer(calls++);
    return std::size_t(4096);
  });
  qd1::tally tally(work);
  tally.add(recorder, {});
  return tally.finished();
}

TEST_CASE("trap 14: writes that become slower as they go on are named", "[nightly]") {
  qd1::report report;
  report.series.push_back(measured_by(
      [](int call) { std::this_thread::sleep_for(std::chrono::microseconds(call < 5'000 ? 200 : 2'000)); }, 6'500));
  CHECK(report.series.front().steady == false);
  CHECK_THAT(qd1::table(report), Contains("not steady"));
}

qd1::report judged(const std::function<void(qd1::report&)>& change) {
  const qd1::data_file file({"", std::uint64_t(1) << 20, 4096, false, 1});
  qd1::report report;
  change(report);
  qd1::data_checks(file).judge(report);
  qd1::judge_conditions(report);
  return report;
}

// A control group that the process makes: of version 2 if the system has one hierarchy, else of version 1.
struct control_group {
  fs::path path;
  bool is_second = false;
  bool made = false;

  control_group(const std::string& controller, const std::string& of_first, const std::string& file_of_first,
                const std::string& file_of_second) {
    const fs::path root = "/sys/fs/cgroup";
    const std::string own = "qd1-test-" + std::to_string(::getpid());
    is_second = fs::exists(root / "cgroup.controllers");
    if (is_second) std::ofstream(root / "cgroup.subtree_control") << "+" + controller << std::flush;
    path = is_second ? root / own : root / of_first / own;
    std::error_code failed;
    if (!fs::create_directory(path, failed)) return;
    made = fs::exists(path / (is_second ? file_of_second : file_of_first));
  }
  control_group(const control_group&) = delete;
  control_group& operator=(const control_group&) = delete;
  ~control_group() {
    if (fs::exists(path) && ::rmdir(path.c_str()) != 0) WARN("a control group stays behind: " << path);
  }
};

// What it lets pass to the devices.
struct throttled_group : control_group {
  throttled_group() : control_group("io", "blkio", "blkio.throttle.write_iops_device", "io.max") {}

  // For a shell: lets so many writes a second pass to the device.
  std::string throttling(const std::string& device, int writes) const {
    const std::string number = std::to_string(writes);
    return is_second ? "echo " + device + " wiops=" + number + " >" + (path / "io.max").string()
                     : "echo " + device + " " + number + " >" + (path / "blkio.throttle.write_iops_device").string();
  }
};

// As a drive does whose fast memory is full: here a control group throttles the device.
TEST_CASE("trap 14: a device that becomes slower while it is written to is named", "[nightly]") {
  const directory here;
  const throttled_group group;
  if (!group.made) QIO_SKIP("no control group of block devices can be made (root)");
  const auto devices = qd1::find_machine(here.path.string()).devices;
  std::string number;
  if (!devices.empty()) std::ifstream("/sys/class/block/" + devices.back().name + "/dev") >> number;
  if (number.empty()) QIO_SKIP("no block device is under the current directory");
  const std::string throttle = "(sleep 2; " + group.throttling(number, 150) + ") & ";
  REQUIRE(shell(
      "sh -c '" + throttle + "echo $$ >" + (group.path / "cgroup.procs").string() + "; cd \"" + here.path.string() +
      "\"; \"" QD1_PROGRAM
      "\" run --modes direct --ops write --writes accepted --file-size 4M --time 1600ms --json slow.json >report; "
      "wait'"));
  const auto report = nlohmann::json::parse(contents(here.path / "slow.json"));
  const auto& series = report.at("qio").at("series").at(0);
  if (!series.at("not_available").get<std::string>().empty()) QIO_SKIP("no direct I/O here");
  CHECK(series.at("steady") == false);
  CHECK_THAT(unbroken(contents(here.path / "report")), Contains("not steady"));
}

TEST_CASE("trap 14: a working set that fits a cache below is named") {
  const auto series_within = [](std::uint64_t working_set, double median) {
    qd1::series made;
    made.work.working_set = working_set;
    made.latency.samples = 1'000;
    made.latency.percentiles = {{0.5, 6, qd1::estimate{median, std::nullopt}}};
    return made;
  };
  const auto text = [&](double small) {
    return unbroken(qd1::table(judged([&](qd1::report& report) {
      report.series = {series_within(1 << 20, small), series_within(1 << 30, 60'000)};
    })));
  };
  CHECK_THAT(text(12'000),
             Contains("5.0 times as fast as within 1 GiB: a working set of 1 MiB fits into a cache below"));
  CHECK_THAT(text(55'000), !Contains("cache below"));
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
  CHECK(*qd1::trusted_fraction(slow, quiet, heard) < *qd1::trusted_fraction(slow, quiet, quiet));
}

TEST_CASE("trap 18: rounds in which another program had the processor are reported, and not averaged", "[nightly]") {
  const directory here;
  REQUIRE(run_qd1(here, "run ./data --modes cached --ops read --json quiet.json" + small).status == 0);
  {
    const rival rival;
    REQUIRE(run_qd1(here, "run data --modes cached --ops read --time 1s --json busy.json").status == 0);
  }
  const auto report = nlohmann::json::parse(contents(here.path / "busy.json"));
  double waited = 0;
  for (const auto& round : report.at("qio").at("series").at(0).at("rounds")) {
    if (round.at("disturbance").at("waited").is_null()) QIO_SKIP("the system does not tell for how long threads wait");
    waited += round.at("disturbance").at("waited").get<double>() / 20;
  }
  CHECK(waited > 0.2);
  CHECK_THAT(unbroken(run_qd1(here, "compare quiet.json busy.json").out), Contains("others had the CPU in"));
}

TEST_CASE("trap 18: time that other guests took during the run is reported") {
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

TEST_CASE("trap 18: another frequency in some rounds is reported, and slowing for heat") {
  const auto noted = [](std::optional<std::uint64_t> least, std::optional<std::uint64_t> most,
                        std::uint64_t throttled) {
    return unbroken(qd1::table(judged([&](qd1::report& report) {
      qd1::series series;
      series.rounds.resize(3);
      for (qd1::round& each : series.rounds) each.disturbance.frequency_mhz = most;
      series.rounds[1].disturbance.frequency_mhz = least;
      series.rounds[2].disturbance.throttled = throttled;
      report.series.push_back(series);
    })));
  };
  CHECK_THAT(noted(2'100, 3'400, 0), Contains("ran at 2100 MHz in some rounds, and at 3400 MHz in others"));
  CHECK_THAT(noted(3'300, 3'400, 0), !Contains("MHz"));
  CHECK_THAT(noted(std::nullopt, std::nullopt, 0), !Contains("MHz") && !Contains("heat"));
  CHECK_THAT(noted(3'400, 3'400, 7), Contains("throttled for heat 7 times"));
}

const std::array each_load{"run --ops read" + small, std::string("depth --depths 2 --file-size 1M --time 100ms")};

// `what`: as without_io_uring takes it.
outcome run_without(const directory& in, const std::string& what, const std::string& arguments) {
  return run_qd1(in, "--version >version && '" QD1_WITHOUT_IO_URING "' " + what + " '" QD1_PROGRAM "' " + arguments);
}

bool has_linux_aio() { return qio::context::create({.engine = qio::engine_kind::aio}).has_value(); }

TEST_CASE("trap 19: where io_uring is forbidden the report says who served, and io_uring asked for is refused") {
  const directory here;
  const outcome served = run_without(here, "EPERM", "run --modes cached --ops read" + small);
  CHECK(served.status == 0);
  CHECK_THAT(unbroken(served.out), Contains(has_linux_aio() ? "aio" : "pool") && Contains("not io_uring: ") &&
                                       Contains("seccomp") && !Contains("not Linux AIO"));
  for (const std::string& command : each_load) {
    const outcome refused = run_without(here, "EPERM", command + " --modes cached --engine uring");
    INFO(command << refused.out);
    CHECK(refused.status == 4);
    CHECK_THAT(unbroken(refused.out), Contains("INVALID") && Contains("--engine uring was requested"));
  }
}

TEST_CASE("trap 19: where io_uring is forbidden, Linux AIO carries out direct transfers, and workers the others",
          "[nightly]") {
  if (!has_linux_aio()) QIO_SKIP("Linux AIO is unavailable here");
  const directory here;
  for (const std::string& command : each_load) {
    for (const std::string engine : {"auto", "aio"}) {
      const outcome found = run_without(
          here, "EPERM", command + " --modes direct,cached --reads cold --json report.json --engine " + engine);
      INFO(command << engine << found.out << found.err);
      CHECK(found.status == 0);
      for (const auto& each : nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series")) {
        if (each.at("work").at("form") != "asynchronous" || each.at("not_available") != "") continue;
        const auto& service = each.at("service");
        CHECK(service.at("engine") == "aio");
        CHECK((service.at("reason") == "") == (engine == "aio"));
        const bool is_direct = each.at("work").at("mode") == "direct";
        if (!is_direct || os::tells_device(here.path.string()))  // an overlay cannot tell whether a read would wait
          CHECK((service.at("by_ring") > 0) == is_direct);
      }
    }
  }
}

TEST_CASE("trap 19: where Linux AIO is forbidden, too, both reasons are given, and AIO asked for is refused",
          "[nightly]") {
  const directory here;
  const outcome served = run_without(here, "aio", "run --modes cached --ops read" + small);
  CHECK(served.status == 0);
  CHECK_THAT(unbroken(served.out),
             Contains("pool") && Contains("not io_uring: a seccomp filter") && Contains("; not Linux AIO: "));
  for (const std::string& command : each_load) {
    const outcome refused = run_without(here, "aio", command + " --modes cached --engine aio");
    INFO(command << refused.out);
    CHECK(refused.status == 4);
    CHECK_THAT(unbroken(refused.out), Contains("INVALID") && Contains("--engine aio was requested"));
    CHECK_THAT(unbroken(refused.out), Contains("not available: aio: ") && !Contains("not io_uring"));
  }
}

// A control group with so much memory.
struct memory_group : control_group {
  explicit memory_group(std::uint64_t bytes)
      : control_group("memory", "memory", "memory.limit_in_bytes", "memory.max") {
    if (made)
      made = static_cast<bool>(std::ofstream(path / (is_second ? "memory.max" : "memory.limit_in_bytes"))
                               << bytes << std::flush);
  }
};

TEST_CASE("trap 20: writes for which memory is too small are named, and that they met the limit", "[nightly]") {
  const directory here;
  const memory_group group(32 << 20);
  if (!group.made) QIO_SKIP("no control group of memory can be made (root)");
  const fs::path report = here.path / "report";
  const std::string arguments =
      GENERATE("run --details --modes cached --ops write --writes accepted --file-size 64M --rounds 1",
               "depth --modes cached --mix 0 --depths 4 --file-size 64M --rounds 1");
  INFO(arguments);
  REQUIRE(shell("sh -c 'echo $$ >" + (group.path / "cgroup.procs").string() + "; cd \"" + here.path.string() +
                "\"; \"" QD1_PROGRAM "\" " + arguments + " --time 1s >report'"));
  CHECK_THAT(unbroken(contents(report)), Contains("memory is limited to 33 554 432 bytes by a control group") &&
                                             Contains("its control group reached its memory limit"));
}

}  // namespace
