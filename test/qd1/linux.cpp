// SPDX-License-Identifier: BSL-1.0
// Files and devices that only Linux has.
#include "commands/commands.hpp"
#include "failure.hpp"
#include "platform/memory_group.hpp"
#include "platform/queue_setting.hpp"
#include "pressure/ballast.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>
#include <qd1/machine/linux/limits.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using os::shell;

// Of Linux, because the names of flags and engines differ on Windows, where no script shows it.
TEST_CASE("the manual beside the scripts is that of this qd1 (else: qd1 manual text > benchmark/qd1/manual.txt)") {
  const fs::path root = fs::path(QD1_REPORTS).parent_path().parent_path().parent_path();
  const directory here;
  CHECK(contents(root / "benchmark" / "qd1" / "manual.txt") == run_qd1(here, "manual text").out);
}

TEST_CASE("every command with --engine takes each way of Linux's engine") {
  std::vector<qd1::command> all;
  qd1::add_all_commands(all);
  std::size_t found = 0;
  for (const qd1::command& command : all)
    for (const qd1::option& each : command.options.all()) {
      if (each.name != "--engine") continue;
      ++found;
      INFO(command.name);
      CHECK(each.choices == std::vector<std::string>{"auto", "uring", "aio", "pool"});
    }
  CHECK(found == 2);
}

TEST_CASE("direct in memory is not available, the other modes are") {
  if (!fs::is_directory("/dev/shm")) QIO_SKIP("no /dev/shm");
  const directory here;
  const outcome found = run_qd1(here, "run /dev/shm" + small);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("direct: not available: ") && Contains("memory"));
  CHECK_THAT(found.out, Contains("p50"));
}

// What this process has of the machine's memory (proc(5), statm).
std::uint64_t resident_bytes() {
  std::ifstream counts("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  counts >> all >> resident;
  return resident * static_cast<std::uint64_t>(::getpagesize());
}

TEST_CASE("the machine has memory again when ballast ends, however often it was taken") {
  constexpr std::uint64_t mebibyte = std::uint64_t(1) << 20;
  const std::uint64_t before = resident_bytes();
  std::vector<std::unique_ptr<std::byte[]>> later;  // what an allocator puts after it, so that it cannot just shrink
  for (int turn = 0; turn < 3; ++turn) {
    std::uint64_t available = 160 * mebibyte;
    const qd1::ballast taken(0, [&]() -> std::optional<std::uint64_t> { return available -= 4 * mebibyte; });
    REQUIRE(taken.bytes() == 156 * mebibyte);
    CHECK(resident_bytes() >= before + 156 * mebibyte);
    later.push_back(std::make_unique<std::byte[]>(mebibyte));
  }
  CHECK(resident_bytes() < before + 32 * mebibyte);
}

// A file system on a device made of a file: of 16 MiB of data, or of a size, of holes. Needs root.
struct mounted_device {
  fs::path base;
  std::string name;

  explicit mounted_device(const directory& in, const std::string& size = {}) : base(in.path) {
    const std::string image = (base / "image").string();
    if (!shell("truncate -s " + (size.empty() ? "16M" : size) + ' ' + image + " && mkfs.ext4 -q " + image)) return;
    if (size.empty() && !shell("cp --sparse=never " + image + " " + image + ".full && mv " + image + ".full " + image))
      return;
    if (!shell("losetup -f --show --direct-io=on " + image + " | tee " + (base / "name").string() + " | grep ."))
      return;
    std::ifstream(base / "name") >> name;
    fs::create_directory(base / "mount");
    if (!shell("mount " + name + " " + (base / "mount").string())) release();
  }
  mounted_device(const mounted_device&) = delete;
  mounted_device& operator=(const mounted_device&) = delete;
  ~mounted_device() { release(); }

  void release() {
    if (name.empty()) return;
    shell("umount " + (base / "mount").string());
    shell("losetup -d " + name);
    name.clear();
  }
};

TEST_CASE("a mounted device is not written to") {
  const directory here;
  mounted_device device(here);
  if (device.name.empty()) QIO_SKIP("no loop device can be mounted");
  const outcome refused = run_qd1(here, "run " + device.name + " --overwrite" + small);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("not overwritten") && Contains("mounted"));
  const outcome reads = run_qd1(here, "run " + device.name + small);
  CHECK(reads.status == 0);
  CHECK_THAT(reads.out, Contains("reads only"));
}

