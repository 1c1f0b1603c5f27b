// SPDX-License-Identifier: BSL-1.0
// Documentation/ABI/testing/sysfs-bus-pci. The path of a device names all that is above it:
// /sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0
#include <qd1/machine/linux/pcie.hpp>
#include <qd1/machine/linux/text.hpp>

#include <algorithm>
#include <string>

namespace qd1::linux_system {
namespace {

// domain:bus:device.function, in hexadecimal
bool is_address(const std::string& name) {
  return name.size() >= 12 && name[name.size() - 8] == ':' && name[name.size() - 5] == ':' &&
         name[name.size() - 2] == '.' && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
         });
}

// "8.0 GT/s PCIe"; "Unknown" where there is no link.
std::optional<double> speed(const tree& system, const std::filesystem::path& file) {
  const std::string text = system.text(file).value_or("");
  const auto parts = words(text);
  return parts.size() >= 2 && parts[1] == "GT/s" ? to_decimal(parts[0]) : std::nullopt;
}

// 0 and 255 mean unknown; the widest link there is has 32 lanes.
std::optional<std::uint64_t> lanes(const tree& system, const std::filesystem::path& file) {
  const auto width = system.number(file);
  return width && *width >= 1 && *width <= 32 ? width : std::nullopt;
}

}  // namespace

std::optional<pcie_facts> find_pcie(const tree& system, const std::filesystem::path& device) {
  pcie_facts facts;
  std::filesystem::path plugged, so_far;
  for (const std::filesystem::path& part : device) {
    so_far /= part;
    if (part.string().starts_with("pci")) facts.root_complex = part.string();
    if (!is_address(part.string())) continue;
    if (!facts.address.empty()) facts.upstream.insert(facts.upstream.begin(), facts.address);
    facts.address = part.string();
    plugged = so_far;
  }
  if (facts.address.empty()) return std::nullopt;
  facts.speed_gts = speed(system, plugged / "current_link_speed");
  facts.highest_speed_gts = speed(system, plugged / "max_link_speed");
  facts.lanes = lanes(system, plugged / "current_link_width");
  facts.highest_lanes = lanes(system, plugged / "max_link_width");
  facts.numa_node = system.number(plugged / "numa_node");  // -1, and so absent, where there is only one
  if (auto cpus = system.text(plugged / "local_cpulist"); cpus && !cpus->empty()) facts.local_cpus = std::move(cpus);
  return facts;
}

}  // namespace qd1::linux_system
