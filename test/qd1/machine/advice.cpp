// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "machines.hpp"

#include <qd1/machine/advice.hpp>

#include <algorithm>
#include <functional>

using qd1::advise;
using qd1::machine_facts;
using qd1::recommendation;
using qd1::severity;
using qd1_test::fake_tree;
using qio_test::Contains;

namespace {

const recommendation* find(const std::vector<recommendation>& all, const std::string& part) {
  const auto found = std::ranges::find_if(
      all, [&](const recommendation& each) { return each.finding.find(part) != std::string::npos; });
  return found == all.end() ? nullptr : &*found;
}

// A drive with nothing to say against.
machine_facts good_machine() {
  machine_facts machine;
  machine.host.cpu.governor = "performance";
  machine.host.cpu.threads = 8;
  machine.host.cpu.load_average = 0.1;
  machine.host.cpu.idle_states = {{"POLL", 0, false}, {"C1", 2, false}, {"C6", 170, true}};
  machine.host.clock = {"tsc", {"tsc"}, true};
  machine.host.memory.total_bytes = 1000;
  machine.host.memory.available_bytes = 900;
  machine.host.memory.dirty_bytes = 0;
  machine.host.memory.dirty_background_limit_bytes = 100;
  machine.filesystem.type = "xfs";
  machine.filesystem.direct.possible = true;
  qd1::device_facts drive;
  drive.name = "nvme0n1";
  drive.kind = "disk";
  drive.transport = "nvme";
  drive.rotational = false;
  drive.scheduler = "none";
  drive.read_ahead_kib = 128;
  drive.write_cache = "write through";
  drive.write_throttle_us = 0;
  drive.polling = true;
  drive.counts_operations = true;
  drive.temperature_c = 40;
  drive.physical_block_bytes = 4096;
  machine.devices = {drive};
  return machine;
}

void check_single(const machine_facts& machine, severity expected, const std::string& finding, const char* command) {
  const auto all = advise(machine);
  INFO(finding);
  REQUIRE(all.size() == 1);
  CHECK(all[0].severity == expected);
  CHECK(all[0].finding == finding);
  CHECK(all[0].why.ends_with('.'));
  CHECK(all[0].command.value_or("") == command);
}

}  // namespace

TEST_CASE("a good machine gets no advice") {
  CHECK(advise(good_machine()).empty());
  CHECK(advise(machine_facts{}).size() == 1);  // only that nothing is known of the device
}

TEST_CASE("each setting of the processor is pointed out with its command") {
  machine_facts machine = good_machine();
  machine.host.cpu.current = 3;
  machine.host.cpu.governor = "powersave";
  check_single(machine, severity::warning, "the governor of CPU 3 is powersave",
               "cpupower frequency-set -g performance");

  machine = good_machine();
  machine.host.cpu.idle_states[2].disabled = false;
  check_single(machine, severity::warning, "the processor may sleep as deep as C6 (170 µs to wake)",
               "cpupower idle-set -D 10");

  machine = good_machine();
  machine.host.clock = {"hpet", {"tsc", "hpet"}, true};
  check_single(machine, severity::severe, "the clock source is hpet",
               "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource");
  machine.host.clock.available = {"hpet"};
  check_single(machine, severity::severe, "the clock source is hpet", "");

  machine = good_machine();
  machine.host.virtualization.steal_percent = 2.5;
  check_single(machine, severity::warning, "other guests took 2.50 % of the processor time since the start", "");

  machine = good_machine();
  machine.host.cpu.load_average = 4;
  check_single(machine, severity::warning, "4.0 threads ran or waited over the last minute, for 8 CPUs", "");
}

TEST_CASE("a run that may move between kinds of cores is a warning, with the command that keeps it on one") {
  machine_facts machine = good_machine();
  machine.host.kernel = "Linux 6.12";
  machine.host.cpu.core_kinds = {"0-7", "8-15"};
  machine.host.cpu.core_kinds_allowed = 1;
  CHECK(advise(machine).empty());
  machine.host.cpu.core_kinds_allowed = 2;
  const std::string finding = "the cores are of 2 kinds: threads 0-7 are faster than 8-15";
  check_single(machine, severity::warning, finding, "taskset --cpu-list 0-7 qd1 …");
  machine.host.kernel = "Windows NT 10.0.22631";  // has no taskset
  check_single(machine, severity::warning, finding, "");
  machine.host.kernel = "Linux 6.12";
  machine.host.cpu.core_kinds = {"0; rm -r /", "8"};
  CHECK_FALSE(find(advise(machine), "kinds: threads")->command);
}