TEST_CASE("block devices are measured alone and together, and what is left of their sum is reported", "[nightly]") {
  const directory here, there;
  const mounted_device first(here), second(there);
  if (first.name.empty() || second.name.empty()) QIO_SKIP("no loop devices can be mounted");
  if (!os::tells_device(here.path.string())) QIO_SKIP("it is unknown on which device the directory is (overlay)");
  const outcome found = run_qd1(here, "reproduce 20m-iops --time 100ms " + first.name + ' ' + second.name);
  INFO(found.out << found.err);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains(first.name + " alone") && Contains(second.name + " alone"));
  CHECK_THAT(unbroken(found.out), Contains("scaling efficiency") && Contains("verified for each of"));
}

std::string read_ahead_of(const std::string& device) {
  std::ifstream file("/sys/block/" + device + "/queue/read_ahead_kb");
  std::string value;
  file >> value;
  return value;
}

TEST_CASE("a setting of a device is put back, also when whoever changed it is killed") {
  const directory here;
  const mounted_device loop(here);
  if (loop.name.empty()) QIO_SKIP("no loop device can be mounted");
  const std::string device = fs::path(loop.name).filename().string();
  const std::string before = read_ahead_of(device);
  {
    const qd1::platform::queue_setting changed(device, "read_ahead_kb", "64");
    CHECK(read_ahead_of(device) == "64");
  }
  CHECK(read_ahead_of(device) == before);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const qd1::platform::queue_setting changed(device, "read_ahead_kb", "32");
      ::raise(SIGKILL);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WTERMSIG(status) == SIGKILL);
  for (int wait = 0; wait < 20'000 && read_ahead_of(device) == "32"; ++wait)  // for the keeper's turn
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(read_ahead_of(device) == before);
}

TEST_CASE("a setting that cannot be is refused, and nothing is changed") {
  const directory here;
  const mounted_device loop(here);
  if (loop.name.empty()) QIO_SKIP("no loop device can be mounted");
  const std::string device = fs::path(loop.name).filename().string();
  const std::string before = read_ahead_of(device);
  CHECK_THROWS_WITH(qd1::platform::queue_setting(device, "read_ahead_kb", "many"),
                    Contains("read_ahead_kb: many could not be set"));
  CHECK_THROWS_WITH(qd1::platform::queue_setting(device, "nothing", "1"), Contains("there is no such setting"));
  CHECK(read_ahead_of(device) == before);
}

TEST_CASE("schedulers are compared where that is allowed, and the old one is put back", "[nightly]") {
  const directory here;
  const mounted_device loop(here);
  if (loop.name.empty()) QIO_SKIP("no loop device can be mounted");
  const std::string setting = "/sys/block/" + fs::path(loop.name).filename().string() + "/queue/scheduler";
  const std::string before = contents(setting);
  if (before.find("mq-deadline") == std::string::npos) QIO_SKIP("there is no mq-deadline: " + before);
  const outcome found = run_qd1(here, "reproduce 11m-iops --allow-tuning --time 300ms " + loop.name);
  INFO(found.out << found.err);
  CHECK_THAT(found.out, Contains("scheduler none") && Contains("scheduler mq-deadline"));
  CHECK_THAT(unbroken(found.out), !Contains("with --allow-tuning"));
  CHECK_THAT(found.err, Contains("scheduler of") && Contains("is set to none meanwhile"));
  CHECK(contents(setting) == before);
  const outcome without = run_qd1(here, "reproduce 11m-iops --time 50ms " + loop.name);
  CHECK_THAT(unbroken(without.out), Contains("as root, with --allow-tuning, each is measured; by hand: echo none >"));
}

