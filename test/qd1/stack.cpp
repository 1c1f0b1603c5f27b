// SPDX-License-Identifier: BSL-1.0
// What lies between a file and the device is followed down, each time: loop devices and what is behind them, flushes.
#include "machine/find.hpp"
#include "measure/verification.hpp"
#include "mounts.hpp"
#include "platform/file.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using os::shell;
using verdict = qd1::verification::verdict;

constexpr std::uint64_t bytes = 4 << 20;

// A loop device over a file; it does not use the page cache where the kernel can avoid it.
struct loop_device {
  std::string name;  // empty if none could be set up

  explicit loop_device(const fs::path& image) {
    const fs::path told = image.string() + ".device";
    if (::geteuid() != 0 ||
        !shell("losetup -f --show --direct-io=on '" + image.string() + "' | tee '" + told.string() + "' | grep ."))
      return;
    std::ifstream(told) >> name;
  }
  loop_device(const loop_device&) = delete;
  loop_device& operator=(const loop_device&) = delete;
  ~loop_device() {
    if (!name.empty()) shell("losetup -d " + name);
  }
  bool is_direct() const { return contents("/sys/block/" + name.substr(5) + "/loop/dio") == "1\n"; }
};

bool has_known_device(const directory& here) {
  return qd1::bottom_of(qd1::find_machine(here.path.string())).medium == qd1::medium::device;
}

void write_data(const fs::path& path) {
  REQUIRE(shell("head -c 4M /dev/urandom >'" + path.string() + "' && sync '" + path.string() + "'"));
  qd1::platform::drop_cached_pages(path.string());
}

// As qd1 judges reads of all of a file of which each was fetched for this process.
qd1::verification judged(qd1::testimony seen, const qd1::work& of = {}) {
  seen.verification.fetched_bytes = seen.verification.application_operations * of.block;
  seen.verification.cached_pages_after = seen.verification.cached_pages_before;
  qd1::judge(seen.verification, of, seen.evidence);
  return seen.verification;
}

std::string direct_reads(const directory& here, const std::string& of) {
  return unbroken(run_qd1(here, "run " + of + " --modes direct --ops read" + brief).out);
}

TEST_CASE("direct reads are not verified where the file behind a loop device has holes or unwritten blocks") {
  const directory here;
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  const fs::path image = here.path / "image";
  write_data(image);
  {
    const loop_device loop(image);
    if (loop.name.empty() || !loop.is_direct()) QIO_SKIP("no loop device reads the file here directly");
  }
  const auto text = [&] { return direct_reads(here, loop_device(image).name); };
  CHECK_THAT(text(), Contains("VERIFIED direct"));
  REQUIRE(shell("fallocate --punch-hole --offset 1M --length 64K '" + image.string() + "'"));
  CHECK_THAT(text(), Contains("could not be verified: 65,536 bytes lie in holes") && !Contains("VERIFIED direct"));
  fs::remove(image);
  REQUIRE(shell("fallocate --length 4M '" + image.string() + "'"));
  CHECK_THAT(text(), Contains("could not be verified: 4,194,304 bytes lie in holes") && !Contains("VERIFIED direct"));
}

TEST_CASE("only the part of a sparse image counts that the measured file lies in") {
  mounts here;
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  const std::string image = (here.path / "image").string();
  if (!shell("truncate -s 64M '" + image + "' && mkfs.ext4 -q '" + image + "'")) QIO_SKIP("mkfs.ext4 is not installed");
  const loop_device loop(image);
  if (loop.name.empty() || !loop.is_direct()) QIO_SKIP("no loop device reads the file here directly");
  if (!here.add(loop.name, here.path / "loop")) QIO_SKIP("no loop device can be mounted");
  CHECK_THAT(unbroken(run_qd1(here, "run loop --modes direct --ops read --file-size 4M" + brief).out),
             Contains("VERIFIED direct"));
  here.unmount();
}

