// SPDX-License-Identifier: BSL-1.0
// What is found on machines of several kinds, and on this one.
#include "catch.hpp"
#include "machines.hpp"

#include <qd1/machine/cpuid.hpp>
#include <qd1/machine/direct.hpp>
#include <qd1/machine/find.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using qd1::device_facts;
using qd1::machine_facts;
using qd1_test::fake_tree;

namespace {

std::vector<std::string> names(const machine_facts& machine) {
  std::vector<std::string> all;
  all.reserve(machine.devices.size());
  for (const device_facts& device : machine.devices) all.push_back(device.name);
  return all;
}

std::vector<std::string> kinds(const machine_facts& machine) {
  std::vector<std::string> all;
  all.reserve(machine.devices.size());
  for (const device_facts& device : machine.devices) all.push_back(device.kind);
  return all;
}

using list = std::vector<std::string>;

}  // namespace

TEST_CASE("NVMe desktop: processor, clock and memory") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const qd1::host_facts host = tree.find("/home/bob/file").host;
  CHECK(host.system == "Fedora Linux 40 (Workstation Edition)");
  CHECK(host.kernel == "Linux 6.8.9-300.fc40.x86_64");
  CHECK(host.cpu.model == "13th Gen Intel(R) Core(TM) i5-13500");
  CHECK(host.cpu.packages == 1U);
  CHECK(host.cpu.cores == 2U);
  CHECK(host.cpu.threads == 4U);
  CHECK(host.cpu.threads_allowed == 4U);
  CHECK(host.cpu.simultaneous_threads == true);
  CHECK_FALSE(host.cpu.isolated);
  CHECK(host.cpu.frequency_mhz == 800U);
  CHECK(host.cpu.highest_mhz == 4800U);
  CHECK(host.cpu.governor == "powersave");
  CHECK(host.cpu.boost == true);
  REQUIRE(host.cpu.idle_states.size() == 3);
  CHECK(host.cpu.idle_states[2].name == "C10");
  CHECK(host.cpu.idle_states[2].exit_latency_us == 310U);
  CHECK(host.cpu.vulnerabilities.size() == 1);
  CHECK_FALSE(host.cpu.on_battery);
  CHECK(host.clock.source == "tsc");
  CHECK(host.clock.available == list{"tsc", "hpet", "acpi_pm"});
  CHECK(host.memory.total_bytes == 32614380ULL * 1024);
  CHECK(host.memory.writeback_bytes == 0U);
  CHECK(host.memory.dirty_limit_bytes == 4096000000U);
  CHECK(host.memory.dirty_setting == "20%");
  CHECK(host.memory.dirty_background_setting == "67108864 bytes");
  CHECK(host.memory.huge_pages == "madvise");
  CHECK(host.virtualization.product == "ASUS System Product Name");
  CHECK_FALSE(host.virtualization.hypervisor);
  CHECK_FALSE(host.virtualization.container);
  CHECK(host.virtualization.steal_percent == 0.0);
  CHECK(host.limits.io_uring == "allowed");
  CHECK_FALSE(host.limits.memory_bytes);
}

TEST_CASE("NVMe desktop: partition, drive, PCIe link and sensor") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const machine_facts machine = tree.find("/var/tmp");
  CHECK(machine.filesystem.type == "ext4");
  CHECK(machine.filesystem.mount_point == "/");
  CHECK(machine.filesystem.source == "/dev/nvme0n1p2");
  REQUIRE(names(machine) == list{"nvme0n1p2", "nvme0n1"});
  CHECK(machine.devices[0].kind == "partition");
  CHECK(machine.devices[0].over == list{"nvme0n1"});
  CHECK(machine.devices[0].start_bytes == 1048576U);
  const device_facts& drive = machine.devices[1];
  CHECK(drive.kind == "disk");
  CHECK(drive.transport == "nvme");
  CHECK(drive.model == "Samsung SSD 980 PRO 1TB");
  CHECK(drive.firmware == "5B2QGXA7");
  CHECK_FALSE(drive.vendor);
  CHECK(drive.size_bytes == 1000204886016U);
  CHECK(drive.rotational == false);
  CHECK(drive.scheduler == "none");
  CHECK(drive.queues == 4U);
  CHECK(drive.poll_queues == 0U);
  CHECK_FALSE(drive.write_throttle_us);
  CHECK(drive.temperature_c == 40.85);
  REQUIRE(drive.pcie);
  CHECK(drive.pcie->address == "0000:01:00.0");
  CHECK(drive.pcie->upstream == list{"0000:00:01.0"});
  CHECK(drive.pcie->root_complex == "pci0000:00");
  CHECK(drive.pcie->speed_gts == 16.0);
  CHECK(drive.pcie->lanes == 4U);
  CHECK_FALSE(drive.pcie->numa_node);
}

