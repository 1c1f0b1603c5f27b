// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/mounts.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1::linux_system {

/// The control groups that bound the memory of this process.
struct memory_groups {
  bool unified = false;  ///< version 2
  /// Their directories, relative to the root: its own group, then those that this one is in. Empty where none is seen.
  std::vector<std::filesystem::path> upwards;
};
memory_groups find_memory_groups(const tree& system);

/// The limits of this process' control groups, of either version, and what io_uring is allowed to.
limit_facts find_limits(const tree& system, const std::vector<mount>& mounts);

/// How often these groups have reached their memory limit, or the one beyond which they are throttled.
std::optional<std::uint64_t> memory_limit_hits(const tree& system);

/// The group that /proc/self/cgroup names for a version 1 controller, or for version 2 ("").
std::optional<std::string> parse_group(std::string_view cgroup, std::string_view controller);

}  // namespace qd1::linux_system
