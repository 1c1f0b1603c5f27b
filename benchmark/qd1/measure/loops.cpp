// SPDX-License-Identifier: BSL-1.0
#include "measure/loops.hpp"

#include "platform/file.hpp"
#include "platform/loop.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace qd1 {
namespace {

using platform::byte_range;
/// On a device; none if they are unknown, which may be any.
using ranges = std::optional<std::vector<byte_range>>;

// Whose addresses are those of the device that they lie on. Those of btrfs are its own.
bool addresses_device(std::string_view filesystem) {
  return filesystem == "ext4" || filesystem == "ext3" || filesystem == "ext2" || filesystem == "xfs";
}

ranges shifted(ranges all, std::uint64_t by) {
  if (all)
    for (byte_range& each : *all) each = {each.begin + by, each.end + by};
  return all;
}

class walk {
 public:
  explicit walk(const machine_facts& machine) : machine_(machine) {}

  void down(const std::string& name, const ranges& bytes) {
    const auto device = std::ranges::find(machine_.devices, name, &device_facts::name);
    if (device == machine_.devices.end() || depth_ > machine_.devices.size()) return;
    ++depth_;
    if (device->kind == "loop")
      pass_loop(*device, bytes);
    else
      for (const std::string& each : device->over)
        down(each,
             device->kind == "partition" && device->start_bytes ? shifted(bytes, *device->start_bytes) : ranges());
    --depth_;
  }

  loop_findings found;

 private:
  void doubt(std::string why) {
    if (found.doubt.empty()) found.doubt = std::move(why);
  }

  void pass_loop(const device_facts& loop, const ranges& bytes) {
    if (found.device.empty()) found.device = loop.name;
    const platform::loop_file file = platform::file_behind(loop.name);
    if (!file.is_direct)
      doubt(fmt::format("{} reads its file through the page cache, so some of it may have come from there", loop.name));
    ranges below = shifted(bytes, file.offset);
    if (!file.is_device) below = pass_file(loop, file, below);
    for (const std::string& each : loop.over) down(each, below);
  }

  // Where bytes of a loop device lie under its file.
  ranges pass_file(const device_facts& loop, const platform::loop_file& file, const ranges& bytes) {
    std::error_code failed;
    const std::uint64_t size = file.path.empty() ? 0 : std::filesystem::file_size(file.path, failed);
    const auto placed = failed || size == 0
                            ? std::nullopt
                            : platform::place(file.path, bytes.value_or(std::vector<byte_range>{{0, size}}));
    if (!placed) {
      doubt(fmt::format("the file behind {} cannot be examined", loop.name));
      return std::nullopt;
    }
    found.cached_pages += platform::cached_pages(file.path, size).value_or(0);
    if (placed->missing != 0)
      doubt(
          fmt::format("{} bytes lie in holes or unwritten blocks of the file behind {}, which are read without a "
                      "device",
                      grouped(placed->missing, ','), loop.name));
    if (placed->encoded != 0)
      doubt(
          fmt::format("{} bytes of the file behind {} are compressed or packed, and so are read through the page "
                      "cache",
                      grouped(placed->encoded, ','), loop.name));
    return addresses_device(loop.backing.value_or("")) ? ranges(placed->on_device) : std::nullopt;
  }

  const machine_facts& machine_;
  std::size_t depth_ = 0;
};

ranges ranges_of(const machine_facts& machine, const std::string& path, std::uint64_t bytes) {
  if (!machine.filesystem.type) return std::vector<byte_range>{{0, bytes}};  // a block device
  if (!addresses_device(machine.filesystem.upper.value_or(*machine.filesystem.type))) return std::nullopt;
  auto placed = platform::place(path, {{0, bytes}});
  return placed ? ranges(std::move(placed->on_device)) : std::nullopt;
}

}  // namespace

loop_findings look_at_loops(const machine_facts& machine, const std::string& path, std::uint64_t bytes) {
  walk walk(machine);
  if (std::ranges::find(machine.devices, "loop", &device_facts::kind) == machine.devices.end()) return {};
  const auto is_topmost = [&](const device_facts& device) {
    return std::ranges::none_of(machine.devices, [&](const device_facts& each) {
      return std::ranges::find(each.over, device.name) != each.over.end();
    });
  };
  const ranges top = ranges_of(machine, path, bytes);
  for (const device_facts& each : machine.devices)
    if (is_topmost(each)) walk.down(each.name, top);
  return std::move(walk.found);
}

}  // namespace qd1