TEST_CASE("buffered reads are compared without read-ahead where that is allowed, and the old value is put back",
          "[nightly]") {
  const directory here;
  const mounted_device loop(here, "256M");  // of holes: it takes no room
  if (loop.name.empty()) QIO_SKIP("no loop device can be mounted");
  const std::string device = fs::path(loop.name).filename().string();
  const std::string before = read_ahead_of(device);
  if (before == "0") QIO_SKIP("nothing is read ahead of " + device);
  const std::string ask = "reproduce 11m-iops --time 100ms " + loop.name;
  const outcome plan = run_qd1(here, ask + " --allow-tuning --dry-run");
  CHECK_THAT(unbroken(plan.out), Contains("read_ahead_kb of " + device + " is set to 0 meanwhile"));
  const outcome found = run_qd1(here, ask + " --allow-tuning --json report.json");
  INFO(found.out << found.err);
  CHECK(read_ahead_of(device) == before);
  CHECK_THAT(unbroken(found.out), !Contains("with --allow-tuning, both"));
  if (found.out.find("memory cannot be made short") == std::string::npos) {
    CHECK_THAT(found.out, Contains("one drive, 1 MiB, buffered, read-ahead off") && Contains("4194, then 3146"));
    // On a busy machine, no read of a part may complete in its time.
    if (found.out.find("not measured") == std::string::npos)
      CHECK_THAT(unbroken(found.out), Contains("times as many bytes a second") && Contains("without read-ahead"));
    const auto report = nlohmann::json::parse(contents(here.path / "report.json")).at("qio_experiment");
    // The value that the files were opened with.
    std::size_t without = 0;
    for (const auto& part : report.at("parts"))
      if (part.at("name").get<std::string>().ends_with("memory full, read-ahead off")) {
        ++without;
        CHECK(part.at("report").at("qio").at("machine").at("devices").at(0).at("read_ahead_kib") == 0);
      }
    CHECK(without == 1);
  }
}

constexpr std::uint64_t enough = std::uint64_t(64) << 20;

// Where qd1 makes control groups of its own: in the group that this process is in, or beside that.
std::vector<fs::path> groups_of_qd1() {
  std::vector<fs::path> found;
  const auto groups = qd1::linux_system::find_memory_groups(qd1::linux_system::tree());
  for (std::size_t each = 0; each < groups.upwards.size() && each < 2; ++each)
    for (const auto& entry : fs::directory_iterator("/" / groups.upwards[each]))
      if (entry.path().filename().string().starts_with("qd1-")) found.push_back(entry.path());
  return found;
}

bool has_group_of(const std::string& process) {
  for (const fs::path& each : groups_of_qd1())
    if (each.filename().string().starts_with("qd1-" + process + '-')) return true;
  return false;
}

TEST_CASE("a control group that a killed process has left is removed") {
  const auto groups = qd1::linux_system::find_memory_groups(qd1::linux_system::tree());
  if (groups.upwards.empty()) QIO_SKIP("no control groups of memory");
  const std::string nobody = "2147483647";  // is no process: there are not so many
  std::error_code refused;
  if (!fs::create_directory("/" / groups.upwards.front() / ("qd1-" + nobody + "-0"), refused))
    QIO_SKIP("control groups cannot be made: " + refused.message());
  CHECK(has_group_of(nobody));
  try {
    const qd1::platform::memory_group next(enough);
  } catch (const qd1::usage_error&) {
    // It need not come to be.
  }
  CHECK_FALSE(has_group_of(nobody));
}

TEST_CASE("an interrupted run with short memory writes what it has, and leaves no group behind") {
  const directory here;
  const std::string process = (here.path / "process").string();
  shell(
      "cd '" + here.path.string() +
      "' && { '" QD1_PROGRAM
      "' memory --memory 64M --time 30s --json cut.json >out 2>err & echo $! >process; sleep 3; kill -INT $!; wait; }");
  const std::string number = contents(process).substr(0, contents(process).find('\n'));
  REQUIRE(!number.empty());
  CHECK_FALSE(has_group_of(number));
  if (!fs::exists(here.path / "cut.json")) QIO_SKIP(contents(here.path / "err"));
  CHECK(nlohmann::json::parse(contents(here.path / "cut.json")).at("qio").at("complete") == false);
}

TEST_CASE("in a checkout of another user the scripts say what they cannot write to") {
  if (::geteuid() != 0 || !shell("command -v setpriv >/dev/null")) QIO_SKIP("needs root and setpriv");
  const fs::path root = fs::path(QD1_REPORTS).parent_path().parent_path().parent_path();
  const fs::path here = "/tmp/qio-checkout-" + std::to_string(::getpid());  // where anybody may look
  for (const char* each : {"benchmark/run", "benchmark/qd1/manual.txt", "cmake/steps.bash", "test/run"}) {
    fs::create_directories((here / each).parent_path());
    fs::copy_file(root / each, here / each);
  }
  shell("chmod -R u=rwX,go=rX '" + here.string() + "'");
  const std::string as_nobody = "(cd / && setpriv --reuid 65534 --regid 65534 --clear-groups '" + here.string() + "/";
  for (const bool was_built : {false, true}) {
    if (was_built) fs::create_directories(here / "build/benchmark");
    for (const std::string script : {"benchmark/run", "test/run"}) {
      INFO(script);
      CHECK_FALSE(shell(as_nobody + script + "' >'" + here.string() + ".out' 2>&1)"));
      const std::string said = contents(here.string() + ".out");
      CHECK(said == script + ": cannot write to " + (was_built ? here / "build/benchmark" : here).string() +
                        ", which belongs to root: run it as that user, or in a clone of your own\n");
    }
  }
  fs::remove_all(here);
  fs::remove(here.string() + ".out");
}