TEST_CASE("an NVMe drive may save power while idle, as far as its controller allows") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const std::string limit = "sys/class/block/nvme0n1/device/power/pm_qos_latency_tolerance_us";
  const auto drive = [&] { return tree.find("/var/tmp").devices.at(1); };
  CHECK(drive().wake_up_limit == "100000");
  CHECK_FALSE(tree.find("/var/tmp").devices.at(0).wake_up_limit);  // the partition's is its drive's
  for (const auto& [written, found] : {std::pair{"0", "0"}, std::pair{"any", "any"}, std::pair{"auto", "any"}}) {
    tree.file(limit, written);
    CHECK(drive().wake_up_limit == found);
  }
  fake_tree of_sata;
  make_encrypted_laptop(of_sata);
  CHECK_FALSE(of_sata.find("/data").devices.at(3).wake_up_limit);
}

TEST_CASE("a block device is asked for by its number") {
  fake_tree tree;
  make_nvme_desktop(tree);
  qd1::linux_system::location where;
  where.path = "/dev/nvme0n1";
  where.block_device = true;
  where.device = "259:0";
  const machine_facts machine = tree.find(where);
  CHECK(names(machine) == list{"nvme0n1"});
  CHECK_FALSE(machine.filesystem.type);
}

TEST_CASE("LVM on LUKS on a SATA disk") {
  fake_tree tree;
  make_encrypted_laptop(tree);
  const machine_facts machine = tree.find("/data");
  CHECK(names(machine) == list{"dm-1", "dm-0", "sda5", "sda"});
  CHECK(kinds(machine) == list{"lvm", "crypt", "partition", "disk"});
  CHECK(machine.filesystem.source == "/dev/dm-1");
  CHECK_FALSE(machine.devices[0].counts_operations);
  CHECK(machine.devices[3].transport == "sata");
  CHECK(machine.devices[3].temperature_c == 34.0);
  CHECK_FALSE(machine.devices[3].vendor);
  CHECK(machine.devices[3].write_throttle_us == 75000U);
  CHECK(machine.host.cpu.on_battery == true);
}

TEST_CASE("an md mirror of two NVMe drives") {
  fake_tree tree;
  make_mirrored_server(tree);
  const machine_facts machine = tree.find("/srv/file");
  CHECK(names(machine) == list{"md127", "nvme0n1", "nvme1n1"});
  CHECK(machine.devices[0].kind == "raid1");
  CHECK(machine.devices[0].raid_activity == "resync");
  CHECK(machine.devices[2].pcie->numa_node == 1U);
  CHECK(machine.devices[2].pcie->root_complex == "pci0000:80");
  CHECK(machine.devices[2].pcie->upstream == list{"0000:82:04.0", "0000:81:00.0", "0000:80:01.1"});
  CHECK(machine.host.cpu.numa_nodes == 2U);
}

TEST_CASE("a virtual machine with limits") {
  fake_tree tree;
  make_virtual_machine(tree);
  const machine_facts machine = tree.find("/x");
  CHECK(names(machine) == list{"vda"});
  CHECK(machine.devices[0].transport == "virtio");
  CHECK_FALSE(machine.devices[0].vendor);
  CHECK(machine.devices[0].counts_operations == false);
  CHECK_FALSE(machine.devices[0].pcie->speed_gts);
  CHECK(machine.host.cpu.frequency_mhz == 2596U);
  CHECK(machine.host.virtualization.product == "QEMU Standard PC (Q35 + ICH9, 2009)");
  CHECK(machine.host.virtualization.steal_percent == 5.0);
  CHECK(machine.host.limits.memory_bytes == 1073741824U);
  CHECK(machine.host.limits.memory_used_bytes == 4096000U);
  CHECK(machine.host.limits.cpus == 1.5);
  CHECK(machine.host.limits.io == list{"blkio.throttle.read_iops_device 254:0 3000"});
  CHECK(machine.host.limits.io_uring == "forbidden");
}

TEST_CASE("a loop device lies over what its file lies on") {
  fake_tree tree;
  make_loop(tree);
  const machine_facts machine = tree.find("/mnt/a");
  CHECK(names(machine) == list{"loop3", "nvme0n1p2", "nvme0n1"});
  CHECK(machine.devices[0].kind == "loop");
  CHECK(machine.devices[0].loop_direct == false);
}

TEST_CASE("a container does not see what its overlay lies on") {
  fake_tree tree;
  make_container(tree);
  const machine_facts machine = tree.find("/work");
  CHECK(machine.filesystem.type == "overlay");
  CHECK(machine.filesystem.options == list{"rw", "relatime", "metacopy=on"});
  CHECK(machine.devices.empty());
  CHECK(machine.host.virtualization.container == "docker");
  CHECK(machine.host.limits.memory_bytes == 536870912U);
  CHECK(machine.host.limits.cpus == 2.0);
  CHECK(machine.host.limits.io.size() == 1);
}

