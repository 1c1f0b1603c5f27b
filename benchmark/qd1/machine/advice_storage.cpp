// SPDX-License-Identifier: BSL-1.0
// The queue's settings are described in Documentation/ABI/stable/sysfs-block.
#include <fmt/format.h>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/medium.hpp>
#include <qd1/machine/units.hpp>

#include <algorithm>

namespace qd1 {
namespace {

using all_advice = std::vector<recommendation>;

// A path as one word of a shell's. The name may come from somebody else's report: one that is no name of a device gets
// no command.
std::optional<std::string> shell_path(std::string_view before, const device_facts& device, std::string_view after) {
  const std::string& name = device.name;
  const auto is_safe = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
           std::string_view("-_.!:").find(each) != std::string_view::npos;
  };
  if (name.empty() || name.front() == '.' || name.front() == '-' || !std::ranges::all_of(name, is_safe))
    return std::nullopt;
  // Interactive shells expand "!", but not in such quotes.
  const std::string_view quote = name.find('!') == std::string::npos ? "" : "'";
  return fmt::format("{0}{1}{2}{3}{0}", quote, before, name, after);
}

std::optional<std::string> set(const device_facts& device, std::string_view setting, std::string_view value) {
  const auto path = shell_path("/sys/block/", device, fmt::format("/queue/{}", setting));
  if (!path) return std::nullopt;
  return fmt::format("echo {} > {}", value, *path);
}

std::optional<std::string> bypass_cache(const device_facts& loop) {
  const auto path = shell_path("/dev/", loop, "");
  if (!path) return std::nullopt;
  return "losetup --direct-io=on " + *path;
}

void on_medium(const machine_facts& machine, all_advice& out) {
  const storage_bottom bottom = bottom_of(machine);
  switch (bottom.medium) {
    case medium::memory:
      out.push_back({severity::severe, "the data lie in memory: " + bottom.why,
                     "There is no device: direct, cached and mapped all measure copies of memory.", std::nullopt});
      break;
    case medium::network:
      out.push_back({severity::warning, "the data lie on another machine: " + bottom.why,
                     "The network and the server's cache are measured, and device operations cannot be verified.",
                     std::nullopt});
      break;
    case medium::unknown:
      out.push_back({severity::warning, "where the data lie is unknown: " + bottom.why,
                     "Whether an operation reached a device cannot be verified.", std::nullopt});
      break;
    case medium::device: break;
  }
}

void on_filesystem(const filesystem_facts& facts, all_advice& out) {
  if (facts.compression && *facts.compression != "none")
    out.push_back({severity::severe, fmt::format("the file system compresses ({})", *facts.compression),
                   "Less than was written reaches the device, and how much less depends on the data.", std::nullopt});
  if (facts.direct.possible == false)
    out.push_back({severity::warning, "direct I/O is not possible there",
                   facts.direct.reason ? "The direct mode cannot be measured: " + *facts.direct.reason + '.'
                                       : "The direct mode cannot be measured.",
                   std::nullopt});
  if (facts.type == "overlay")
    out.push_back(
        {severity::warning, "the file system is an overlay",
         "Each operation passes through a second file system, which cannot say whether a read would wait: an "
         "asynchronous cached read may wait on the thread that submits it. A volume or bind mount shows the first file "
         "system alone.",
         std::nullopt});
  if (facts.type && facts.type->starts_with("fuse"))
    out.push_back({severity::warning, fmt::format("the file system is a process of its own ({})", *facts.type),
                   "Each operation wakes that process, which may have a cache of its own.", std::nullopt});
  if (facts.copy_on_write == true)
    out.push_back(
        {severity::note, fmt::format("{} copies on write", *facts.type),
         "Each write allocates and updates checksums, and direct reads may go through the cache to verify them.",
         std::nullopt});
  const auto has = [&](const char* option) { return std::ranges::find(facts.options, option) != facts.options.end(); };
  if (has("nobarrier") || has("barrier=0"))
    out.push_back({severity::severe, "the file system is mounted with nobarrier",
                   "It sends the device no flushes: what the figures call flushed is lost when the power fails, and "
                   "takes too little time.",
                   std::nullopt});
  if (facts.log_in_memory == true)
    out.push_back(
        {severity::severe, "the log of the file system lies in memory",
         "What waits for the log (syncs, new and longer files) waits for memory: it takes too little time, and "
         "is lost when the power fails.",
         std::nullopt});
  if (std::ranges::find(facts.options, "discard") != facts.options.end())
    out.push_back({severity::note, "the file system is mounted with discard",
                   "Deleting or truncating a file trims the device at once, which delays operations beside it.",
                   std::nullopt});
  if (facts.free_bytes && facts.size_bytes && *facts.free_bytes < *facts.size_bytes / 10)
    out.push_back(
        {severity::note,
         fmt::format("the file system is {:.0f} % full",
                     100.0 - 100.0 * static_cast<double>(*facts.free_bytes) / static_cast<double>(*facts.size_bytes)),
         "A nearly full drive has to clear blocks before it writes, and a nearly full file system fragments.",
         std::nullopt});
}

// Only what really has heads gains by an order. Virtual disks pass for rotational, whatever the host has.
bool without_heads(const device_facts& device) { return device.rotational == false || device.transport == "virtio"; }

// A parameter of the driver's, read when it is loaded (modprobe.d(5)); that of the root disk when the system starts.
std::optional<std::string> more_poll_queues(const device_facts& device) {
  constexpr const char* line =
      "echo 'options {0} poll_queues={1}' > /etc/modprobe.d/{0}.conf; update-initramfs -u; reboot";
  if (device.transport == "nvme") return fmt::format(fmt::runtime(line), "nvme", 2);
  if (device.transport == "virtio") return fmt::format(fmt::runtime(line), "virtio_blk", 1);
  return std::nullopt;
}

void on_queue(const device_facts& device, all_advice& out) {
  if (device.counts_operations == false && device.kind != "partition")
    out.push_back({severity::warning, fmt::format("{} does not count its operations", device.name),
                   "Without its statistics direct I/O cannot be verified.", set(device, "iostats", "1")});
  if (!is_lowest(device)) return;
  if (device.scheduler && *device.scheduler != "none" && without_heads(device))
    out.push_back({severity::warning, fmt::format("the scheduler of {} is {}", device.name, *device.scheduler),
                   "It holds and sorts requests, which costs time on each and halves the rate of a fast drive.",
                   set(device, "scheduler", "none")});
  if (device.write_throttle_us.value_or(0) > 0)
    out.push_back(
        {severity::note,
         fmt::format("{} slows writes when reads take more than {} µs", device.name, *device.write_throttle_us),
         "Cached writes are then limited by that, not by the device.", set(device, "wbt_lat_usec", "0")});
  if (device.polling == false)
    out.push_back({severity::note, fmt::format("{} has no queues to poll", device.name),
                   "Polled completions (IOPOLL) are refused, and interrupts are part of each operation.",
                   more_poll_queues(device)});
  if (device.write_cache == "write back")
    out.push_back({severity::note, fmt::format("{} has a volatile write cache", device.name),
                   "A write that is accepted is not yet durable; a durable one waits for a flush of the cache.",
                   std::nullopt});
  if (device.write_cache == overridden_cache)
    out.push_back(
        {severity::severe, fmt::format("{} is set to write through, but has a volatile cache", device.name),
         "The kernel sends it no flushes: what the figures call flushed is lost when the power fails, and takes "
         "too little time.",
         set(device, "write_cache", "'write back'")});
  if (device.write_cache && device.write_cache->find("passes no flushes") != std::string::npos)
    out.push_back(
        {severity::warning,
         fmt::format("Windows passes no flushes on to {}, which has a volatile write cache", device.name),
         "What the figures call durable is lost when the power fails. The policies of the drive (Device Manager) "
         "have a setting for that.",
         std::nullopt});
}

// That of the uppermost device counts, which for a partition is its disk's.
void on_read_ahead(const std::vector<device_facts>& devices, all_advice& out) {
  constexpr std::uint64_t usual_kib = 128;
  const auto device =
      std::ranges::find_if(devices, [](const device_facts& each) { return each.read_ahead_kib.has_value(); });
  if (device == devices.end() || *device->read_ahead_kib <= usual_kib) return;
  out.push_back({severity::warning,
                 fmt::format("{} reads {} ahead", device->name, bytes_in_words(*device->read_ahead_kib * 1024)),
                 "One fault of a mapped file may read all of that, and makes the next reads look fast.",
                 set(*device, "read_ahead_kb", std::to_string(usual_kib))});
}

void on_link(const device_facts& device, all_advice& out) {
  if (!device.pcie) return;
  const pcie_facts& pcie = *device.pcie;
  const bool slower = pcie.speed_gts && pcie.highest_speed_gts && *pcie.speed_gts < *pcie.highest_speed_gts;
  const bool narrower = pcie.lanes && pcie.highest_lanes && *pcie.lanes < *pcie.highest_lanes;
  if (!slower && !narrower) return;
  const auto is_of_address = [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f') || each == ':' || each == '.';
  };
  const bool is_address = !pcie.address.empty() && std::ranges::all_of(pcie.address, is_of_address);
  out.push_back(
      {severity::warning,
       fmt::format("the link of {} runs at {:g} GT/s x{} of {:g} GT/s x{}", device.name, pcie.speed_gts.value_or(0),
                   pcie.lanes.value_or(0), pcie.highest_speed_gts.value_or(0), pcie.highest_lanes.value_or(0)),
       fmt::format("The slot, a cable or power saving limits its bandwidth{}.",
                   is_address ? fmt::format(" (lspci -vv -s {} shows details)", pcie.address) : ""),
       std::nullopt});
}

void on_numa(const device_facts& device, const cpu_facts& cpu, all_advice& out) {
  if (!device.pcie || !device.pcie->numa_node || cpu.numa_nodes.value_or(1) < 2) return;
  out.push_back({severity::note, fmt::format("{} is attached to NUMA node {}", device.name, *device.pcie->numa_node),
                 "From another node each operation crosses the link between the processors.",
                 fmt::format("numactl --cpunodebind={0} --membind={0} qd1 …", *device.pcie->numa_node)});
}

// The drivers' names in Intel's and AMD's packages: RST, VMD, VROC; RAIDXpert.
bool is_raid_driver(std::string_view driver) {
  return driver.starts_with("iaStor") || driver.starts_with("iaVROC") || driver.starts_with("rcraid") ||
         driver.starts_with("rcbottom");
}

void on_windows_volume(const device_facts& device, all_advice& out) {
  if (device.driver && is_raid_driver(*device.driver))
    out.push_back({severity::note, fmt::format("{} is served by {}", device.name, *device.driver),
                   "A RAID driver (RST, VMD) stands between Windows and the drive, in place of stornvme. Its "
                   "figures are not those of the same drive on another machine without it.",
                   std::nullopt});
  if (device.encryption && device.encryption->starts_with("BitLocker"))
    out.push_back({severity::note, fmt::format("{} is encrypted by {}", device.name, *device.encryption),
                   "The processor encrypts each write and decrypts each read of the device, unless the drive does.",
                   std::nullopt});
}

void on_loop(const device_facts& device, all_advice& out) {
  if (device.kind != "loop") return;
  out.push_back({severity::warning, fmt::format("{} is a loop device", device.name),
                 "Each operation is handed to a kernel thread and passes a second file system.", std::nullopt});
  if (device.loop_direct == false)
    out.push_back({severity::severe, fmt::format("{} reads and writes its file through the page cache", device.name),
                   "What is direct above it is served from memory below it.", bypass_cache(device)});
}

void on_condition(const device_facts& device, all_advice& out) {
  if (device.raid_activity && *device.raid_activity != "idle")
    out.push_back({severity::severe, fmt::format("{} is busy with a {}", device.name, *device.raid_activity),
                   "The disks are shared with it until it has finished (see /proc/mdstat).", std::nullopt});
  constexpr double hot_c = 70;
  if (device.temperature_c.value_or(0) >= hot_c)
    out.push_back({severity::warning, fmt::format("{} is at {:.0f} °C", device.name, *device.temperature_c),
                   "Drives slow themselves when they get hot, usually from 70 to 85 °C.", std::nullopt});
}

void on_alignment(const device_facts& partition, const std::vector<device_facts>& devices, all_advice& out) {
  if (!partition.start_bytes || partition.over.size() != 1) return;
  const auto disk = std::ranges::find(devices, partition.over.front(), &device_facts::name);
  if (disk == devices.end() || disk->physical_block_bytes.value_or(0) == 0) return;
  if (*partition.start_bytes % *disk->physical_block_bytes == 0) return;
  out.push_back({severity::severe, fmt::format("{} does not start at a block of the device", partition.name),
                 fmt::format("Each aligned write touches two physical blocks of {} bytes, which the drive reads first.",
                             *disk->physical_block_bytes),
                 std::nullopt});
}

}  // namespace

void advise_on_storage(const machine_facts& machine, std::vector<recommendation>& out) {
  on_medium(machine, out);
  on_filesystem(machine.filesystem, out);
  on_read_ahead(machine.devices, out);
  for (const device_facts& device : machine.devices) {
    on_queue(device, out);
    on_link(device, out);
    on_numa(device, machine.host.cpu, out);
    on_windows_volume(device, out);
    on_loop(device, out);
    on_condition(device, out);
    on_alignment(device, machine.devices, out);
  }
}

}  // namespace qd1
