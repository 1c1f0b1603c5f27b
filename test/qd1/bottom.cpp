// SPDX-License-Identifier: BSL-1.0
// "Direct" and "cold" mean a device: what lies at the bottom, and who had it read.
#include "machine/medium.hpp"
#include "measure/conditions.hpp"
#include "measure/data_checks.hpp"
#include "measure/verification.hpp"
#include "merge/merge.hpp"
#include "mounts.hpp"
#include "output/table.hpp"
#include "platform/file.hpp"

#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using qd1::medium;
using verdict = qd1::verification::verdict;

qd1::machine_facts machine_of(const std::string& filesystem, std::vector<qd1::device_facts> devices) {
  qd1::machine_facts machine;
  machine.filesystem.type = filesystem;
  machine.devices = std::move(devices);
  return machine;
}

qd1::device_facts device(const std::string& name, const std::string& kind, std::vector<std::string> over = {}) {
  qd1::device_facts made;
  made.name = name;
  made.kind = kind;
  made.over = std::move(over);
  return made;
}

qd1::device_facts loop_on(const std::string& filesystem, std::vector<std::string> over = {}) {
  qd1::device_facts made = device("loop0", "loop", std::move(over));
  made.backing = filesystem;
  return made;
}

TEST_CASE("trap 23: the medium is what all that lies at the bottom is known to be") {
  const auto found = [](const std::string& filesystem, std::vector<qd1::device_facts> devices) {
    return qd1::bottom_of(machine_of(filesystem, std::move(devices))).medium;
  };
  const qd1::device_facts disk = device("vda", "disk"), zram = device("zram0", "memory");
  CHECK(found("ext4", {disk}) == medium::device);
  CHECK(found("ext4", {device("vda1", "partition", {"vda"}), disk}) == medium::device);
  CHECK(found("ext4", {loop_on("ext4", {"vda"}), disk}) == medium::device);
  CHECK(found("tmpfs", {}) == medium::memory);
  CHECK(found("ext4", {zram}) == medium::memory);
  CHECK(found("ext4", {device("md0", "raid1", {"ram0", "ram1"}), device("ram0", "memory"), device("ram1", "memory")}) ==
        medium::memory);
  CHECK(found("ext4", {loop_on("tmpfs")}) == medium::memory);
  CHECK(found("ext4", {loop_on("nfs4")}) == medium::network);
  CHECK(found("ext4", {device("nbd0", "network")}) == medium::network);
  CHECK(found("ext4", {loop_on("fuse.portal")}) == medium::unknown);
  CHECK(found("ext4", {loop_on("zfs")}) == medium::unknown);
  CHECK(found("ext4", {device("loop0", "loop")}) == medium::unknown);
  CHECK(found("ext4", {device("dm-0", "mapper")}) == medium::unknown);
  CHECK(found("ext4", {device("md0", "raid1", {"vda", "zram0"}), disk, zram}) == medium::unknown);
  CHECK(found("ext4", {device("ublkb0", "virtual")}) == medium::unknown);
  CHECK(found("ext4", {device("pmem0", "persistent memory")}) == medium::unknown);
  qd1::device_facts remote = device("nvme1n1", "disk");
  remote.transport = "nvme over tcp";
  CHECK(found("ext4", {remote}) == medium::network);
  CHECK(found("fuseblk", {disk}) == medium::unknown);
  CHECK(found("zfs", {}) == medium::unknown);
  qd1::machine_facts container = machine_of("overlay", {});
  container.filesystem.upper = "tmpfs";
  CHECK(qd1::bottom_of(container).medium == medium::memory);
}

