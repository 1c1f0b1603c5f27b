// SPDX-License-Identifier: BSL-1.0
#include "machines.hpp"

namespace qd1_test {
namespace {

void make_queue(fake_tree& tree, const std::string& device, const std::string& scheduler,
                const std::string& rotational) {
  tree.files(device + "/queue", {{"scheduler", scheduler},
                                 {"rotational", rotational},
                                 {"read_ahead_kb", "128"},
                                 {"nr_requests", "1023"},
                                 {"max_sectors_kb", "128"},
                                 {"max_hw_sectors_kb", "2048"},
                                 {"logical_block_size", "512"},
                                 {"physical_block_size", "4096"},
                                 {"write_cache", "write back"},
                                 {"fua", "1"},
                                 {"nomerges", "0"},
                                 {"iostats", "1"},
                                 {"io_poll", "0"},
                                 {"discard_max_bytes", "2199023255040"},
                                 {"zoned", "none"}});
}

void make_nvme(fake_tree& tree, const std::string& pci, const std::string& controller, const std::string& number) {
  tree.files(pci, {{"current_link_speed", "16.0 GT/s PCIe"},
                   {"max_link_speed", "16.0 GT/s PCIe"},
                   {"current_link_width", "4"},
                   {"max_link_width", "4"},
                   {"numa_node", "-1"},
                   {"local_cpulist", "0-3"}});
  const std::string directory = pci + "/nvme/" + controller;
  tree.files(directory, {{"model", "Samsung SSD 980 PRO 1TB                 "},
                         {"firmware_rev", "5B2QGXA7"},
                         {"serial", "S5GXNX0R123456"},
                         {"transport", "pcie"}});
  tree.file(directory + "/power/pm_qos_latency_tolerance_us", "100000");
  tree.files(directory + "/hwmon1", {{"name", "nvme"}, {"temp1_input", "40850"}});
  const std::string disk = directory + '/' + controller + "n1";
  tree.block_device(disk, number);
  tree.link(disk + "/device", directory);
  tree.file(disk + "/size", "1953525168");
  tree.file(disk + "/wwid", "eui.002538b1114081f2");
  for (const char* context : {"0", "1", "2", "3"}) tree.directory(disk + "/mq/" + context);
  make_queue(tree, disk, "[none] mq-deadline kyber", "0");
}

std::string make_sata(fake_tree& tree, const std::string& name, const std::string& number, const std::string& port) {
  const std::string target = "sys/devices/pci0000:00/0000:00:17.0/ata" + port + "/host0/target0:0:0/0:0:0:0";
  std::string disk = target + "/block/" + name;
  tree.files(target, {{"vendor", "ATA     "}, {"model", "ST4000DM004-2CV1"}, {"rev", "0001"}});
  tree.file(target + "/hwmon/hwmon2/temp1_input", "34000");
  tree.block_device(disk, number);
  tree.link(disk + "/device", target);
  tree.file(disk + "/size", "7814037168");
  make_queue(tree, disk, "none [mq-deadline] bfq", "1");
  tree.file(disk + "/queue/wbt_lat_usec", "75000");
  return disk;
}

std::string make_partition(fake_tree& tree, const std::string& disk, const std::string& name, const std::string& number,
                           const std::string& start) {
  tree.block_device(disk + '/' + name, number);
  tree.files(disk + '/' + name, {{"partition", "1"}, {"start", start}, {"size", "1000000"}});
  return disk + '/' + name;
}

std::string make_virtual(fake_tree& tree, const std::string& name, const std::string& number) {
  std::string device = "sys/devices/virtual/block/" + name;
  tree.block_device(device, number);
  tree.file(device + "/size", "2097152");
  make_queue(tree, device, "none", "0");
  return device;
}

void make_slave(fake_tree& tree, const std::string& device, const std::string& under) {
  tree.link(device + "/slaves/" + std::filesystem::path(under).filename().string(), under);
}

}  // namespace

void make_nvme_desktop(fake_tree& tree) {
  const std::string cpus = "sys/devices/system/cpu";
  tree.file("etc/os-release",
            "NAME=\"Fedora Linux\"\nID=fedora\nPRETTY_NAME=\"Fedora Linux 40 (Workstation Edition)\"");
  tree.file("etc/hostname", "secret-host");
  tree.files("proc/sys/kernel", {{"ostype", "Linux"},
                                 {"osrelease", "6.8.9-300.fc40.x86_64"},
                                 {"io_uring_disabled", "0"},
                                 {"hostname", "secret-host"}});
  tree.file(
      "proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 183\nmodel name\t: 13th Gen Intel(R) Core(TM) i5-13500\n"
      "cpu MHz\t\t: 800.000\n\nprocessor\t: 1\nmodel name\t: 13th Gen Intel(R) Core(TM) i5-13500\ncpu MHz\t\t: "
      "2500.000\n");
  tree.files(cpus, {{"online", "0-3"}, {"isolated", ""}, {"smt/active", "1"}, {"intel_pstate/no_turbo", "0"}});
  for (int thread = 0; thread < 4; ++thread)
    tree.files(cpus + "/cpu" + std::to_string(thread) + "/topology",
               {{"physical_package_id", "0"}, {"core_id", std::to_string(thread / 2)}});
  tree.files(cpus + "/cpu0/cpufreq", {{"scaling_cur_freq", "799998"},
                                      {"scaling_min_freq", "800000"},
                                      {"scaling_max_freq", "4800000"},
                                      {"scaling_driver", "intel_pstate"},
                                      {"scaling_governor", "powersave"},
                                      {"energy_performance_preference", "balance_performance"}});
  tree.files(cpus + "/cpu0/cpuidle/state0", {{"name", "POLL"}, {"latency", "0"}, {"disable", "0"}});
  tree.files(cpus + "/cpu0/cpuidle/state1", {{"name", "C1E"}, {"latency", "2"}, {"disable", "0"}});
  tree.files(cpus + "/cpu0/cpuidle/state2", {{"name", "C10"}, {"latency", "310"}, {"disable", "0"}});
  tree.files(cpus + "/cpuidle", {{"current_driver", "intel_idle"}, {"current_governor", "menu"}});
  tree.files(cpus + "/vulnerabilities",
             {{"meltdown", "Not affected"},
              {"spectre_v1", "Mitigation: usercopy/swapgs barriers and __user pointer sanitization"}});
  tree.file("sys/devices/system/node/online", "0");
  tree.file("proc/self/status", "Name:\tqd1\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n");
  tree.file("proc/loadavg", "0.31 0.40 0.52 1/901 12345");
  tree.files("sys/devices/system/clocksource/clocksource0",
             {{"current_clocksource", "tsc"}, {"available_clocksource", "tsc hpet acpi_pm "}});
  tree.files("sys/class/dmi/id",
             {{"sys_vendor", "ASUS"}, {"product_name", "System Product Name"}, {"product_serial", "SECRET"}});
  tree.file("proc/stat", "cpu  1000 20 300 90000 50 0 30 0 0 0\ncpu0 500 10 150 45000 25 0 15 0 0 0\nintr 1\n");
  tree.file("proc/meminfo",
            "MemTotal:       32614380 kB\nMemFree:         1000000 kB\nMemAvailable:   20000000 kB\nDirty:             "
            " 1200 kB\n"
            "Writeback:             0 kB\nWritebackTmp:          0 kB\nSwapTotal:       8388604 kB\nSwapFree:        "
            "8388604 kB\n");
  tree.file("proc/vmstat",
            "nr_free_pages 250000\nnr_dirty 300\nnr_dirty_threshold 1000000\nnr_dirty_background_threshold 500000\n");
  tree.files("proc/sys/vm", {{"dirty_ratio", "20"},
                             {"dirty_bytes", "0"},
                             {"dirty_background_ratio", "0"},
                             {"dirty_background_bytes", "67108864"}});
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  tree.file("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-2.scope");
  tree.file("proc/self/mountinfo",
            "25 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n"
            "30 25 0:27 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw,size=16307188k,inode64\n"
            "31 25 0:30 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
            "40 25 0:50 / /home/alice/My\\040Server rw,relatime - nfs4 secret-host:/export "
            "rw,vers=4.2,rsize=1048576,clientaddr=10.1.2.3,addr=10.1.2.4\n");
  tree.file("sys/module/nvme/parameters/poll_queues", "0");
  const std::string pci = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
  make_nvme(tree, pci, "nvme0", "259:0");
  make_partition(tree, pci + "/nvme/nvme0/nvme0n1", "nvme0n1p2", "259:2", "2048");
}

void make_encrypted_laptop(fake_tree& tree) {
  const std::string disk = make_sata(tree, "sda", "8:0", "1");
  const std::string partition = make_partition(tree, disk, "sda5", "8:5", "34");
  const std::string crypt = make_virtual(tree, "dm-0", "253:0");
  tree.files(crypt + "/dm", {{"name", "sda5_crypt"}, {"uuid", "CRYPT-LUKS2-0123456789abcdef-sda5_crypt"}});
  make_slave(tree, crypt, partition);
  const std::string volume = make_virtual(tree, "dm-1", "253:1");
  tree.files(volume + "/dm", {{"name", "secret--host--vg-root"}, {"uuid", "LVM-Wt4MbWzGvCPyWnPVwUFzdCXs7t8gFDRk"}});
  make_slave(tree, volume, crypt);
  tree.file("proc/self/mountinfo",
            "22 1 253:1 / / rw,relatime shared:1 - ext4 /dev/mapper/secret--host--vg-root rw,errors=remount-ro");
  tree.files("sys/class/power_supply/AC", {{"type", "Mains"}, {"online", "0"}});
  tree.files("sys/class/power_supply/BAT0", {{"type", "Battery"}, {"serial_number", "SECRET"}});
  tree.file("sys/devices/cpu_core/cpus", "0-7");
  tree.file("sys/devices/cpu_atom/cpus", "8-15");
}

void make_mirrored_server(fake_tree& tree) {
  const std::string near = "sys/devices/pci0000:00/0000:00:03.1/0000:05:00.0";
  const std::string far = "sys/devices/pci0000:80/0000:80:01.1/0000:81:00.0/0000:82:04.0/0000:84:00.0";
  make_nvme(tree, near, "nvme0", "259:0");
  make_nvme(tree, far, "nvme1", "259:4");
  tree.file(near + "/numa_node", "0");
  tree.files(far, {{"numa_node", "1"},
                   {"local_cpulist", "16-31,48-63"},
                   {"current_link_speed", "8.0 GT/s PCIe"},
                   {"current_link_width", "2"}});
  tree.file("sys/devices/system/node/online", "0-1");
  const std::string mirror = make_virtual(tree, "md127", "9:127");
  tree.files(mirror + "/md", {{"level", "raid1"}, {"raid_disks", "2"}, {"sync_action", "resync"}});
  make_slave(tree, mirror, near + "/nvme/nvme0/nvme0n1");
  make_slave(tree, mirror, far + "/nvme/nvme1/nvme1n1");
  tree.file("proc/self/mountinfo",
            "60 1 9:127 / /srv rw,noatime shared:9 - xfs /dev/md127 "
            "rw,attr2,inode64,logbufs=8,logbsize=32k,sunit=1024,noquota");
}

void make_virtual_machine(fake_tree& tree) {
  const std::string disk = "sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda";
  tree.block_device(disk, "254:0");
  tree.files(disk, {{"size", "536870912"},
                    {"stat",
                     "  109999    11771  5789082    53843   539405    75449 17065256    60088        3    36172   "
                     "125404   133772       33 11099448     7536   125343     3936"}});
  tree.file("sys/devices/pci0000:00/0000:00:02.0/virtio1/vendor", "0x1af4");
  tree.link(disk + "/device", "sys/devices/pci0000:00/0000:00:02.0/virtio1");
  make_queue(tree, disk, "none [mq-deadline] kyber bfq", "1");
  tree.directory(disk + "/mq/0");
  tree.files(disk + "/queue", {{"read_ahead_kb", "8192"}, {"iostats", "0"}, {"fua", "0"}, {"wbt_lat_usec", "75000"}});
  tree.file("sys/module/virtio_blk/parameters/poll_queues", "0");
  tree.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2596.124\n");
  tree.file("sys/devices/system/cpu/online", "0-1");
  tree.file("proc/loadavg", "7.80 3.00 1.00 3/200 99");
  tree.file("proc/stat", "cpu  100 0 100 700 50 0 0 50 0 0");
  tree.files("sys/class/dmi/id", {{"sys_vendor", "QEMU"}, {"product_name", "Standard PC (Q35 + ICH9, 2009)"}});
  tree.files("sys/devices/system/clocksource/clocksource0",
             {{"current_clocksource", "hpet"}, {"available_clocksource", "tsc hpet"}});
  tree.file("proc/self/mountinfo",
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            "38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n");
  tree.file("proc/self/cgroup", "4:memory:/jobs/one\n3:cpu,cpuacct:/jobs\n2:blkio:/\n0::/\n");
  tree.files("sys/fs/cgroup/memory", {{"memory.limit_in_bytes", "9223372036854771712"},
                                      {"jobs/memory.limit_in_bytes", "1073741824"},
                                      {"jobs/one/memory.limit_in_bytes", "2147483648"},
                                      {"jobs/one/memory.usage_in_bytes", "4096000"}});
  tree.files("sys/fs/cgroup/cpu", {{"cpu.cfs_quota_us", "-1"},
                                   {"cpu.cfs_period_us", "100000"},
                                   {"jobs/cpu.cfs_quota_us", "150000"},
                                   {"jobs/cpu.cfs_period_us", "100000"}});
  tree.files("sys/fs/cgroup/blkio",
             {{"blkio.throttle.read_iops_device", "254:0 3000"}, {"blkio.throttle.write_iops_device", ""}});
  tree.file("proc/sys/kernel/io_uring_disabled", "2");
}

void make_loop(fake_tree& tree) {
  make_nvme_desktop(tree);
  const std::string loop = make_virtual(tree, "loop3", "7:3");
  tree.files(loop + "/loop", {{"backing_file", "/home/alice/disk.img"}, {"dio", "0"}});
  tree.file("home/alice/disk.img", "");
  tree.file("proc/self/mountinfo",
            "25 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
            "90 25 7:3 / /mnt rw,relatime - xfs /dev/loop3 rw\n");
}

void make_container(fake_tree& tree) {
  tree.file(".dockerenv", "");
  tree.file("proc/self/cgroup", "0::/");
  tree.files("sys/fs/cgroup", {{"memory.max", "536870912"},
                               {"memory.high", "max"},
                               {"memory.current", "1048576"},
                               {"cpu.max", "200000 100000"},
                               {"io.max", "8:16 rbps=2097152 wbps=max riops=max wiops=120"}});
  tree.file("proc/self/mountinfo",
            "612 500 0:51 / / rw,relatime - overlay overlay "
            "rw,lowerdir=/var/lib/docker/overlay2/l/ABC,upperdir=/var/lib/docker/overlay2/0123/diff,"
            "workdir=/var/lib/docker/overlay2/0123/work,metacopy=on\n"
            "640 612 0:30 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
}

void make_btrfs_pair(fake_tree& tree) {
  const std::string one = make_sata(tree, "sdb", "8:16", "3");
  const std::string two = make_sata(tree, "sdc", "8:32", "4");
  const std::string volume = "sys/fs/btrfs/8a3f7c1e-0000-4000-8000-123456789abc/devices/";
  tree.link(volume + "sdb", one).link(volume + "sdc", two).directory("sys/fs/btrfs/features");
  tree.file("dev/sdb", "");
  tree.file("proc/self/mountinfo",
            "70 1 0:44 /@home /home rw,relatime shared:5 - btrfs /dev/sdb "
            "rw,compress=zstd:3,space_cache=v2,subvolid=257,subvol=/@home");
}

void make_multipath_drive(fake_tree& tree) {
  const std::string pci = "sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0";
  tree.files(pci, {{"current_link_speed", "16.0 GT/s PCIe"}, {"current_link_width", "4"}});
  tree.file(pci + "/nvme/nvme0/transport", "pcie");
  tree.file(pci + "/nvme/nvme0/power/pm_qos_latency_tolerance_us", "100000");
  const std::string subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
  const std::string disk = subsystem + "/nvme0n1";
  tree.files(subsystem, {{"model", "SAMSUNG MZQL23T8HCLS-00A07"}, {"firmware_rev", "GDC5902Q"}});
  tree.link(subsystem + "/nvme0", pci + "/nvme/nvme0");
  tree.block_device(disk, "259:1");
  tree.link(disk + "/device", subsystem);
  make_queue(tree, disk, "[none]", "0");
  tree.file("proc/self/mountinfo", "70 1 259:1 / /data rw - xfs /dev/nvme0n1 rw");
}

void make_arm_board(fake_tree& tree) {
  tree.file("proc/cpuinfo",
            "processor\t: 0\nBogoMIPS\t: 48.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd05\n\n"
            "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n"
            "processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n");
  tree.file("sys/devices/system/cpu/online", "0-2");
  for (const auto& [thread, capacity] : {std::pair("cpu0", "530"), {"cpu1", "530"}, {"cpu2", "1024"}})
    tree.file(std::string("sys/devices/system/cpu/") + thread + "/cpu_capacity", capacity);
  tree.file("proc/device-tree/model", std::string("Radxa ROCK 5B\0", 14));
  tree.files("sys/devices/system/clocksource/clocksource0",
             {{"current_clocksource", "arch_sys_counter"}, {"available_clocksource", "arch_sys_counter "}});
}

void make_arm_guest(fake_tree& tree) {
  tree.file("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x61\nCPU part\t: 0x000\n");
  tree.file("proc/device-tree/model", std::string("linux,dummy-virt\0", 17));
  tree.directory("proc/device-tree/fw-cfg@9020000");
}

}  // namespace qd1_test