TEST_CASE("direct reads are not verified where the file behind a loop device is compressed") {
  mounts here;
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  const fs::path image = here.path / "image", inner = here.path / "btrfs/inner";
  if (!shell("truncate -s 128M '" + image.string() + "' && mkfs.btrfs -q '" + image.string() + "'"))
    QIO_SKIP("mkfs.btrfs is not installed");
  const loop_device outer(image);
  if (outer.name.empty() || !here.add("-o compress-force=zstd " + outer.name, here.path / "btrfs"))
    QIO_SKIP("no btrfs can be mounted");
  REQUIRE(shell("yes | head -c 4M >'" + inner.string() + "' && sync -f '" + inner.string() + "'"));
  {
    const loop_device loop(inner);
    if (loop.name.empty()) QIO_SKIP("no loop device can be set up");
    CHECK_THAT(direct_reads(here, loop.name), !Contains("VERIFIED direct"));
    const qd1::machine_facts machine = qd1::find_machine(loop.name);
    const qd1::witness witness(machine, loop.name, bytes);
    const std::string why = witness.testify(qd1::work(), 100, 1, 0).evidence.loop_doubt;
    CHECK_THAT(why, Contains(loop.is_direct() ? "are compressed or packed" : "through the page cache"));
  }
  here.unmount();
}