TEST_CASE("trap 23: direct is not verified, and cold is labeled, unless a device is at the bottom") {
  qd1::evidence found;
  found.bottom = qd1::bottom_of(machine_of("ext4", {device("zram0", "memory")}));
  qd1::verification facts;
  facts.application_operations = 1'000;
  facts.device_operations = 1'000;
  facts.fetched_bytes = 1'000 * 4096;
  qd1::judge(facts, qd1::work(), found);
  CHECK(facts.result == verdict::unknown);
  CHECK_THAT(facts.text, Contains("could not be verified: zram0 keeps its data in memory"));
  // What did not even get there is refuted.
  facts.fetched_bytes = 0;
  qd1::judge(facts, qd1::work(), found);
  CHECK(facts.result == verdict::refuted);
  // Of a network and of what is unknown, nothing can be said.
  found.bottom = qd1::bottom_of(machine_of("nfs4", {}));
  qd1::judge(facts, qd1::work(), found);
  CHECK(facts.result == verdict::unknown);
}

struct mounted_loop : mounts {
  fs::path where = path / "loop";
  bool ready = false;

  mounted_loop(const fs::path& images, const std::string& filesystem_of_images) {
    const std::string image = (path / images / "image").string();
    if (!filesystem_of_images.empty() && !add("-t " + filesystem_of_images + " none", path / images)) return;
    ready = os::shell("truncate -s 64M '" + image + "' && mkfs.ext4 -q '" + image + "'") &&
            add("-o loop '" + image + "'", where);
  }
  // Reads its file directly from here on, if the kernel can.
  bool reads_directly() const {
    return os::shell("losetup --direct-io=on \"$(findmnt -no SOURCE '" + where.string() + "')\"");
  }
};

TEST_CASE("trap 23: a loop device over a file in memory is never verified", "[nightly]") {
  const mounted_loop here("memory", "tmpfs");
  if (!here.ready) QIO_SKIP("no loop device can be mounted over tmpfs");
  if (GENERATE(false, true) && !here.reads_directly()) QIO_SKIP("loop devices do not read tmpfs directly here");
  const outcome found = run_qd1(here, "run loop --file-size 16M --modes direct,cached --reads warm,cold" + brief);
  const std::string text = unbroken(found.out);
  CHECK_THAT(text, Contains("direct could not be verified: loop") && Contains("tmpfs keeps its files in memory") &&
                       !Contains("VERIFIED direct"));
  CHECK_THAT(text, Contains("with direct not verified") && Contains("cold for the page cache of this file only: loop"));
  CHECK_THAT(text, Contains("severe: the data lie in memory"));
}

TEST_CASE("trap 6: cold reads through a loop device that keeps its file in the page cache are labeled") {
  const mounted_loop here(fs::path("."), "");
  if (!here.ready) QIO_SKIP("no loop device can be mounted");
  if (!os::tells_device(here.path.string())) QIO_SKIP("it is unknown on which device the directory is (overlay)");
  const auto cold = [&] {
    return unbroken(run_qd1(here, "run loop --file-size 16M --modes cached --ops read --reads cold" + brief).out);
  };
  CHECK_THAT(cold(), Contains("cold for the page cache of this file only: loop"));
  if (!here.reads_directly()) QIO_SKIP("loop devices do not read the file here directly");
  CHECK_THAT(cold(), !Contains("cold for the page cache of this file only"));
}

// A file system on a block device that keeps its data, compressed, in memory.
struct mounted_zram : mounts {
  std::string name;
  bool ready = false;

  mounted_zram() {
    const std::string number = (path / "number").string();
    if (!os::shell("{ cat /sys/class/zram-control/hot_add >'" + number + "'; }")) return;
    name = "zram" + unbroken(contents(number));
    name.erase(name.find_last_not_of(' ') + 1);
    ready = os::shell("echo 128M >/sys/block/" + name + "/disksize && mkfs.ext4 -q /dev/" + name) &&
            add("/dev/" + name, path / "zram");
  }
  ~mounted_zram() {
    unmount();
    if (!name.empty()) os::shell("{ echo " + name.substr(4) + " >/sys/class/zram-control/hot_remove; }");
  }
};

TEST_CASE("traps 6 and 23: on zram, direct is never verified and cold is labeled") {
  const mounted_zram here;
  if (!here.ready) QIO_SKIP("no zram device can be made and mounted");
  const outcome found = run_qd1(here, "run zram --file-size 16M --modes direct,cached --reads warm,cold" + brief);
  const std::string text = unbroken(found.out);
  CHECK_THAT(text, Contains("direct could not be verified: " + here.name + " keeps its data in memory") &&
                       !Contains("VERIFIED direct"));
  CHECK_THAT(text, Contains("cold for the page cache of this file only: " + here.name + " keeps its data in memory"));
  CHECK_THAT(text, Contains("severe: the data lie in memory"));
}

