// SPDX-License-Identifier: BSL-1.0
// What is mounted where, as this process sees it.
#pragma once

#include <qd1/machine/linux/tree.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1::linux_system {

struct mount {
  std::uint64_t id = 0;
  std::string device;  ///< "254:0", major and minor; "0:…" where there is no single block device
  std::string root;    ///< what part of the file system is mounted
  std::string point;
  std::vector<std::string> options;  ///< of this mount, then of the file system
  std::string type;
  std::string source;

  /// The value of `name=value`.
  std::optional<std::string> option(std::string_view name) const;
};

/// /proc/self/mountinfo.
std::vector<mount> parse_mounts(std::string_view mountinfo);

/// The mount that an absolute path, without links, lies on; null if nothing is mounted there.
const mount* mount_of(const std::vector<mount>& mounts, std::string_view path);

const mount* mount_by_id(const std::vector<mount>& mounts, std::uint64_t id);

}  // namespace qd1::linux_system