TEST_CASE("direct reads are not verified where a loop device changes to the page cache during the run") {
  const directory here;
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  const fs::path image = here.path / "image";
  write_data(image);
  const loop_device loop(image);
  if (loop.name.empty() || !loop.is_direct()) QIO_SKIP("no loop device reads the file here directly");
  const qd1::machine_facts machine = qd1::find_machine(loop.name);
  const auto after = [&](const char* meanwhile) {
    const qd1::witness witness(machine, loop.name, bytes);
    if (*meanwhile != '\0') REQUIRE(shell(std::string("losetup --direct-io=") + meanwhile + ' ' + loop.name));
    return judged(witness.testify(qd1::work(), 1'000, 1, 0));
  };
  CHECK(after("").result == verdict::verified);
  const qd1::verification found = after("off");
  CHECK(found.result == verdict::unknown);
  CHECK_THAT(found.text, Contains("reads its file through the page cache"));
  CHECK(after("on").result == verdict::unknown);
  CHECK(after("").result == verdict::verified);
}

TEST_CASE("direct reads are not verified where pages of the file behind a loop device come into the page cache") {
  const directory here;
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  const fs::path image = here.path / "image";
  write_data(image);
  const loop_device loop(image);
  if (loop.name.empty() || !loop.is_direct()) QIO_SKIP("no loop device reads the file here directly");
  const qd1::machine_facts machine = qd1::find_machine(loop.name);
  const qd1::witness witness(machine, loop.name, bytes);
  (void)contents(image);
  const qd1::verification found = judged(witness.testify(qd1::work(), 1'000, 1, 0));
  CHECK(found.result == verdict::unknown);
  CHECK_THAT(found.text, Contains("came into the page cache"));
}

TEST_CASE("a loop device that uses the page cache is not verified by operations that a neighbor may have made") {
  const directory here;
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  const fs::path image = here.path / "image";
  write_data(image);
  const loop_device loop(image);
  if (loop.name.empty()) QIO_SKIP("no loop device can be set up");
  REQUIRE(shell("losetup --direct-io=off " + loop.name));
  const qd1::machine_facts machine = qd1::find_machine(loop.name);
  const qd1::witness witness(machine, loop.name, bytes);
  qd1::testimony seen = witness.testify(qd1::work(), 1'000, 1, 0);
  if (!seen.evidence.below) QIO_SKIP("nothing counts under the loop device");
  seen.evidence.below->operations = 1'000'000;  // of a neighbor
  const qd1::verification found = judged(std::move(seen));
  CHECK(found.result == verdict::unknown);
  CHECK_THAT(found.text, Contains("reads its file through the page cache"));
}

TEST_CASE("flushed writes are verified durable only by flushes of a device that needs them") {
  qd1::work flushed;
  flushed.operation = qd1::operation::write;
  flushed.durability = qd1::durability::flushed;
  qd1::verification facts;
  facts.application_operations = 1'000;
  qd1::evidence found;
  const auto doubt = [&](std::uint64_t flushes) {
    found.flushes = qd1::flush_count{"sda", flushes};
    facts.text.clear();
    return qd1::judge_flushes(facts, flushed, found);
  };
  CHECK(doubt(1'000).empty());
  CHECK_THAT(facts.text, Contains("VERIFIED durable: sda completed 1,000 flushes for 1,000 flushed writes"));
  CHECK_THAT(doubt(3), Contains("durable could not be verified: sda completed 3 flushes for 1,000 flushed writes"));
  CHECK(facts.text.empty());
  found.bottom = {qd1::medium::memory, "zram0 keeps its data in memory"};
  CHECK_THAT(doubt(1'000), Contains("durable could not be verified: zram0 keeps its data in memory"));
  found.bottom = {};
  found.flushes.reset();
  CHECK_THAT(qd1::judge_flushes(facts, flushed, found), Contains("no flushes are counted"));
  CHECK(qd1::judge_flushes(facts, qd1::work(), found).empty());
}

TEST_CASE("flushed writes to a disk say how many flushes it has completed") {
  const directory here;
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  const std::string text =
      unbroken(run_qd1(here, "run --details --modes direct --ops write --writes flushed --file-size 1M" + brief).out);
  CHECK_THAT(text, Contains("VERIFIED durable: ") || Contains("durable could not be verified: "));
}

TEST_CASE("flushes count of devices with a volatile cache only") {
  const directory here;
  qd1::machine_facts machine = qd1::find_machine(here.path.string());
  if (!has_known_device(here) || machine.devices.empty()) QIO_SKIP("the device under the directory is unknown");
  const auto counted = [&](const std::string& write_cache) {
    for (qd1::device_facts& each : machine.devices) each.write_cache = write_cache;
    const qd1::witness witness(machine, here.path.string(), bytes);
    return witness.testify(qd1::work(), 1, 1, 0).evidence.flushes;
  };
  if (!counted("write back")) QIO_SKIP("the system does not count flushes");
  CHECK_FALSE(counted("write through"));
}

TEST_CASE("a file in a lower layer of an overlay lies where that layer does") {
  mounts here;
  for (const char* each : {"lower", "memory", "over"}) fs::create_directory(here.path / each);
  std::ofstream(here.path / "lower/data") << std::string(1 << 20, 'd') << std::flush;
  if (!here.add("-t tmpfs none", here.path / "memory")) QIO_SKIP("tmpfs cannot be mounted");
  for (const char* each : {"upper", "work"}) fs::create_directory(here.path / "memory" / each);
  const std::string at = here.path.string();
  if (!here.add("-t overlay none -o lowerdir=" + at + "/lower,upperdir=" + at + "/memory/upper,workdir=" + at +
                    "/memory/work",
                here.path / "over"))
    QIO_SKIP("no overlay can be mounted");
  const std::string file = at + "/over/data";
  const auto bottom = [&] { return qd1::bottom_of(qd1::find_machine(file)); };
  if (!has_known_device(here)) QIO_SKIP("the device under the directory is unknown");
  CHECK(bottom().medium == qd1::medium::device);
  CHECK(qd1::bottom_of(qd1::find_machine(at + "/over")).medium == qd1::medium::memory);  // of what is written there
  std::ofstream(file, std::ios::app) << 'x';
  CHECK(bottom().medium == qd1::medium::memory);
}

TEST_CASE("the niceness of qd1 is named") {
  const directory here;
  REQUIRE(shell("(cd '" + here.path.string() + "' && nice -n 7 '" QD1_PROGRAM "' env >out)"));
  if (::nice(0) != 0) QIO_SKIP("this process is nice already");
  CHECK_THAT(contents(here.path / "out"), Contains("this process runs with nice 7"));
  CHECK_THAT(run_qd1(here, "env").out, !Contains("this process runs with nice"));
}

}  // namespace
