// SPDX-License-Identifier: BSL-1.0
// Documentation/ABI/testing/sysfs-devices-system-cpu, Documentation/admin-guide/pm/{cpufreq,cpuidle,intel_pstate}.rst,
// proc(5). Kinds of cores: "cpu_capacity" where firmware describes them (ARM64); on Intel's hybrid processors the
// devices of the performance counters (tools/perf/Documentation/intel-hybrid.txt).
#include <qd1/machine/core_kinds.hpp>
#include <qd1/machine/linux/arm_models.hpp>
#include <qd1/machine/linux/cpu.hpp>
#include <qd1/machine/linux/text.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1::linux_system {
namespace {

const std::filesystem::path cpus = "sys/devices/system/cpu";

std::filesystem::path directory_of(std::uint64_t thread) { return cpus / ("cpu" + std::to_string(thread)); }

void find_topology(const tree& system, cpu_facts& facts) {
  const auto online = to_cpu_list(system.text(cpus / "online").value_or(""));
  if (online.empty()) return;
  facts.threads = online.size();
  std::set<std::string> packages, cores;
  for (const std::uint64_t thread : online) {
    const std::filesystem::path topology = directory_of(thread) / "topology";
    const auto package = system.text(topology / "physical_package_id");
    const auto core = system.text(topology / "core_id");
    if (!package || !core) return;
    packages.insert(*package);
    cores.insert(*package + ':' + *core);
  }
  facts.packages = packages.size();
  facts.cores = cores.size();
}

std::vector<ranked_thread> threads_by_capacity(const tree& system) {
  std::vector<ranked_thread> found;
  for (const std::uint64_t thread : to_cpu_list(system.text(cpus / "online").value_or("")))
    if (const auto capacity = system.number(directory_of(thread) / "cpu_capacity"))
      found.push_back({*capacity, thread});
  return found;
}

std::vector<ranked_thread> threads_by_counters(const tree& system) {
  std::vector<ranked_thread> found;
  std::uint64_t rank = 0;
  for (const char* kind : {"cpu_lowpower", "cpu_atom", "cpu_core"}) {
    const std::filesystem::path device = std::filesystem::path("sys/devices") / kind;
    for (const std::uint64_t thread : to_cpu_list(system.text(device / "cpus").value_or("")))
      found.push_back({rank, thread});
    ++rank;
  }
  return found;
}

void find_core_kinds(const tree& system, const std::vector<std::uint64_t>& allowed, cpu_facts& facts) {
  std::vector<ranked_thread> threads = threads_by_counters(system);
  if (threads.empty()) threads = threads_by_capacity(system);
  if (!allowed.empty())
    for (ranked_thread& each : threads) each.allowed = std::ranges::binary_search(allowed, each.number);
  set_core_kinds(std::move(threads), facts);
}

// /proc/cpuinfo has a paragraph for each thread. Where there is no frequency driver (in most virtual machines) the
// kernel still shows there how fast the processor runs.
std::optional<std::uint64_t> mhz_by_cpuinfo(std::string_view cpuinfo, std::uint64_t thread) {
  std::optional<std::uint64_t> of;
  for (const std::string_view line : lines(cpuinfo)) {
    if (const auto number = value_of(line, "processor")) of = to_number(*number);
    if (const auto mhz = value_of(line, "cpu MHz"); mhz && of == thread)
      if (const auto value = to_decimal(*mhz); value && *value >= 0 && *value < 1e9)
        return static_cast<std::uint64_t>(std::lround(*value));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> mhz(const tree& system, const std::filesystem::path& khz_file) {
  const auto khz = system.number(khz_file);
  return khz ? std::optional((*khz + 500) / 1000) : std::nullopt;
}

void find_frequency(const tree& system, std::string_view cpuinfo, cpu_facts& facts) {
  const std::filesystem::path policy = directory_of(*facts.current) / "cpufreq";
  facts.frequency_mhz = mhz(system, policy / "scaling_cur_freq");
  if (!facts.frequency_mhz) facts.frequency_mhz = mhz_by_cpuinfo(cpuinfo, *facts.current);
  facts.lowest_mhz = mhz(system, policy / "scaling_min_freq");
  facts.highest_mhz = mhz(system, policy / "scaling_max_freq");
  facts.frequency_driver = system.text(policy / "scaling_driver");
  facts.governor = system.text(policy / "scaling_governor");
  facts.energy_preference = system.text(policy / "energy_performance_preference");
  facts.boost = system.flag(cpus / "cpufreq/boost");
  if (const auto off = system.flag(cpus / "intel_pstate/no_turbo")) facts.boost = !*off;
}

void find_idle_states(const tree& system, cpu_facts& facts) {
  facts.idle_driver = system.text(cpus / "cpuidle/current_driver");
  facts.idle_governor = system.text(cpus / "cpuidle/current_governor");
  if (!facts.idle_governor) facts.idle_governor = system.text(cpus / "cpuidle/current_governor_ro");
  const std::filesystem::path states = directory_of(*facts.current) / "cpuidle";
  for (const std::string& state : system.names(states))
    if (const auto name = system.text(states / state / "name"))
      facts.idle_states.push_back(
          {*name, system.number(states / state / "latency"), system.flag(states / state / "disable")});
}

void find_vulnerabilities(const tree& system, cpu_facts& facts) {
  for (const std::string& name : system.names(cpus / "vulnerabilities"))
    if (const auto state = system.text(cpus / "vulnerabilities" / name); state && *state != "Not affected")
      facts.vulnerabilities.push_back(name + ": " + *state);
}

// Documentation/ABI/testing/sysfs-class-power: the mains say whether they are "online".
std::optional<bool> on_battery(const tree& system) {
  std::optional<bool> found;
  for (const std::string& supply : system.names("sys/class/power_supply")) {
    const std::filesystem::path directory = std::filesystem::path("sys/class/power_supply") / supply;
    if (system.text(directory / "type") != "Mains") continue;
    if (const auto plugged = system.flag(directory / "online")) found = found.value_or(true) && !*plugged;
  }
  return found;
}

std::optional<double> load_average(const tree& system) {
  const auto text = system.text("proc/loadavg");
  if (!text || text->empty()) return std::nullopt;
  return to_decimal(words(*text).front());
}

}  // namespace

cpu_facts find_cpu(const tree& system, std::uint64_t current) {
  cpu_facts facts;
  facts.current = current;
  const std::string cpuinfo = system.text("proc/cpuinfo").value_or("");
  facts.model = value_of(cpuinfo, "model name");
  if (!facts.model) facts.model = arm_models(cpuinfo);
  find_topology(system, facts);
  if (const auto nodes = to_cpu_list(system.text("sys/devices/system/node/online").value_or("")); !nodes.empty())
    facts.numa_nodes = nodes.size();
  const std::string status = system.text("proc/self/status").value_or("");
  const auto allowed_list = value_of(status, "Cpus_allowed_list");
  const auto allowed = to_cpu_list(allowed_list.value_or(""));
  if (allowed_list) facts.threads_allowed = allowed.size();
  find_core_kinds(system, allowed, facts);
  facts.simultaneous_threads = system.flag(cpus / "smt/active");
  if (auto isolated = system.text(cpus / "isolated"); isolated && !isolated->empty())
    facts.isolated = std::move(isolated);
  find_frequency(system, cpuinfo, facts);
  find_idle_states(system, facts);
  find_vulnerabilities(system, facts);
  facts.load_average = load_average(system);
  facts.on_battery = on_battery(system);
  return facts;
}

}  // namespace qd1::linux_system
