// SPDX-License-Identifier: BSL-1.0
// The sysctl, sysfs and cpupower names are those of Documentation/admin-guide/{pm,sysctl,kernel-parameters.txt} and
// of cpupower(1); of Windows those of powercfg /?.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/units.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace qd1 {
namespace {

using all_advice = std::vector<recommendation>;

void on_frequency(const cpu_facts& cpu, all_advice& out) {
  if (cpu.governor && *cpu.governor != "performance")
    out.push_back(
        {severity::warning, fmt::format("the governor of CPU {} is {}", cpu.current.value_or(0), *cpu.governor),
         "A processor that waits for the device lowers its clock, so the code after each operation runs slowly.",
         "cpupower frequency-set -g performance"});
  if (cpu.power_plan && (*cpu.power_plan == "balanced" || *cpu.power_plan == "power saver"))
    out.push_back(
        {severity::warning, fmt::format("the power plan is {}", *cpu.power_plan),
         "A processor that waits for the device lowers its clock, so the code after each operation runs slowly.",
         "powercfg /setactive SCHEME_MIN"});
  if (cpu.on_battery == true)
    out.push_back({severity::warning, "the machine runs on its battery",
                   "Firmware slows processor, link and drive down to save power.", std::nullopt});
}

// A report may come from anywhere, and a command is run in a shell.
bool is_cpu_list(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == ',' || c == '-'; });
}

void on_core_kinds(const host_facts& host, all_advice& out) {
  const cpu_facts& cpu = host.cpu;
  if (cpu.core_kinds_allowed.value_or(1) < 2 || cpu.core_kinds.empty()) return;
  const bool has_taskset = host.kernel && host.kernel->starts_with("Linux");
  out.push_back(
      {severity::warning,
       fmt::format("the cores are of {} kinds: threads {}", cpu.core_kinds.size(),
                   fmt::join(cpu.core_kinds, " are faster than ")),
       "The system may move a run from one kind to another, within a series or between two that are compared.",
       has_taskset && is_cpu_list(cpu.core_kinds.front())
           ? std::optional(fmt::format("taskset --cpu-list {} qd1 …", cpu.core_kinds.front()))
           : std::nullopt});
}

void on_idle_states(const cpu_facts& cpu, all_advice& out) {
  constexpr std::uint64_t noticeable_us = 10;  // beside 10 to 100 µs of a flash read
  const idle_state* deepest = nullptr;
  for (const idle_state& state : cpu.idle_states)
    if (state.disabled != true && state.exit_latency_us.value_or(0) > noticeable_us)
      if (deepest == nullptr || state.exit_latency_us > deepest->exit_latency_us) deepest = &state;
  if (deepest == nullptr) return;
  out.push_back(
      {severity::warning,
       fmt::format("the processor may sleep as deep as {} ({} µs to wake)", deepest->name, *deepest->exit_latency_us),
       "At queue depth 1 the processor sleeps during each operation, and the time to wake is added to it.",
       fmt::format("cpupower idle-set -D {}", noticeable_us)});
}

void on_load(const cpu_facts& cpu, all_advice& out) {
  if (!cpu.load_average || !cpu.threads || *cpu.load_average < 0.5 * static_cast<double>(*cpu.threads)) return;
  out.push_back(
      {severity::warning,
       fmt::format("{:.1f} threads ran or waited over the last minute, for {} CPUs", *cpu.load_average, *cpu.threads),
       "Other work takes the processor and the device away at random moments, which shows in the tail.", std::nullopt});
}

void on_clock(const clock_facts& clock, all_advice& out) {
  if (!clock.source) return;
  constexpr std::array<std::string_view, 3> slow = {"hpet", "acpi_pm", "jiffies"};
  const bool offered = std::ranges::find(clock.available, "tsc") != clock.available.end();
  if (std::ranges::find(slow, *clock.source) != slow.end())
    out.push_back({severity::severe, fmt::format("the clock source is {}", *clock.source),
                   "Reading it is a system call and a slow device access, a microsecond or more around each operation.",
                   offered ? std::optional<std::string>(
                                 "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource")
                           : std::nullopt});
  else if (clock.invariant_tsc == false)
    out.push_back({severity::warning, "the time stamp counter is not invariant",
                   "It changes its rate with the frequency and stops in sleep, so that it cannot measure time.",
                   std::nullopt});
}

void on_virtualization(const virtual_facts& machine, all_advice& out) {
  if (machine.emulator)
    out.push_back({severity::severe, fmt::format("this is {}, not Windows", *machine.emulator),
                   "Each call is translated, and answered by another system: the figures say nothing about Windows.",
                   std::nullopt});
  constexpr double noticeable_percent = 0.1;
  if (machine.steal_percent.value_or(0) > noticeable_percent)
    out.push_back(
        {severity::warning,
         fmt::format("other guests took {:.2f} % of the processor time since the start", *machine.steal_percent),
         "While another guest runs, an operation seems to take milliseconds, so the tail is the host's.",
         std::nullopt});
  if (machine.root_partition == true)
    out.push_back(
        {severity::note,
         fmt::format("the system runs above its own hypervisor{}",
                     machine.memory_integrity == true ? ", with memory integrity" : ""),
         "Virtualization-based security or Hyper-V has started it. The devices are not virtual, but page faults and "
         "system calls may take longer than without it.",
         std::nullopt});
  else if (machine.hypervisor == true)
    out.push_back(
        {severity::note,
         fmt::format("this is a virtual machine ({})", machine.hypervisor_name.value_or("of an unknown kind")),
         "Each operation passes through the host, whose cache, limits and other guests are part of the figures.",
         std::nullopt});
}

