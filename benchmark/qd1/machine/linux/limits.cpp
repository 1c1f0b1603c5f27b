// SPDX-License-Identifier: BSL-1.0
// cgroups(7); Documentation/admin-guide/cgroup-v2.rst;
// Documentation/admin-guide/cgroup-v1/{memory,blkio-controller}.rst; Documentation/scheduler/sched-bwc.rst.
#include <qd1/machine/linux/limits.hpp>
#include <qd1/machine/linux/text.hpp>

#include <algorithm>

namespace qd1::linux_system {
namespace {

// The directories that bind this process, from its own group up to the topmost that is seen here.
using groups = memory_groups;

const mount* hierarchy(const std::vector<mount>& mounts, std::string_view controller) {
  for (const mount& each : mounts)
    if (each.type == "cgroup" && std::ranges::find(each.options, controller) != each.options.end()) return &each;
  for (const mount& each : mounts)
    if (each.type == "cgroup2") return &each;
  return nullptr;
}

// In a container the mount shows only its part of the hierarchy, while the path may be one of the host's.
groups find_groups(const tree& system, const std::vector<mount>& mounts, std::string_view controller) {
  const mount* const where = hierarchy(mounts, controller);
  if (where == nullptr) return {};
  groups found{.unified = where->type == "cgroup2", .upwards = {}};
  const std::string membership = system.text("proc/self/cgroup").value_or("");
  std::string group = parse_group(membership, found.unified ? "" : controller).value_or("/");
  if (where->root != "/" && group.starts_with(where->root)) group.erase(0, where->root.size());

  const std::filesystem::path top = std::filesystem::path(where->point).relative_path();
  std::filesystem::path relative = std::filesystem::path(group).relative_path();
  if (!system.exists(top / relative)) relative.clear();
  for (; !relative.empty(); relative = relative.parent_path()) found.upwards.push_back(top / relative);
  found.upwards.push_back(top);
  return found;
}

// A group without a limit reports "max" in version 2, and the largest multiple of a page in version 1.
std::optional<std::uint64_t> limit_of(const tree& system, const std::filesystem::path& file) {
  constexpr std::uint64_t practically_none = std::uint64_t{1} << 62;
  const auto limit = system.number(file);
  return limit && *limit < practically_none ? limit : std::nullopt;
}

template <class Value>
void lower(std::optional<Value>& lowest, const std::optional<Value>& other) {
  if (other && (!lowest || *other < *lowest)) lowest = other;
}

void find_memory_limit(const tree& system, const std::vector<mount>& mounts, limit_facts& facts) {
  const groups memory = find_groups(system, mounts, "memory");
  for (const std::filesystem::path& group : memory.upwards) {
    lower(facts.memory_bytes, limit_of(system, group / (memory.unified ? "memory.max" : "memory.limit_in_bytes")));
    // Beyond memory.high the process is slowed instead of stopped.
    if (memory.unified) lower(facts.memory_bytes, limit_of(system, group / "memory.high"));
  }
  if (!memory.upwards.empty())
    facts.memory_used_bytes =
        system.number(memory.upwards.front() / (memory.unified ? "memory.current" : "memory.usage_in_bytes"));
}

// Version 2: cpu.max is "max 100000" or "150000 100000", time allowed in each period.
std::optional<double> cpus_allowed(const tree& system, const std::filesystem::path& group, bool unified) {
  std::string quota = system.text(group / "cpu.cfs_quota_us").value_or("");
  std::string period = system.text(group / "cpu.cfs_period_us").value_or("");
  if (unified) {
    const std::string both = system.text(group / "cpu.max").value_or("");
    const auto parts = words(both);
    if (parts.size() != 2) return std::nullopt;
    quota = parts[0];
    period = parts[1];
  }
  const auto allowed = to_number(quota);
  const auto of = to_number(period);
  if (!allowed || !of || *of == 0) return std::nullopt;
  return static_cast<double>(*allowed) / static_cast<double>(*of);
}

void find_cpu_limit(const tree& system, const std::vector<mount>& mounts, limit_facts& facts) {
  const groups cpu = find_groups(system, mounts, "cpu");
  for (const std::filesystem::path& group : cpu.upwards) lower(facts.cpus, cpus_allowed(system, group, cpu.unified));
}

// Each line has the number of a device: "8:16 rbps=2097152 wbps=max riops=max wiops=120" in version 2, "8:16 1024" in
// version 1.
void find_io_limits(const tree& system, const std::vector<mount>& mounts, limit_facts& facts) {
  const groups io = find_groups(system, mounts, "blkio");
  const std::vector<std::string> files =
      io.unified ? std::vector<std::string>{"io.max"}
                 : std::vector<std::string>{"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
                                            "blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"};
  for (const std::filesystem::path& group : io.upwards)
    for (const std::string& file : files)
      for (const std::string& line : split(system.text(group / file).value_or(""), '\n'))
        facts.io.push_back(std::string(file).append(" ").append(line));
}

// Documentation/admin-guide/sysctl/kernel.rst. The file is there since Linux 6.6.
std::optional<std::string> io_uring_allowed(const tree& system) {
  switch (system.number("proc/sys/kernel/io_uring_disabled").value_or(3)) {
    case 0: return "allowed";
    case 1: return "restricted";
    case 2: return "forbidden";
    default: return std::nullopt;
  }
}

}  // namespace

limit_facts find_limits(const tree& system, const std::vector<mount>& mounts) {
  limit_facts facts;
  find_memory_limit(system, mounts, facts);
  find_cpu_limit(system, mounts, facts);
  find_io_limits(system, mounts, facts);
  facts.io_uring = io_uring_allowed(system);
  return facts;
}

memory_groups find_memory_groups(const tree& system) {
  return find_groups(system, parse_mounts(system.text("proc/self/mountinfo").value_or("")), "memory");
}

std::optional<std::uint64_t> memory_limit_hits(const tree& system) {
  const memory_groups memory = find_memory_groups(system);
  std::optional<std::uint64_t> most;  // in version 2 a group counts those of the groups below it, too
  for (const std::filesystem::path& group : memory.upwards) {
    if (!memory.unified) {
      if (const auto hits = system.number(group / "memory.failcnt")) most = std::max(most.value_or(0), *hits);
      continue;
    }
    const std::string events = system.text(group / "memory.events").value_or("");
    const auto slowed = to_number(value_of(events, "high").value_or(""));
    const auto stopped = to_number(value_of(events, "max").value_or(""));
    if (slowed && stopped) most = std::max(most.value_or(0), *slowed + *stopped);
  }
  return most;
}

// "4:memory,hugetlb:/user.slice"; version 2 is "0::/user.slice".
std::optional<std::string> parse_group(std::string_view cgroup, std::string_view controller) {
  for (const std::string_view line : lines(cgroup)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view listed = line.substr(first + 1, second - first - 1);
    const std::vector<std::string> controllers = split(listed, ',');
    const bool named = std::ranges::find(controllers, controller) != controllers.end();
    if (named || (controller.empty() && listed.empty())) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

}  // namespace qd1::linux_system