TEST_CASE("an overlay whose upper directory is seen") {
  fake_tree tree;
  make_nvme_desktop(tree);
  tree.directory("var/upper");
  tree.file("proc/self/mountinfo",
            "25 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n"
            "90 25 0:60 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/var/upper,workdir=/w\n");
  const machine_facts machine = tree.find("/merged/a");
  CHECK(machine.filesystem.type == "overlay");
  CHECK(machine.filesystem.upper == "ext4");
  CHECK(names(machine) == list{"nvme0n1p2", "nvme0n1"});
}

TEST_CASE("a file of an overlay lies in the first layer that has it") {
  fake_tree tree;
  make_nvme_desktop(tree);
  tree.directory("memory/upper").file("l1/other", "").file("l2/dir/a", "").file("memory/upper/new", "");
  tree.file("merged/dir/a", "").file("merged/new", "");
  for (const char* lower : {"lowerdir=/l1:/l2", "lowerdir+=/l1,lowerdir+=/l2"}) {
    tree.file("proc/self/mountinfo",
              std::string("25 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n30 25 0:50 / /memory rw - tmpfs tmpfs rw\n") +
                  "90 25 0:60 / /merged rw - overlay overlay rw," + lower + ",upperdir=/memory/upper,workdir=/w\n");
    CHECK(tree.find("/merged/dir/a").filesystem.upper == "ext4");
    CHECK(names(tree.find("/merged/dir/a")) == list{"nvme0n1p2", "nvme0n1"});
    CHECK(tree.find("/merged/new").filesystem.upper == "tmpfs");
    CHECK(tree.find("/merged/dir").filesystem.upper == "tmpfs");  // where a new file would go
  }
}

TEST_CASE("a write cache that was switched off for the kernel alone is recognized") {
  const auto cache = [](const std::vector<std::pair<std::string, std::string>>& files) {
    fake_tree tree;
    make_virtual_machine(tree);
    const std::string disk = "sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda";
    tree.files(disk, files);
    return tree.find("/").devices.back().write_cache;
  };
  CHECK(cache({{"queue/write_cache", "write back"}, {"cache_type", "write back"}}) == "write back");
  CHECK(cache({{"queue/write_cache", "write through"}, {"cache_type", "write through"}, {"queue/fua", "0"}}) ==
        "write through");
  CHECK(cache({{"queue/write_cache", "write through"}, {"cache_type", "write back"}}) == qd1::overridden_cache);
  CHECK(cache({{"queue/write_cache", "write through"}, {"queue/fua", "1"}}) == qd1::overridden_cache);
}

TEST_CASE("an external log is looked up: whether it lies in memory") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const auto in_memory = [&](const std::string& mount, const std::string& journal) {
    tree.file("proc/self/mountinfo", "25 1 259:2 / / rw - " + mount + "\n");
    tree.file("sys/fs/ext4/nvme0n1p2/journal_task", "321").file("proc/321/comm", journal);
    return tree.find("/a").filesystem.log_in_memory;
  };
  CHECK(in_memory("ext4 /dev/nvme0n1p2 rw", "jbd2/nvme0n1p2-8") == std::nullopt);
  CHECK(in_memory("ext4 /dev/nvme0n1p2 rw", "jbd2/zram0") == true);
  CHECK(in_memory("ext4 /dev/nvme0n1p2 rw", "jbd2/sdb1") == false);
  CHECK(in_memory("xfs /dev/nvme0n1p2 rw,logdev=/dev/ram0", "") == true);
}

TEST_CASE("a btrfs over two disks") {
  fake_tree tree;
  make_btrfs_pair(tree);
  const machine_facts machine = tree.find("/home/alice");
  CHECK(names(machine) == list{"sdb", "sdc"});
  CHECK(machine.filesystem.copy_on_write == true);
  CHECK(machine.filesystem.compression == "zstd:3");
  CHECK(machine.filesystem.options == list{"rw", "relatime", "compress=zstd:3", "space_cache=v2"});
}

TEST_CASE("a drive with two controllers is plugged in where the first is") {
  fake_tree tree;
  make_multipath_drive(tree);
  const machine_facts machine = tree.find("/data/a");
  REQUIRE(names(machine) == list{"nvme0n1"});
  CHECK(machine.devices[0].transport == "nvme");
  CHECK(machine.devices[0].model == "SAMSUNG MZQL23T8HCLS-00A07");
  REQUIRE(machine.devices[0].pcie);
  CHECK(machine.devices[0].pcie->address == "0000:41:00.0");
  CHECK(machine.devices[0].wake_up_limit == "100000");
}

