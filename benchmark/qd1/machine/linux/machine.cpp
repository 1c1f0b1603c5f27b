// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/linux/clock.hpp>
#include <qd1/machine/linux/cpu.hpp>
#include <qd1/machine/linux/device.hpp>
#include <qd1/machine/linux/filesystem.hpp>
#include <qd1/machine/linux/limits.hpp>
#include <qd1/machine/linux/machine.hpp>
#include <qd1/machine/linux/memory.hpp>
#include <qd1/machine/linux/stack.hpp>
#include <qd1/machine/linux/text.hpp>
#include <qd1/machine/linux/virtualization.hpp>

namespace qd1::linux_system {
namespace {

// os-release(5)
std::optional<std::string> system_name(const tree& system) {
  for (const char* file : {"etc/os-release", "usr/lib/os-release"})
    if (const auto text = system.text(file))
      if (const auto name = value_of(*text, "PRETTY_NAME")) return std::string(*name);
  return std::nullopt;
}

std::optional<std::string> kernel(const tree& system) {
  const auto type = system.text("proc/sys/kernel/ostype");
  const auto release = system.text("proc/sys/kernel/osrelease");
  if (!type || !release) return std::nullopt;
  return *type + ' ' + *release;
}

// An external log: XFS names it in its options; ext4 names its journal's thread after the device of the journal
// ("jbd2/vda1-8" with a journal in the file system, "jbd2/zram0" with an external one).
std::string device_of_log(const tree& system, const mount& on, const std::string& device) {
  if (const auto log = on.option("logdev")) return std::filesystem::path(*log).filename().string();
  const auto thread = system.text("sys/fs/ext4/" + device + "/journal_task");
  const std::string name = thread ? system.text("proc/" + *thread + "/comm").value_or("") : "";
  return name.starts_with("jbd2/") && !name.starts_with("jbd2/" + device + '-') ? name.substr(5) : "";
}

std::optional<bool> has_log_in_memory(const tree& system, const mount& on, const std::string& device) {
  const std::string log = device_of_log(system, on, device);
  if (log.empty()) return std::nullopt;
  for (const std::string_view memory : {"zram", "ram", "nullb"})
    if (log.starts_with(memory)) return true;
  return false;
}

void find_storage(const tree& system, const std::vector<mount>& mounts, const location& where, machine_facts& machine) {
  for (const stacked_device& device : find_stack(system, mounts, where))
    machine.devices.push_back(find_device(system, device));
  const mount* const on = where.block_device ? nullptr : mount_under(mounts, where);
  if (on == nullptr) return;
  machine.filesystem = find_filesystem(where, *on);
  if (on->type == "overlay")
    if (const mount* const layer = layer_mount(system, mounts, *on, where.path)) machine.filesystem.upper = layer->type;
  if (!machine.devices.empty())
    machine.filesystem.log_in_memory = has_log_in_memory(system, *on, machine.devices.front().name);
  // Not as mountinfo names it: /dev/mapper has names that people gave, and a server's name is private.
  if (!machine.devices.empty()) machine.filesystem.source = "/dev/" + machine.devices.front().name;
}

// Not in the kernel's documentation of the interface; drivers/thermal/intel/therm_throt.c has what it counts.
std::optional<std::uint64_t> throttled(const tree& system) {
  std::optional<std::uint64_t> sum;
  for (const std::uint64_t thread : to_cpu_list(system.text("sys/devices/system/cpu/online").value_or("")))
    if (const auto count = system.number("sys/devices/system/cpu/cpu" + std::to_string(thread) +
                                         "/thermal_throttle/core_throttle_count"))
      sum = sum.value_or(0) + *count;
  return sum;
}

std::optional<std::uint64_t> frequency_mhz(const tree& system, const cpu_facts& cpu) {
  if (!cpu.current) return std::nullopt;
  const auto khz =
      system.number("sys/devices/system/cpu/cpu" + std::to_string(*cpu.current) + "/cpufreq/scaling_cur_freq");
  return khz ? std::optional((*khz + 500) / 1000) : std::nullopt;
}

}  // namespace

// Documentation/scheduler/sched-stats.rst: ran, waited (both in nanoseconds), how often.
std::optional<std::uint64_t> waited_ns(const tree& system) {
  const std::string text = system.text("proc/thread-self/schedstat").value_or("");
  const auto fields = words(text);
  return fields.size() == 3 ? to_number(fields[1]) : std::nullopt;
}

machine_facts find_machine(const tree& system, const location& where, std::uint64_t current_cpu,
                           std::uint64_t page_bytes) {
  const std::vector<mount> mounts = parse_mounts(system.text("proc/self/mountinfo").value_or(""));
  machine_facts machine;
  machine.host = {.system = system_name(system),
                  .kernel = kernel(system),
                  .cpu = find_cpu(system, current_cpu),
                  .clock = find_clock(system),
                  .virtualization = find_virtualization(system),
                  .memory = find_memory(system, page_bytes),
                  .limits = find_limits(system, mounts),
                  .virus_scanner = {}};
  find_storage(system, mounts, where, machine);
  return machine;
}

machine_counters count(const tree& system, const machine_facts& machine) {
  machine_counters now;
  now.processors = parse_processor_time(system.text("proc/stat").value_or(""));
  now.waited_ns = waited_ns(system);
  now.throttled = throttled(system);
  now.frequency_mhz = frequency_mhz(system, machine.host.cpu);
  for (const device_facts& device : machine.devices) {
    const auto stat = system.text("sys/class/block/" + device.name + "/stat");
    auto counters = stat ? parse_device_counters(*stat) : std::nullopt;
    if (!counters) continue;
    counters->name = device.name;
    now.devices.push_back(std::move(*counters));
  }
  return now;
}

}  // namespace qd1::linux_system
