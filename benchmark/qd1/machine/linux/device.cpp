// SPDX-License-Identifier: BSL-1.0
// Documentation/ABI/stable/sysfs-block for the device and its queue, Documentation/block/stat.rst for the counters.
#include <qd1/machine/linux/device.hpp>
#include <qd1/machine/linux/pcie.hpp>
#include <qd1/machine/linux/text.hpp>

#include <algorithm>
#include <array>

namespace qd1::linux_system {
namespace {

using std::filesystem::path;

// The kernel counts in these whatever the device's own blocks are (stat.rst, sysfs-block at "size" and "start").
constexpr std::uint64_t sector = 512;

std::optional<std::uint64_t> sectors(const tree& system, const path& file) {
  const auto number = system.number(file);
  return number ? std::optional(*number * sector) : std::nullopt;
}

// dm/uuid begins with who made the device: "LVM-…", "CRYPT-LUKS2-…", "mpath-…" (sysfs-block-dm). No more of it is
// kept, nor dm/name: Debian's installer names a volume group after the host.
std::string mapper_kind(const tree& system, const path& device) {
  const std::string maker = system.text(device / "dm/uuid").value_or("");
  if (maker.starts_with("LVM-")) return "lvm";
  if (maker.starts_with("CRYPT-")) return "crypt";
  if (maker.starts_with("mpath-")) return "multipath";
  return "mapper";
}

std::string kind_of(const tree& system, const stacked_device& device) {
  if (system.exists(device.directory / "partition")) return "partition";
  if (system.exists(device.directory / "dm")) return mapper_kind(system, device.directory);
  if (const auto level = system.text(device.directory / "md/level"); level && !level->empty()) return *level;
  if (system.exists(device.directory / "bcache")) return "bcache";
  if (device.name.starts_with("loop")) return "loop";
  for (const std::string_view memory : {"zram", "ram", "nullb"})
    if (device.name.starts_with(memory)) return "memory";
  for (const std::string_view network : {"nbd", "rbd", "rnbd", "drbd"})
    if (device.name.starts_with(network)) return "network";
  if (device.name.starts_with("zd")) return "zvol";
  if (device.name.starts_with("pmem")) return "persistent memory";
  // Without a bus: made by a driver or a program (ublk, zloop), which may keep the data anywhere.
  return device.directory.string().find("devices/virtual/block/") != std::string::npos ? "virtual" : "disk";
}

// By the names of what is above the disk in /sys/devices.
std::optional<std::string> transport_of(const tree& system, const path& disk) {
  struct sign {
    std::string_view prefix, transport;
  };
  constexpr std::array<sign, 9> signs = {{{"ata", "sata"},
                                          {"end_device-", "sas"},
                                          {"usb", "usb"},
                                          {"virtio", "virtio"},
                                          {"mmc_host", "mmc"},
                                          {"session", "iscsi"},
                                          {"rport-", "fibre channel"},
                                          {"vmbus", "vmbus"},
                                          {"vbd-", "xen"}}};
  if (auto nvme = system.text(disk / "device/transport")) return *nvme == "pcie" ? "nvme" : "nvme over " + *nvme;
  if (disk.filename().string().starts_with("nvme")) return "nvme";
  for (const path& part : disk)
    for (const sign& each : signs)
      if (part.string().starts_with(each.prefix)) return std::string(each.transport);
  return std::nullopt;
}

// SCSI has vendor, model and rev; NVMe model and firmware_rev; MMC name and fwrev. A virtio disk's "vendor" is the
// number of the bus' vendor.
void find_product(const tree& system, const path& disk, device_facts& facts) {
  const path device = disk / "device";
  const auto first_of = [&](std::initializer_list<const char*> files) -> std::optional<std::string> {
    for (const char* file : files)
      if (auto text = system.text(device / file); text && !text->empty() && !text->starts_with("0x")) return text;
    return std::nullopt;
  };
  facts.vendor = first_of({"vendor"});
  if (facts.vendor == "ATA") facts.vendor.reset();  // libata: does not name the manufacturer
  facts.model = first_of({"model", "name"});
  facts.firmware = first_of({"firmware_rev", "rev", "fwrev"});
}

// Where a drive has several controllers the disk hangs on none of them, but on a virtual subsystem that names them
// (drivers/nvme/host/multipath.c): /sys/devices/virtual/nvme-subsystem/nvme-subsys0/{nvme0,nvme0n1}. The first stands
// for all.
path plugged_at(const tree& system, const path& disk) {
  const path parent = disk.parent_path();
  if (!parent.filename().string().starts_with("nvme-subsys")) return disk;
  for (const std::string& name : system.names(parent))
    if (name.starts_with("nvme") && system.exists(parent / name / "transport"))
      if (auto controller = system.resolved(parent / name)) return *controller;
  return disk;
}

// Documentation/hwmon/sysfs-interface.rst: thousandths of a degree. The sensor of an NVMe drive
// (drivers/nvme/host/hwmon.c) lies in the controller's directory, that of a SATA drive
// (Documentation/hwmon/drivetemp.rst) one deeper.
std::optional<double> temperature(const tree& system, const path& disk) {
  for (const path& holder : {disk / "device", disk / "device/hwmon", disk / "device/device/hwmon"})
    for (const std::string& name : system.names(holder))
      if (name.starts_with("hwmon"))
        if (const auto thousandths = system.number(holder / name / "temp1_input"))
          return static_cast<double>(*thousandths) / 1000.0;
  return std::nullopt;
}

// Documentation/ABI/testing/sysfs-devices-power. drivers/nvme/host/core.c sets it to default_ps_max_latency_us, and
// lets the drive enter no power state that takes longer to leave. "auto" and "any" are no limit. It is the
// controller's.
std::optional<std::string> wake_up_limit(const tree& system, const path& disk) {
  for (const path& holder : {plugged_at(system, disk), disk / "device"})
    if (const auto limit = system.text(holder / "power/pm_qos_latency_tolerance_us"))
      return limit == "auto" ? "any" : *limit;
  return std::nullopt;
}

// queue/write_cache can be set to "write through" without asking the device: then no flush is sent to it. Drivers of
// SCSI and virtio disks report the device's own cache; only devices that have one can force single writes out of it
// (blk_validate_limits); and a loop device that can be written has the cache of its file.
bool has_volatile_cache(const tree& system, const path& disk, const device_facts& facts) {
  if (system.text(disk / "cache_type").value_or("").starts_with("write back")) return true;
  for (const std::string& each : system.names(disk / "device/scsi_disk"))
    if (system.text(disk / "device/scsi_disk" / each / "cache_type").value_or("").starts_with("write back"))
      return true;
  return facts.force_unit_access == true || (facts.kind == "loop" && system.flag(disk / "ro") == false);
}

void find_queue(const tree& system, const path& disk, device_facts& facts) {
  const path queue = disk / "queue";
  choice scheduler = to_choice(system.text(queue / "scheduler").value_or(""));
  facts.scheduler = std::move(scheduler.current);
  facts.schedulers = std::move(scheduler.available);
  facts.rotational = system.flag(queue / "rotational");
  facts.read_ahead_kib = system.number(queue / "read_ahead_kb");
  facts.requests = system.number(queue / "nr_requests");
  facts.largest_transfer_kib = system.number(queue / "max_sectors_kb");
  facts.largest_hardware_transfer_kib = system.number(queue / "max_hw_sectors_kb");
  facts.logical_block_bytes = system.number(queue / "logical_block_size");
  facts.physical_block_bytes = system.number(queue / "physical_block_size");
  facts.atomic_write_bytes = system.number(queue / "atomic_write_unit_max_bytes");
  facts.write_cache = system.text(queue / "write_cache");
  facts.force_unit_access = system.flag(queue / "fua");
  if (facts.write_cache == "write through" && has_volatile_cache(system, disk, facts))
    facts.write_cache = overridden_cache;
  facts.merge_limit = system.number(queue / "nomerges");
  // The flag is obeyed by what has request queues; device mapper counts by itself, whatever the flag's value
  // (drivers/md/dm.c).
  if (system.exists(disk / "mq")) facts.counts_operations = system.flag(queue / "iostats");
  facts.write_throttle_us = system.number(queue / "wbt_lat_usec");
  facts.polling = system.flag(queue / "io_poll");
  facts.zones = system.text(queue / "zoned");
  if (const auto largest = system.number(queue / "discard_max_bytes")) facts.discard = *largest > 0;
}

// Poll queues are given to a driver when it is loaded, for all its devices (nvme.poll_queues, virtio_blk.poll_queues in
// drivers/nvme/host/pci.c and drivers/block/virtio_blk.c).
std::optional<std::uint64_t> poll_queues(const tree& system, const device_facts& facts) {
  if (facts.transport == "nvme") return system.number("sys/module/nvme/parameters/poll_queues");
  if (facts.transport == "virtio") return system.number("sys/module/virtio_blk/parameters/poll_queues");
  return std::nullopt;
}

void find_hardware(const tree& system, const path& disk, device_facts& facts) {
  facts.transport = transport_of(system, disk);
  find_product(system, disk, facts);
  if (const auto contexts = system.names(disk / "mq"); !contexts.empty()) facts.queues = contexts.size();
  facts.poll_queues = poll_queues(system, facts);
  facts.wake_up_limit = wake_up_limit(system, disk);
  facts.temperature_c = temperature(system, disk);
  facts.pcie = find_pcie(system, plugged_at(system, disk));
}

}  // namespace

device_facts find_device(const tree& system, const stacked_device& device) {
  device_facts facts;
  facts.name = device.name;
  facts.kind = kind_of(system, device);
  facts.over = device.over;
  facts.backing = device.backing;
  facts.size_bytes = sectors(system, device.directory / "size");
  if (facts.kind == "partition") {
    facts.start_bytes = sectors(system, device.directory / "start");
    const path disk = device.directory.parent_path();
    if (system.exists(disk / "mq")) facts.counts_operations = system.flag(disk / "queue/iostats");
    return facts;  // the rest is its disk's
  }
  find_queue(system, device.directory, facts);
  if (facts.kind == "disk") find_hardware(system, device.directory, facts);
  facts.loop_direct = system.flag(device.directory / "loop/dio");
  facts.raid_activity = system.text(device.directory / "md/sync_action");
  return facts;
}

// stat.rst: reads, merged, sectors, ms; the same of writes; in flight, ms busy, ms in queue; since Linux 4.18 the four
// of discards, since 5.5 flushes and their ms.
std::optional<device_counters> parse_device_counters(std::string_view stat) {
  std::array<std::uint64_t, 17> fields{};
  const auto texts = words(stat);
  if (texts.size() < 11) return std::nullopt;
  for (std::size_t each = 0; each < std::min(texts.size(), fields.size()); ++each) {
    const auto number = to_number(texts[each]);
    if (!number) return std::nullopt;
    fields[each] = *number;
  }
  return device_counters{.name = {},
                         .reads = fields[0],
                         .writes = fields[4],
                         .discards = fields[11],
                         .flushes = fields[15],
                         .read_merges = fields[1],
                         .write_merges = fields[5],
                         .read_bytes = fields[2] * sector,
                         .write_bytes = fields[6] * sector,
                         .in_flight = fields[8]};
}

}  // namespace qd1::linux_system
