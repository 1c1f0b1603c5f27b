// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <qd1/machine/present.hpp>
#include <qd1/machine/units.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace qd1 {
namespace {

using text = std::optional<std::string>;

text in_bytes(const std::optional<std::uint64_t>& value) { return value ? text(bytes_in_words(*value)) : std::nullopt; }

text in_kib(const std::optional<std::uint64_t>& value) {
  return value ? text(fmt::format("{} KiB", *value)) : std::nullopt;
}

template <class Value>
text as(const char* format, const std::optional<Value>& value) {
  return value ? text(fmt::format(fmt::runtime(format), *value)) : std::nullopt;
}

text either(const std::optional<bool>& value, const char* yes = "yes", const char* no = "no") {
  return value ? text(*value ? yes : no) : std::nullopt;
}

// The parts that are there; absent if none is.
text joined(std::initializer_list<text> parts, const char* separator = ", ") {
  std::vector<std::string> present;
  for (const text& part : parts)
    if (part && !part->empty()) present.push_back(*part);
  return present.empty() ? std::nullopt : text(fmt::format("{}", fmt::join(present, separator)));
}

text list(const std::vector<std::string>& all, const char* separator = ", ") {
  return all.empty() ? std::nullopt : text(fmt::format("{}", fmt::join(all, separator)));
}

text chosen(const text& current, const std::vector<std::string>& available) {
  if (!current || available.size() < 2) return current;
  return fmt::format("{} (of {})", *current, fmt::join(available, ", "));
}

class writer {
 public:
  explicit writer(std::string title) : section_{std::move(title), {}} {}

  void setting(const char* label, text value) { add(label, std::move(value), nature::setting); }
  void momentary(const char* label, text value) { add(label, std::move(value), nature::momentary); }
  section take() { return std::move(section_); }

 private:
  void add(const char* label, text value, qd1::nature nature) {
    if (value) section_.lines.push_back({label, std::move(*value), nature});
  }

