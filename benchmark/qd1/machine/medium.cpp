// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/medium.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace qd1 {
namespace {

constexpr std::array<std::string_view, 3> in_memory = {"tmpfs", "ramfs", "hugetlbfs"};
constexpr std::array<std::string_view, 11> across_network = {
    "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "fuse.sshfs", "afs", "lustre", "virtiofs"};

}  // namespace

bool is_lowest(const device_facts& device) { return device.over.empty(); }

medium medium_of(const machine_facts& machine) {
  const std::string type = machine.filesystem.type.value_or("");
  if (std::ranges::find(in_memory, type) != in_memory.end()) return medium::memory;
  if (std::ranges::find(across_network, type) != across_network.end()) return medium::network;
  if (type.starts_with("network share")) return medium::network;  // on Windows
  if (machine.devices.empty()) return medium::unknown;
  const bool memory_only = std::ranges::all_of(
      machine.devices, [](const device_facts& device) { return !is_lowest(device) || device.kind == "memory"; });
  return memory_only ? medium::memory : medium::device;
}

}  // namespace qd1