void on_virus_scanner(const host_facts& host, all_advice& out) {
  if (!host.virus_scanner) return;
  out.push_back({severity::warning, fmt::format("{} scans files", *host.virus_scanner),
                 "It scans files that are opened or written during the run, and delays opening them.",
                 host.virus_scanner->starts_with("Microsoft Defender")
                     ? std::optional<std::string>("Add-MpPreference -ExclusionPath DIRECTORY")
                     : std::nullopt});
}

void on_memory(const memory_facts& memory, all_advice& out) {
  if (memory.dirty_bytes && memory.dirty_background_limit_bytes) {
    const std::uint64_t waiting = *memory.dirty_bytes + memory.writeback_bytes.value_or(0);
    if (waiting > *memory.dirty_background_limit_bytes / 4)
      out.push_back({severity::warning, fmt::format("{} of dirty memory wait to be written", bytes_in_words(waiting)),
                     "The kernel will write them during the run, and cached writes reach the dirty limit sooner.",
                     "sync"});
  }
  if (memory.available_bytes && memory.total_bytes && *memory.available_bytes < *memory.total_bytes / 10)
    out.push_back({severity::warning,
                   fmt::format("only {} of memory is available", bytes_in_words(*memory.available_bytes)),
                   "Cached and mapped files are evicted while they are measured, and writers are throttled early.",
                   std::nullopt});
}

void on_group_limits(const limit_facts& limits, all_advice& out) {
  if (!limits.io.empty())
    out.push_back({severity::severe, "a control group limits I/O: " + limits.io.front(),
                   "Operations beyond the limit are delayed by the kernel: the limit is measured, not the device.",
                   std::nullopt});
  if (limits.memory_bytes)
    out.push_back({severity::note,
                   fmt::format("a control group limits memory to {}", bytes_in_words(*limits.memory_bytes)),
                   "The page cache counts, too, so files larger than that do not stay cached.", std::nullopt});
  if (limits.cpus)
    out.push_back(
        {severity::warning, fmt::format("a control group limits the processors to {:.2f}", *limits.cpus),
         "When the quota of a period is used up, everything stops until the next one, for tens of milliseconds.",
         std::nullopt});
}

void on_priority(const limit_facts& limits, all_advice& out) {
  if (limits.scheduling == "idle")
    out.push_back({severity::severe, "this process is scheduled as idle work",
                   "It runs only when nothing else does: latencies are those of waiting for a CPU.",
                   "chrt --other --pid 0 $$"});
  if (const std::string nice = limits.scheduling.value_or(""); nice.starts_with("nice "))
    out.push_back({severity::warning, fmt::format("this process runs with {}", nice),
                   nice.starts_with("nice -")
                       ? "It gets CPUs before others: latencies are better than those of programs."
                       : "Others get CPUs first: latencies include waiting for them.",
                   "renice --priority 0 --pid $$"});
  if (limits.io_priority == "idle")
    out.push_back({severity::severe, "the I/O priority of this process is idle",
                   "Its operations wait until nobody else uses the device.", "ionice --class best-effort --pid $$"});
}

void on_io_uring(const limit_facts& limits, all_advice& out) {
  if (limits.io_uring == "restricted" || limits.io_uring == "forbidden")
    out.push_back(
        {severity::warning, fmt::format("io_uring is {}", *limits.io_uring),
         "Where it may not be used, Linux AIO carries out direct transfers, and threads the rest, which costs "
         "microseconds each.",
         "sysctl kernel.io_uring_disabled=0"});
  // 8 MiB is what Linux gives since 5.16, and enough for the buffers here.
  constexpr std::uint64_t enough = 8 << 20;
  if (limits.locked_memory_bytes && *limits.locked_memory_bytes < enough)
    out.push_back({severity::note,
                   fmt::format("only {} of memory may be locked", bytes_in_words(*limits.locked_memory_bytes)),
                   "Registered buffers are locked memory, and larger ones are refused.", "ulimit -l unlimited"});
}

}  // namespace

void advise_on_host(const host_facts& host, std::vector<recommendation>& out) {
  on_frequency(host.cpu, out);
  on_core_kinds(host, out);
  on_idle_states(host.cpu, out);
  on_load(host.cpu, out);
  on_clock(host.clock, out);
  on_virtualization(host.virtualization, out);
  on_virus_scanner(host, out);
  on_memory(host.memory, out);
  on_group_limits(host.limits, out);
  on_priority(host.limits, out);
  on_io_uring(host.limits, out);
}

}  // namespace qd1
