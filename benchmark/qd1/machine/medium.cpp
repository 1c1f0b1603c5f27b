// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <qd1/machine/medium.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace qd1 {
namespace {

constexpr std::array<std::string_view, 4> in_memory = {"tmpfs", "devtmpfs", "ramfs", "hugetlbfs"};
constexpr std::array<std::string_view, 11> across_network = {
    "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "fuse.sshfs", "afs", "lustre", "virtiofs"};

bool is_in(std::string_view type, const auto& types) { return std::ranges::find(types, type) != types.end(); }

// Of a file system that does not lie on devices of this system, or does not name them. A device: nothing special.
storage_bottom bottom_of_type(std::string_view type) {
  if (is_in(type, in_memory)) return {medium::memory, fmt::format("{} keeps its files in memory", type)};
  if (is_in(type, across_network) || type.starts_with("network share"))  // the latter on Windows
    return {medium::network, fmt::format("{} is served by another machine", type)};
  if (type.starts_with("fuse"))
    return {medium::unknown, fmt::format("a program serves {}, and what it keeps in memory is unknown", type)};
  return {};
}

storage_bottom bottom_of(const device_facts& lowest) {
  if (lowest.kind == "memory") return {medium::memory, fmt::format("{} keeps its data in memory", lowest.name)};
  if (lowest.kind == "network") return {medium::network, fmt::format("{} is served over a network", lowest.name)};
  const std::string transport = lowest.transport.value_or("");
  if (transport.starts_with("nvme over ") || transport == "iscsi")
    return {medium::network, fmt::format("{} is reached by {}", lowest.name, transport)};
  if (lowest.kind == "disk") return {};
  if (lowest.kind == "persistent memory")
    return {medium::unknown, fmt::format("{} is memory that may be persistent", lowest.name)};
  if (lowest.kind != "loop" || !lowest.backing)
    return {medium::unknown, fmt::format("what lies under {} ({}) is unknown", lowest.name, lowest.kind)};
  const storage_bottom found = bottom_of_type(*lowest.backing);
  if (found.medium == medium::device)
    return {medium::unknown,
            fmt::format("the device under {}, a file on {}, is unknown", lowest.name, *lowest.backing)};
  return {found.medium, fmt::format("{} is a file: {}", lowest.name, found.why)};
}

}  // namespace

bool is_lowest(const device_facts& device) { return device.over.empty(); }

storage_bottom bottom_of(const machine_facts& machine) {
  const filesystem_facts& on = machine.filesystem;
  const std::string type = on.upper.value_or(on.type.value_or("unknown file system"));
  if (storage_bottom found = bottom_of_type(type); found.medium != medium::device) return found;
  if (machine.devices.empty()) return {medium::unknown, fmt::format("the device under the file is unknown ({})", type)};
  storage_bottom worst;
  bool all_alike = true;
  bool is_first = true;
  for (const device_facts& device : machine.devices) {
    if (!is_lowest(device)) continue;
    storage_bottom found = bottom_of(device);
    all_alike = all_alike && (is_first || found.medium == worst.medium);
    if (is_first || !found.why.empty()) worst = std::move(found);
    is_first = false;
  }
  if (!all_alike) worst.medium = medium::unknown;
  return worst;
}

const device_facts* caching_loop(const machine_facts& machine) {
  const auto found =
      std::ranges::find_if(machine.devices, [](const device_facts& each) { return each.loop_direct == false; });
  return found == machine.devices.end() ? nullptr : &*found;
}

}  // namespace qd1