TEST_CASE("what guards Windows and its disks is pointed out") {
  machine_facts machine = good_machine();
  machine.host.virus_scanner = "Microsoft Defender";
  check_single(machine, severity::warning, "Microsoft Defender scans files",
               "Add-MpPreference -ExclusionPath DIRECTORY");

  machine = good_machine();
  machine.host.virtualization.hypervisor = true;
  machine.host.virtualization.hypervisor_name = "Hyper-V";
  check_single(machine, severity::note, "this is a virtual machine (Hyper-V)", "");
  machine.host.virtualization.root_partition = true;
  check_single(machine, severity::note, "the system runs above its own hypervisor", "");
  machine.host.virtualization.memory_integrity = true;
  check_single(machine, severity::note, "the system runs above its own hypervisor, with memory integrity", "");

  machine = good_machine();
  machine.devices[0].driver = "stornvme";
  machine.devices[0].encryption = "none";
  CHECK(advise(machine).empty());
  machine.devices[0].driver = "iaStorVD";
  check_single(machine, severity::note, "nvme0n1 is served by iaStorVD", "");
  machine.devices[0].driver.reset();
  machine.devices[0].encryption = "BitLocker, suspended";
  check_single(machine, severity::note, "nvme0n1 is encrypted by BitLocker, suspended", "");
}

TEST_CASE("memory that is dirty or short") {
  machine_facts machine = good_machine();
  machine.host.memory.dirty_bytes = 50;
  check_single(machine, severity::warning, "50 B of dirty memory wait to be written", "sync");
  machine = good_machine();
  machine.host.memory.available_bytes = 50;
  check_single(machine, severity::warning, "only 50 B of memory is available", "");
}

TEST_CASE("limits of the process") {
  machine_facts machine = good_machine();
  machine.host.limits.io = {"io.max 8:16 riops=3000"};
  check_single(machine, severity::severe, "a control group limits I/O: io.max 8:16 riops=3000", "");
  machine = good_machine();
  machine.host.limits.io_uring = "forbidden";
  check_single(machine, severity::warning, "io_uring is forbidden", "sysctl kernel.io_uring_disabled=0");
  CHECK_THAT(advise(machine).front().why, Contains("Linux AIO carries out direct transfers"));
  machine = good_machine();
  machine.host.limits.locked_memory_bytes = 65536;
  check_single(machine, severity::note, "only 64 KiB of memory may be locked", "ulimit -l unlimited");
}

TEST_CASE("each setting of the queue is pointed out with its command") {
  machine_facts machine = good_machine();
  machine.devices[0].scheduler = "mq-deadline";
  check_single(machine, severity::warning, "the scheduler of nvme0n1 is mq-deadline",
               "echo none > /sys/block/nvme0n1/queue/scheduler");
  machine.devices[0].rotational = true;
  CHECK(advise(machine).empty());

  machine = good_machine();
  machine.devices[0].read_ahead_kib = 8192;
  check_single(machine, severity::warning, "nvme0n1 reads 8 MiB ahead",
               "echo 128 > /sys/block/nvme0n1/queue/read_ahead_kb");

  machine = good_machine();
  machine.devices[0].counts_operations = false;
  check_single(machine, severity::warning, "nvme0n1 does not count its operations",
               "echo 1 > /sys/block/nvme0n1/queue/iostats");

  machine = good_machine();
  machine.devices[0].write_throttle_us = 2000;
  check_single(machine, severity::note, "nvme0n1 slows writes when reads take more than 2000 µs",
               "echo 0 > /sys/block/nvme0n1/queue/wbt_lat_usec");

  machine = good_machine();
  machine.devices[0].temperature_c = 78;
  check_single(machine, severity::warning, "nvme0n1 is at 78 °C", "");
}

TEST_CASE("the name of a device is no more than a word of a command, or there is none") {
  machine_facts machine = good_machine();
  machine.devices[0].scheduler = "mq-deadline";
  machine.devices[0].name = "cciss!c0d0";
  CHECK(advise(machine)[0].command == "echo none > '/sys/block/cciss!c0d0/queue/scheduler'");
  for (const char* hostile : {"$(reboot)", "a b", "a;reboot", "a\nreboot", "'", "`reboot`", "../../etc", "..", "a/b",
                              "", "-rf", "a'b", "\xc2\x9b"}) {
    machine.devices[0].name = hostile;
    const auto all = advise(machine);
    REQUIRE(!all.empty());
    for (const recommendation& each : all) {
      INFO(each.command.value_or("none"));
      CHECK(!each.command);
    }
  }
}