TEST_CASE("trap 6: cold reads from a program that serves files (FUSE) are labeled") {
  const directory here;
  const std::string lower = (here.path / "lower").string(), mounted = (here.path / "mounted").string();
  fs::create_directory(lower);
  fs::create_directory(mounted);
  if (!os::shell("bindfs '" + lower + "' '" + mounted + "'")) QIO_SKIP("bindfs cannot mount");
  const std::string text =
      unbroken(run_qd1(here, "run mounted --file-size 1M --modes cached --ops read --reads cold" + brief).out);
  os::shell("umount '" + mounted + "'");
  CHECK_THAT(text, Contains("cold for the page cache of this file only: a program serves fuse"));
}

// Not by designated initializers, whose temporary GCC 12 takes for uninitialized.
qd1::evidence of_sda(std::uint64_t bytes) {
  qd1::evidence found;
  found.devices = {"sda"};
  found.device_bytes = bytes;
  return found;
}

TEST_CASE("trap 24: direct reads are verified by what this process had read, not by the device's counters") {
  qd1::verification facts;
  facts.application_operations = 1'000;
  const std::uint64_t bytes = 1'000 * 4096;
  const auto judged = [&](std::uint64_t fetched, std::uint64_t operations, std::uint64_t of_device) {
    facts.fetched_bytes = fetched;
    facts.device_operations = operations;
    qd1::judge(facts, qd1::work(), of_sda(of_device));
    return facts.result;
  };
  CHECK(judged(bytes, 1'000, bytes) == verdict::verified);
  // A neighbor's reads do not stand in for those that were served from memory …
  CHECK(judged(0, 10'500, 10 * bytes) == verdict::refuted);
  CHECK_THAT(facts.text,
             Contains("NOT direct: 0 bytes were read from devices for this process, of 4,096,000 requested"));
  CHECK(judged(bytes * 98 / 100, 10'500, 10 * bytes) == verdict::refuted);
  // … nor do they make those doubtful that were not.
  CHECK(judged(bytes, 10'500, 10 * bytes) == verdict::verified);
  CHECK_THAT(facts.text, Contains("(10.5 for each: including others' operations)"));
  CHECK(judged(bytes, 2'000, bytes) == verdict::verified);
  CHECK_THAT(facts.text, Contains("(2 for each: split)"));
  // A counter that is not kept is not zero operations.
  CHECK(judged(bytes, 0, 0) == verdict::verified);
  // More than was asked for: some of it may have been read ahead, and the rest served from memory.
  CHECK(judged(2 * bytes, 1'000, 2 * bytes) == verdict::unknown);
  CHECK_THAT(facts.text, Contains("8,192,000 bytes were read from devices for this process, more than the 4,096,000"));
}

TEST_CASE("trap 24: reads that io_uring hands to kernel threads are doubted, not refuted") {
  qd1::verification facts;
  facts.application_operations = 1'000;
  facts.device_operations = 1'000;
  facts.fetched_bytes = 100 * 4096;
  qd1::work work;
  qd1::judge(facts, work);
  CHECK(facts.result == verdict::refuted);
  work.form = qd1::form::asynchronous;
  qd1::judge(facts, work);
  CHECK(facts.result == verdict::unknown);
  CHECK_THAT(facts.text, Contains("or by kernel threads"));
  facts.device_operations = 10;
  qd1::judge(facts, work);
  CHECK(facts.result == verdict::refuted);
}

TEST_CASE("trap 24: what is known of one file on a device counts for the others there") {
  qd1::evidence of_first, of_second;
  of_second.is_shared = true;
  of_second.device_bytes = 4096;
  of_first.add_file(of_second);
  CHECK(of_first.is_shared);
  CHECK_FALSE(of_first.device_bytes);
}

TEST_CASE("trap 24: direct writes are verified only if the device was not used by others") {
  qd1::verification facts;
  facts.application_operations = 1'000;
  qd1::work writes;
  writes.operation = qd1::operation::write;
  const std::uint64_t bytes = 1'000 * 4096;
  const auto judged = [&](std::uint64_t operations, std::uint64_t of_device) {
    facts.device_operations = operations;
    qd1::judge(facts, writes, of_sda(of_device));
    return facts.result;
  };
  CHECK(judged(1'000, bytes) == verdict::verified);
  CHECK(judged(1'010, bytes + 64 * 1024) == verdict::verified);  // the file system's own
  CHECK(judged(500, bytes / 2) == verdict::refuted);
  CHECK(judged(10'500, 10 * bytes) == verdict::unknown);
  CHECK_THAT(facts.text,
             Contains("could not be verified: other I/O on sda, or the file system's own: written 40,960,000 bytes for "
                      "4,096,000"));
}

// A file of whole blocks, of which none is in the page cache.
std::string file_in(const directory& here, std::uint64_t bytes) {
  const std::string path = (here.path / "data").string();
  std::ofstream(path) << std::string(bytes, 'x') << std::flush;
  REQUIRE(os::shell("sync '" + path + "'"));
  qd1::platform::drop_cached_pages(path);
  return path;
}

TEST_CASE("trap 24: pages that another process brings into the page cache are not attributed to qd1") {
  const directory here;
  constexpr std::uint64_t bytes = 1 << 20;
  const std::string path = file_in(here, bytes);
  if (qd1::platform::cached_pages(path, bytes) != 0u) QIO_SKIP("pages of files here cannot be let go");
  const qd1::machine_facts machine;
  const auto text_after = [&](bool other_holds_it) {
    qd1::platform::drop_cached_pages(path);
    const qd1::witness witness(machine, path, bytes);
    const std::string holder = other_holds_it ? "exec 9<'" + path + "'; cat <&9 >/dev/null; sleep 60 & echo $!"
                                              : "cat '" + path + "' >/dev/null; sleep 0 & echo $!";
    const std::string number = (here.path / "number").string();
    REQUIRE(os::shell("{ { " + holder + "; } >'" + number + "' 2>/dev/null </dev/null; }"));
    qd1::testimony told = witness.testify(qd1::work{}, 10, 1, 0);
    if (other_holds_it) os::shell("kill " + contents(number));
    told.verification.fetched_bytes = 10 * 4096;
    told.evidence.bottom = {};
    qd1::judge(told.verification, qd1::work{}, told.evidence);
    return told.verification.text;
  };
  CHECK_THAT(text_after(false), Contains("NOT direct: transfers have filled the page cache"));
  CHECK_THAT(text_after(true), Contains("could not be verified: another process has the file open"));
}

TEST_CASE("reports that verified nothing verify nothing when merged") {
  const auto unverified = [](const char* run) {
    qd1::report made;
    made.runs = {run};
    qd1::series& one = made.series.emplace_back();
    one.latency.samples = 10;
    one.latency.bins = {{50'000, 10}};
    one.seconds = one.iops = 1;
    one.verification.result = verdict::unknown;
    one.verification.text = "direct could not be verified: zram0 keeps its data in memory";
    one.verification.application_operations = 10;
    one.verification.device_operations = 10;
    return made;
  };
  const qd1::report both = qd1::merged({{"a", unverified("1")}, {"b", unverified("2")}});
  REQUIRE(both.series.size() == 1);
  CHECK(both.series[0].verification.result == verdict::unknown);
  CHECK_THAT(both.series[0].verification.text, Contains("zram0 keeps its data in memory"));
}

TEST_CASE("trap 6: cold reads that needed no device are named") {
  const auto noted = [](std::uint64_t fetched) {
    qd1::report report;
    report.machine = machine_of("ext4", {device("vda", "disk")});
    qd1::series& cold = report.series.emplace_back();
    cold.work.mode = qd1::mode::cached;
    cold.work.temperature = qd1::temperature::cold;
    cold.work.working_set = 1 << 30;
    cold.latency.samples = 1'000;
    cold.verification.application_operations = 1'000;
    cold.verification.fetched_bytes = fetched;
    qd1::judge_conditions(report);
    std::string all;
    for (const std::string& each : cold.notes) all += each;
    return all;
  };
  CHECK(noted(1'000 * 4096).empty());
  CHECK(noted(5'000 * 4096).empty());  // read ahead
  CHECK_THAT(noted(500 * 4096),
             Contains("not everything was cold: 2 048 000 bytes were read from devices, of 4 096 000"));
}

TEST_CASE("trap 38: warm reads that needed the device are named") {
  const auto noted = [](std::uint64_t fetched, const qd1::work& of) {
    qd1::report report;
    qd1::series& warm = report.series.emplace_back();
    warm.work = of;
    warm.work.working_set = 1 << 30;
    warm.latency.samples = 10'000;
    warm.verification.application_operations = 10'000;
    warm.verification.fetched_bytes = fetched;
    qd1::judge_conditions(report);
    return warm.notes.empty() ? std::string() : warm.notes.front();
  };
  qd1::work cached;
  cached.mode = qd1::mode::cached;
  CHECK(noted(0, cached).empty());
  CHECK(noted(10'000 * 4096 / 100, cached).empty());
  CHECK(noted(10'000 * 4096 / 100 + 256 * 1024, cached).empty());  // of files that are opened meanwhile
  CHECK_THAT(noted(2'000 * 4096, cached), Contains("NOT WARM: 8 192 000 bytes were read from devices, 20 %"));
  qd1::work other = cached;
  other.mode = qd1::mode::mapped;
  CHECK_THAT(noted(2'000 * 4096, other), Contains("NOT WARM"));
  other.mode = qd1::mode::direct;
  CHECK(noted(10'000 * 4096, other).empty());
  other = cached;
  other.operation = qd1::operation::write;
  CHECK(noted(2'000 * 4096, other).empty());
  other = cached;
  other.memory = 64 << 20;  // short on purpose
  CHECK(noted(2'000 * 4096, other).empty());
}

TEST_CASE("trap 34: a working set of less than a page is named") {
  const directory here;
  const outcome found = run_qd1(here, "run --file-size 512 --block 512 --modes cached --ops read --reads warm" + brief);
  CHECK(found.status == 0);
  CHECK_THAT(unbroken(found.out), Contains("a working set of 512 bytes is less than a page"));
}

qd1::report checked(const qd1::data_file& file, const std::function<void()>& meanwhile) {
  const qd1::data_checks data(file);
  meanwhile();
  qd1::report report;
  report.series.emplace_back();
  data.judge(report);
  return report;
}

std::string notes_of(const qd1::report& report) {
  std::string all;
  for (const std::string& each : report.notes) all += each + '\n';
  return all;
}

TEST_CASE("trap 34: a file that somebody writes to while it is only read is named") {
  const directory here;
  const std::string path = file_in(here, 64 * 1024);
  const qd1::data_file file({path, {}, 4096, false, 1});
  CHECK_THAT(notes_of(checked(file, [] {})), !Contains("another process wrote to the file"));
  CHECK_THAT(notes_of(checked(file,
                              [&] {
                                std::ofstream(path, std::ios::app) << 'x';
                                fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
                              })),
             Contains("another process wrote to the file during the run"));
}

TEST_CASE("trap 34: blocks that are punched out of a file and filled again meanwhile are named") {
  const directory here;
  const std::string path = file_in(here, 256 * 1024);
  const std::string quoted = "'" + path + "'";
  if (!os::shell("fallocate --punch-hole --offset 0 --length 64K " + quoted)) QIO_SKIP("no holes can be punched here");
  const std::string refill = "dd if=/dev/urandom of=" + quoted + " bs=64K count=1 conv=notrunc,fsync 2>/dev/null";
  REQUIRE(os::shell(refill));
  const qd1::data_file file({path, {}, 4096, false, 1});
  const auto punch = [&] {
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));  // so that the clock's steps show it
    return os::shell("fallocate --punch-hole --offset 0 --length 64K " + quoted);
  };
  REQUIRE(qd1::platform::bytes_without_data(path, file.bytes()) == 0u);
  const auto left_empty = checked(file, [&] { REQUIRE(punch()); });
  CHECK_THAT(left_empty.series[0].invalid.at(0), Contains("65 536 of 262 144 bytes are holes or were never written"));
  CHECK_THAT(notes_of(left_empty), Contains("another process wrote to the file during the run"));
  const auto refilled = checked(file, [&] { REQUIRE((punch() && os::shell(refill))); });
  CHECK(refilled.series[0].invalid.empty());
  CHECK_THAT(notes_of(refilled), Contains("another process wrote to the file during the run"));
}

TEST_CASE("trap 34: a file that is truncated while it is measured makes the run invalid") {
  const directory here;
  file_in(here, 4 << 20);
  // As soon as the first round ends: its results are printed then. There are 999 more, of six series.
  const std::string script =
      "cd '" + here.path.string() + "' && { '" + QD1_PROGRAM +
      "' run ./data --details --ops read --modes direct,cached,mapped --time 60s --samples 1000000000 "
      "--rounds 1000 --progress >out 2>err & "
      "while kill -0 $! && ! grep -q 'after 1 of' err; do sleep 0.02; done; "
      "truncate -s 4096 data; wait $!; echo $? >status; }";
  REQUIRE(os::shell(script + " 2>/dev/null"));
  const std::string text = unbroken(contents(here.path / "out"));
  INFO(text << contents(here.path / "err"));
  CHECK(contents(here.path / "status") == "4\n");
  CHECK_THAT(text,
             Contains("INVALID: cached read, blocking, 4 MiB: the file was truncated during the run, from 4 194 304 "
                      "bytes to 4 096") &&
                 Contains("INVALID: mapped read, blocking") && !Contains("p50 "));
}

TEST_CASE("trap 34: data that repeat are named") {
  const directory here;
  const auto notes = [&](std::size_t different) {
    std::minstd_rand random(7);
    std::vector<std::string> blocks(different);
    for (std::string& each : blocks)
      for (int at = 0; at < 4096; ++at) each += static_cast<char>(random());
    {
      std::ofstream file(here.path / "data", std::ios::binary);
      for (std::size_t each = 0; each < 256; ++each) file << blocks[each % different];
    }
    return notes_of(checked(qd1::data_file({(here.path / "data").string(), {}, 4096, false, 1}), [] {}));
  };
  CHECK_THAT(notes(1), Contains("of 64 sampled blocks of the file repeat another"));
  CHECK_THAT(notes(256), !Contains("repeat another"));
}

TEST_CASE("trap 34: blocks that a file shares with another are counted") {
  mounts here;
  const std::string image = (here.path / "image").string();
  if (!os::shell("truncate -s 400M '" + image + "' && mkfs.xfs -q -m reflink=1 '" + image + "'") ||
      !here.add("-o loop image", here.path / "xfs"))
    QIO_SKIP("no XFS can be mounted");
  const std::string path = (here.path / "xfs/data").string();
  std::ofstream(path) << std::string(64 * 1024, 'x') << std::flush;
  CHECK(qd1::platform::shared_bytes(path, 64 * 1024) == 0u);
  REQUIRE(os::shell("cp --reflink=always '" + path + "' '" + path + ".copy'"));
  CHECK(qd1::platform::shared_bytes(path, 64 * 1024) == 64u * 1024);

  // Writing ends it: what counts is what was shared before.
  qd1::platform::mark_as_made_by_qd1(path);
  const qd1::data_file file({path, {}, 4096, false, 1});
  const qd1::data_checks data(file);
  REQUIRE(os::shell("dd if=/dev/urandom of='" + path + "' bs=64K count=1 conv=notrunc,fsync"));
  REQUIRE(qd1::platform::shared_bytes(path, 64 * 1024) == 0u);
  qd1::report report;
  report.series.emplace_back().work.operation = qd1::operation::write;
  data.judge(report);
  CHECK_THAT(notes_of(report), Contains("65 536 of 65 536 bytes of the file share their blocks"));
}

}  // namespace