  section section_;
};

section present_system(const host_facts& host) {
  const virtual_facts& machine = host.virtualization;
  writer lines("System");
  lines.setting("system", host.system);
  lines.setting("kernel", host.kernel);
  lines.setting("emulated by", machine.emulator);
  lines.setting("machine", machine.product);
  lines.setting("hypervisor",
                machine.hypervisor_name ? machine.hypervisor_name : either(machine.hypervisor, "yes", "none"));
  lines.setting("its own hypervisor", either(machine.root_partition));
  lines.setting("memory integrity", either(machine.memory_integrity, "on", "off"));
  lines.setting("virus scanner", host.virus_scanner);
  lines.setting("container", machine.container);
  lines.momentary("steal", as("{:.2f} % of processor time since the start", machine.steal_percent));
  return lines.take();
}

text idle_states(const cpu_facts& cpu) {
  std::vector<std::string> states;
  states.reserve(cpu.idle_states.size());
  for (const idle_state& state : cpu.idle_states)
    states.push_back(fmt::format("{}{}{}", state.name, as(" {} µs", state.exit_latency_us).value_or(""),
                                 state.disabled == true ? " (off)" : ""));
  return list(states);
}

text vulnerabilities(const cpu_facts& cpu) {
  std::vector<std::string> shortened = cpu.vulnerabilities;
  for (std::string& each : shortened)
    if (const std::size_t at = each.find("Mitigation: "); at != std::string::npos) each.erase(at, 12);
  return list(shortened, "; ");
}

section present_processor(const host_facts& host) {
  const cpu_facts& cpu = host.cpu;
  writer lines("Processor");
  lines.setting("model", joined({cpu.model, cpu.architecture}));
  lines.setting("topology", joined({as("packages {}", cpu.packages), as("cores {}", cpu.cores),
                                    as("threads {}", cpu.threads), as("NUMA nodes {}", cpu.numa_nodes)}));
  lines.setting("allowed threads", as("{}", cpu.threads_allowed));
  lines.setting("kinds of cores",
                joined({list(cpu.core_kinds, " faster than "), as("{} allowed", cpu.core_kinds_allowed)}));
  lines.setting("SMT", either(cpu.simultaneous_threads, "on", "off"));
  lines.setting("isolated", cpu.isolated);
  lines.momentary("frequency now", joined({as("{} MHz", cpu.frequency_mhz), as("on CPU {}", cpu.current)}));
  lines.setting("frequencies", joined({as("{} MHz", cpu.lowest_mhz), as("{} MHz", cpu.highest_mhz)}, " to "));
  lines.setting("governor",
                joined({cpu.governor, as("by {}", cpu.frequency_driver), as("prefers {}", cpu.energy_preference)}));
  lines.setting("power plan", cpu.power_plan);
  lines.setting("boost", either(cpu.boost, "on", "off"));
  lines.setting("idle states", idle_states(cpu));
  lines.setting("idle governor", joined({cpu.idle_governor, as("by {}", cpu.idle_driver)}));
  lines.setting("mitigations", vulnerabilities(cpu));
  lines.momentary("load", as("{:.2f} over the last minute", cpu.load_average));
  lines.setting("power", either(cpu.on_battery, "battery", "mains"));
  lines.setting("clock source", chosen(host.clock.source, host.clock.available));
  lines.setting("TSC", either(host.clock.invariant_tsc, "invariant", "not invariant"));
  return lines.take();
}

text dirty_limit(const std::optional<std::uint64_t>& limit, const text& setting) {
  return joined({in_bytes(limit), setting ? text(fmt::format("set to {}", *setting)) : std::nullopt});
}

section present_memory(const memory_facts& memory) {
  writer lines("Memory");
  lines.setting("total", in_bytes(memory.total_bytes));
  lines.momentary("available", in_bytes(memory.available_bytes));
  lines.momentary("dirty", in_bytes(memory.dirty_bytes));
  lines.momentary("in writeback", in_bytes(memory.writeback_bytes));
  lines.momentary("dirty limit", dirty_limit(memory.dirty_limit_bytes, memory.dirty_setting));
  lines.momentary("background limit",
                  dirty_limit(memory.dirty_background_limit_bytes, memory.dirty_background_setting));
  lines.setting("swap", in_bytes(memory.swap_total_bytes));
  lines.momentary("swap free",
                  memory.swap_total_bytes == std::uint64_t{0} ? std::nullopt : in_bytes(memory.swap_free_bytes));
  lines.setting("huge pages", memory.huge_pages);
  return lines.take();
}

section present_limits(const limit_facts& limits) {
  writer lines("Limits of this process");
  lines.setting("memory", in_bytes(limits.memory_bytes));
  lines.momentary("memory used", in_bytes(limits.memory_used_bytes));
  lines.setting("processors", as("{:.2f}", limits.cpus));
  lines.setting("I/O", list(limits.io, "; "));
  lines.setting("locked memory", in_bytes(limits.locked_memory_bytes));
  lines.setting("io_uring", limits.io_uring);
  lines.setting("scheduling", limits.scheduling);
  lines.setting("I/O priority", limits.io_priority);
  return lines.take();
}

text direct(const direct_facts& facts) {
  if (!facts.possible) return std::nullopt;
  if (!*facts.possible) return joined({"no", facts.reason}, ": ");
  const text aligned = joined({as("memory {}", facts.memory_alignment), as("read {}", facts.read_alignment),
                               as("write {}", facts.write_alignment)});
  return joined({joined({"aligned to", aligned}, " "), as("({})", facts.reason)}, " ");
}

section present_filesystem(const filesystem_facts& facts) {
  writer lines("File system");
  lines.setting("type", facts.type);
  lines.setting("layer of the file", facts.upper);
  lines.setting("external log in memory", either(facts.log_in_memory));
  lines.momentary("mounted on", facts.mount_point);
  lines.momentary("device", facts.source);
  lines.setting("options", list(facts.options, ","));
  lines.setting("block", in_bytes(facts.block_bytes));
  lines.momentary("size", in_bytes(facts.size_bytes));
  lines.momentary("free", in_bytes(facts.free_bytes));
  lines.setting("copy on write", either(facts.copy_on_write));
  lines.setting("compression", facts.compression);
  lines.setting("encrypted", either(facts.encrypted));
  lines.setting("direct I/O", direct(facts.direct));
  return lines.take();
}

text link(const std::optional<double>& speed, const std::optional<std::uint64_t>& lanes) {
  return joined({as("{:g} GT/s", speed), as("x{}", lanes)}, " ");
}

void present_pcie(const pcie_facts& pcie, writer& lines) {
  lines.momentary("PCI address", joined({pcie.address, list(pcie.upstream, ", "), pcie.root_complex}, " under "));
  lines.setting("link now", link(pcie.speed_gts, pcie.lanes));
  lines.setting("link at most", link(pcie.highest_speed_gts, pcie.highest_lanes));
  lines.setting("NUMA node", as("{}", pcie.numa_node));
  lines.setting("local CPUs", pcie.local_cpus);
}

text polling(const device_facts& device) {
  return joined({either(device.polling, "possible", "not possible"), as("poll queues {}", device.poll_queues)});
}

text write_cache(const device_facts& device) {
  return joined({device.write_cache, either(device.force_unit_access, "FUA", "no FUA")});
}

text largest_transfer(const device_facts& device) {
  return joined({in_kib(device.largest_transfer_kib), as("of {} KiB possible", device.largest_hardware_transfer_kib)});
}

text write_throttle(const device_facts& device) {
  if (device.write_throttle_us == std::uint64_t{0}) return "off";
  return as("when reads take {} µs", device.write_throttle_us);
}

text merges(const device_facts& device) {
  if (!device.merge_limit) return std::nullopt;
  return *device.merge_limit == 0 ? "on" : *device.merge_limit == 1 ? "simple ones only" : "off";
}

text power_saving(const device_facts& device) {
  if (!device.wake_up_limit) return std::nullopt;
  if (device.wake_up_limit == "0") return "off";
  if (device.wake_up_limit == "any") return "on, wakes up within any time";
  return fmt::format("on, wakes up within {} µs", *device.wake_up_limit);
}

section present_device(const device_facts& device) {
  const std::string over = device.over.empty() ? "" : fmt::format(" over {}", fmt::join(device.over, ", "));
  writer lines(fmt::format("Device {}: {}{}", device.name, device.kind, over));
  lines.setting("model", joined({device.vendor, device.model, as("firmware {}", device.firmware)}));
  lines.setting("transport", device.transport);
  lines.setting("driver", device.driver);
  lines.setting("encryption", device.encryption);
  lines.setting("size", in_bytes(device.size_bytes));
  lines.setting("starts at", in_bytes(device.start_bytes));
  lines.setting("rotational", either(device.rotational));
  lines.setting("scheduler", chosen(device.scheduler, device.schedulers));
  lines.setting("read-ahead", in_kib(device.read_ahead_kib));
  lines.setting("queue", joined({as("requests {}", device.requests), as("queues {}", device.queues)}));
  lines.setting("largest transfer", largest_transfer(device));
  lines.setting("blocks",
                joined({as("logical {}", device.logical_block_bytes), as("physical {}", device.physical_block_bytes)}));
  lines.setting("atomic writes",
                device.atomic_write_bytes == std::uint64_t{0} ? text("no") : in_bytes(device.atomic_write_bytes));
  lines.setting("write cache", write_cache(device));
  lines.setting("write throttle", write_throttle(device));
  lines.setting("power saving", power_saving(device));
  lines.setting("polling", polling(device));
  lines.setting("merges", merges(device));
  lines.setting("statistics", either(device.counts_operations, "on", "off"));
  lines.setting("discard", either(device.discard));
  lines.setting("zones", device.zones);
  lines.setting("loop direct I/O", either(device.loop_direct, "on", "off"));
  lines.setting("its file is on", device.backing);
  lines.momentary("RAID activity", device.raid_activity);
  lines.momentary("temperature", as("{:.0f} °C", device.temperature_c));
  if (device.pcie) present_pcie(*device.pcie, lines);
  return lines.take();
}

}  // namespace

const std::string* section::find(std::string_view label) const {
  const auto found = std::ranges::find(lines, label, &line::label);
  return found == lines.end() ? nullptr : &found->text;
}

std::vector<section> present(const machine_facts& machine) {
  std::vector<section> sections = {present_system(machine.host), present_processor(machine.host),
                                   present_memory(machine.host.memory), present_limits(machine.host.limits),
                                   present_filesystem(machine.filesystem)};
  for (const device_facts& device : machine.devices) sections.push_back(present_device(device));
  return sections;
}

}  // namespace qd1