TEST_CASE("the address of a device is part of a command only if it is one") {
  machine_facts machine = good_machine();
  machine.devices[0].pcie = qd1::pcie_facts();
  machine.devices[0].pcie->speed_gts = 8;
  machine.devices[0].pcie->highest_speed_gts = 16;
  machine.devices[0].pcie->address = "0000:3b:00.0";
  CHECK_THAT(find(advise(machine), "GT/s")->why, Contains("lspci -vv -s 0000:3b:00.0 "));
  for (const char* hostile : {"3b:00.0; reboot", "$(reboot)", "", "-A"}) {
    machine.devices[0].pcie->address = hostile;
    CHECK_THAT(find(advise(machine), "GT/s")->why, !Contains("lspci"));
  }
}

TEST_CASE("where something else is measured than the device, that is severe") {
  machine_facts machine = good_machine();
  machine.filesystem.type = "tmpfs";
  machine.devices.clear();
  check_single(machine, severity::severe, "the data lie in memory: tmpfs keeps its files in memory", "");
  machine = good_machine();
  machine.devices[0].kind = "memory";
  CHECK(find(advise(machine), "the data lie in memory")->severity == severity::severe);
  machine = good_machine();
  machine.filesystem.compression = "zstd:3";
  check_single(machine, severity::severe, "the file system compresses (zstd:3)", "");
}

TEST_CASE("what keeps flushed writes from being durable is named") {
  machine_facts machine = good_machine();
  machine.filesystem.options = {"rw", "nobarrier"};
  check_single(machine, severity::severe, "the file system is mounted with nobarrier", "");
  machine = good_machine();
  machine.filesystem.log_in_memory = true;
  check_single(machine, severity::severe, "the log of the file system lies in memory", "");
  machine.filesystem.log_in_memory = false;
  CHECK(advise(machine).empty());
  machine.devices[0].write_cache = qd1::overridden_cache;
  check_single(machine, severity::severe, "nvme0n1 is set to write through, but has a volatile cache",
               "echo 'write back' > /sys/block/nvme0n1/queue/write_cache");
}

TEST_CASE("a process that is nice is named, in either direction") {
  machine_facts machine = good_machine();
  machine.host.limits.scheduling = "nice 10";
  check_single(machine, severity::warning, "this process runs with nice 10", "renice --priority 0 --pid $$");
  machine.host.limits.scheduling = "nice -5";
  CHECK(find(advise(machine), "nice -5")->why.find("before others") != std::string::npos);
}

TEST_CASE("an unaligned partition") {
  machine_facts machine = good_machine();
  qd1::device_facts partition;
  partition.name = "nvme0n1p1";
  partition.kind = "partition";
  partition.over = {"nvme0n1"};
  partition.start_bytes = 1048576;
  machine.devices.insert(machine.devices.begin(), partition);
  CHECK(advise(machine).empty());
  machine.devices[0].start_bytes = 34 * 512;
  check_single(machine, severity::severe, "nvme0n1p1 does not start at a block of the device", "");
}

TEST_CASE("the machines get the advice that they need, the severe first") {
  fake_tree server, loop, container, laptop, guest;
  make_mirrored_server(server);
  make_loop(loop);
  make_container(container);
  make_encrypted_laptop(laptop);
  make_virtual_machine(guest);

  const auto on_server = advise(server.find("/srv"));
  CHECK(on_server.front().finding == "md127 is busy with a resync");
  REQUIRE(find(on_server, "the link of nvme1n1") != nullptr);
  CHECK(find(on_server, "the link of nvme1n1")->finding == "the link of nvme1n1 runs at 8 GT/s x2 of 16 GT/s x4");
  CHECK(find(on_server, "the link of nvme0n1") == nullptr);
  CHECK(find(on_server, "nvme1n1 is attached to NUMA node 1") != nullptr);

  CHECK(find(advise(loop.find("/mnt")), "through the page cache")->command == "losetup --direct-io=on /dev/loop3");
  CHECK(find(advise(container.find("/")), "is an overlay") != nullptr);
  CHECK(find(advise(container.find("/")), "is unknown (overlay)") != nullptr);
  CHECK(find(advise(laptop.find("/")), "sda5 does not start") != nullptr);
  CHECK(find(advise(laptop.find("/")), "battery") != nullptr);
  CHECK(find(advise(guest.find("/")), "the scheduler of vda") != nullptr);

  for (const fake_tree* tree : {&server, &loop, &container, &laptop, &guest}) {
    const auto all = advise(tree->find("/"));
    CHECK(std::ranges::is_sorted(all, std::greater<>(), &recommendation::severity));
  }
}