TEST_CASE("the scripts go on in a fresh clone, which has no directory for builds, and in one that has built") {
  const directory here;
  const fs::path steps = fs::path(QD1_REPORTS).parent_path().parent_path().parent_path() / "cmake/steps.bash";
  const std::string clone = (here.path / "clone").string();
  for (const char* const each : {"", "/build", "/build/debug"}) {
    INFO(each);
    fs::create_directories(clone + each);
    CHECK(shell("bash -c 'set -euo pipefail; source \"$1\"; require_writable \"$2\"; echo went on >\"$2\".out' bash '" +
                steps.string() + "' '" + clone + "'"));
    CHECK(contents(clone + ".out") == "went on\n");
    fs::remove(clone + ".out");
  }
}

TEST_CASE("a filling that fails leaves no part of a file") {
  const directory here;
  // No file may be larger than 1 MiB.
  const bool refused = shell("cd '" + here.path.string() +
                             "' && trap '' XFSZ && ulimit -f 2048 && { '" QD1_PROGRAM
                             "' run ./data --file-size 4M --time 50ms 2>&1; test $? = 2; }");
  CHECK(refused);
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a reader of the output that goes away costs neither the run nor its files") {
  const directory here;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  const std::string to = std::to_string(ends[1]);
  const std::string command = "bash -c \"cd '" + here.path.string() + "' && '" + QD1_PROGRAM +
                              "' run --modes cached --ops read --file-size 1M --time 50ms --rounds 2 --repeat 1 "
                              "--progress --json kept.json --gate 'max<=1ns' >&" +
                              to + " 2>&" + to + '"';
  const int status = std::system(command.c_str());
  ::close(ends[1]);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(fs::file_size(here.path / "kept.json") > 0);
}

TEST_CASE("an output that is full costs neither the other outputs nor the gates") {
  if (!fs::exists("/dev/full")) QIO_SKIP("no /dev/full here");
  const std::string run = "run --details --modes cached --ops read --file-size 1M --time 50ms --rounds 2 --repeat 1 ";
  {
    const directory here;
    const outcome found = run_qd1(here, run + "--json /dev/full --csv kept.csv --html page.html");
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains("qd1: /dev/full: "));
    CHECK_THAT(found.out, Contains("IOPS") && Contains("page.html"));
    CHECK(fs::file_size(here.path / "kept.csv") > 0);
    CHECK(fs::file_size(here.path / "page.html") > 0);
  }
  {
    const directory here;  // a gate that is not met takes precedence
    const outcome found = run_qd1(here, run + "--html /dev/full --json kept.json --gate 'max<=1ns'");
    CHECK(found.status == 1);
    CHECK_THAT(found.err, Contains("qd1: /dev/full: "));
    CHECK_THAT(found.out, Contains("FAIL max<=1ns") && !Contains("as a page"));
    CHECK(fs::file_size(here.path / "kept.json") > 0);
  }
  {
    const directory here;  // the table itself
    const std::string command = "cd '" + here.path.string() + "' && '" + QD1_PROGRAM + "' " + run +
                                "--json kept.json --gate 'max<=1ns' >/dev/full 2>errors";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 1);
    CHECK_THAT(contents(here.path / "errors"), Contains("qd1: standard output: "));
    CHECK(fs::file_size(here.path / "kept.json") > 0);
  }
}

TEST_CASE("an output that is full is an error") {
  if (!fs::exists("/dev/full")) QIO_SKIP("no /dev/full here");
  const directory here;
  for (const char* each : {"env", "--help", "manual text", "schema report"}) {
    INFO(each);
    const std::string command =
        std::string("'") + QD1_PROGRAM + "' " + each + " >/dev/full 2>'" + (here.path / "errors").string() + "'";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 2);
    CHECK_THAT(contents(here.path / "errors"), Contains("qd1: standard output: "));
  }
}

}  // namespace
