// SPDX-License-Identifier: BSL-1.0
// Which block devices lie under a file system, one under another: partition, disk; LVM, LUKS, RAID, loop.
#pragma once

#include <qd1/machine/linux/location.hpp>
#include <qd1/machine/linux/mounts.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1::linux_system {

struct stacked_device {
  std::string name;
  std::filesystem::path directory;  ///< under /sys/devices, without links
  std::vector<std::string> over;
  std::optional<std::string> backing;  ///< a loop device: type of the file system that its file lies on
};

/// From the top down, each device once.
std::vector<stacked_device> find_stack(const tree& system, const std::vector<mount>& mounts, const location& where);

/// Overlay: the mount that has the file at this path, in the lower layers, too, or that takes the writes where there is
/// no such file; null where it is not seen from here, as in most containers.
const mount* layer_mount(const tree& system, const std::vector<mount>& mounts, const mount& overlay,
                         const std::filesystem::path& path);

/// The mount that a location is on.
const mount* mount_under(const std::vector<mount>& mounts, const location& where);

}  // namespace qd1::linux_system