TEST_CASE("where nothing tells, nothing is known") {
  fake_tree tree;
  const machine_facts machine = tree.find("/a");
  CHECK(machine.devices.empty());
  CHECK_FALSE(machine.filesystem.type);
  CHECK_FALSE(machine.host.kernel);
  CHECK_FALSE(machine.host.cpu.model);
  CHECK_FALSE(machine.host.memory.total_bytes);
}

TEST_CASE("an ARM64 board: the kinds of its cores, its clock and its name") {
  fake_tree tree;
  make_arm_board(tree);
  const qd1::host_facts host = tree.find("/a").host;
  CHECK(host.cpu.model == "Arm Cortex-A55, Arm Cortex-A76");
  CHECK(host.cpu.core_kinds == list{"2", "0-1"});
  CHECK(host.cpu.core_kinds_allowed == 2U);
  CHECK(host.clock.source == "arch_sys_counter");
  CHECK(host.virtualization.product == "Radxa ROCK 5B");
  CHECK_FALSE(host.virtualization.hypervisor);
}

TEST_CASE("a laptop with performance and efficiency cores, and a process that may use only some of them") {
  fake_tree tree;
  make_encrypted_laptop(tree);
  const auto kinds_allowed = [&](const char* threads) {
    tree.file("proc/self/status", std::string("Name:\tqd1\nCpus_allowed_list:\t") + threads);
    const qd1::cpu_facts cpu = tree.find("/data").host.cpu;
    CHECK(cpu.core_kinds == list{"0-7", "8-15"});
    return cpu.core_kinds_allowed;
  };
  CHECK(kinds_allowed("0-15") == 2U);
  CHECK(kinds_allowed("7-8") == 2U);
  CHECK(kinds_allowed("2") == 1U);
  CHECK(kinds_allowed("8-11,15") == 1U);

  fake_tree desktop;
  make_nvme_desktop(desktop);
  CHECK(desktop.find("/").host.cpu.core_kinds.empty());
}

TEST_CASE("an ARM64 guest: a core without a known name, and the hypervisor of the device tree") {
  fake_tree tree;
  make_arm_guest(tree);
  const qd1::host_facts host = tree.find("/a").host;
  CHECK(host.cpu.model == "Apple, part 0x000");
  CHECK(host.virtualization.hypervisor_name == "QEMU");
  CHECK(host.virtualization.hypervisor == true);

  tree.file("proc/device-tree/hypervisor/compatible", std::string("linux,kvm\0", 10));
  CHECK(tree.find("/a").host.virtualization.hypervisor_name == "KVM");
}

TEST_CASE("hypervisors are known by their signature") {
  CHECK(qd1::hypervisor_name({"KVMKVMKVM\0\0\0", 12}) == "KVM");
  CHECK(qd1::hypervisor_name("Microsoft Hv") == "Hyper-V");
  CHECK(qd1::hypervisor_name("Something\001el") == "Somethingel");
}

TEST_CASE("this machine is found, also under a file that is yet to be made") {
  const machine_facts here = qd1::find_machine(".");
  CHECK(here.host.kernel);
  CHECK(here.host.cpu.threads.value_or(0) > 0);
  CHECK(here.host.memory.total_bytes.value_or(0) > 0);
  CHECK(here.filesystem.type);
  CHECK(here.filesystem.free_bytes);
  const machine_facts later = qd1::find_machine("./not/there/yet");
  CHECK(later.filesystem.type == here.filesystem.type);
  CHECK(names(later) == names(here));
  CHECK(qd1::find_memory().total_bytes == here.host.memory.total_bytes);
}

TEST_CASE("direct I/O is asked of a file in the directory, and none is made") {
  fake_tree tree;
  CHECK_FALSE(qd1::find_direct(tree.root()).possible);
  CHECK(std::filesystem::is_empty(tree.root()));
  tree.file("some", "text");
  const qd1::direct_facts found = qd1::find_direct(tree.root());
  REQUIRE(found.possible);
  CHECK(found.reason);
  CHECK(found.read_alignment.has_value() == *found.possible);
  CHECK_FALSE(qd1::find_direct(tree.root() + "/none").possible);
}

TEST_CASE("of memory direct I/O is not possible") {
  const std::string path = "/dev/shm/qd1-machine-" + std::to_string(::getpid());
  std::ofstream(path) << "text";
  const machine_facts machine = qd1::find_machine(path);
  std::filesystem::remove(path);
  if (machine.filesystem.type != "tmpfs") QIO_SKIP("/dev/shm is no tmpfs");
  CHECK(machine.filesystem.direct.possible == false);
  CHECK(machine.devices.empty());
}
