// SPDX-License-Identifier: BSL-1.0
// Documentation/ABI/testing/sysfs-dev (/sys/dev/block/<major>:<minor> leads to the device); a device that is made of
// others names them in slaves/ (Documentation/ABI/testing/sysfs-block).
#include <qd1/machine/linux/stack.hpp>
#include <qd1/machine/linux/text.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace qd1::linux_system {
namespace {

const std::filesystem::path all_devices = "sys/class/block";

class stack_finder {
 public:
  stack_finder(const tree& system, const std::vector<mount>& mounts) : system_(system), mounts_(mounts) {}

  // Nothing for what lies in memory or across a network, or does not report it (ZFS).
  std::vector<std::string> under(const mount& on, const std::filesystem::path& path) const {
    if (auto name = device_name(on.device)) return {*name};
    if (on.type == "btrfs") return btrfs_devices(on);
    if (on.type == "overlay")
      if (const mount* const layer = layer_mount(system_, mounts_, on, path)) return under(*layer, path);
    return {};
  }

  std::optional<std::string> device_name(const std::string& number) const {
    const auto directory = system_.resolved("sys/dev/block/" + number);
    return directory ? std::optional(directory->filename().string()) : std::nullopt;
  }

  void add(const std::string& name) {
    if (std::ranges::find(found, name, &stacked_device::name) != found.end()) return;
    const auto directory = system_.resolved(all_devices / name);
    if (!directory) return;
    const auto lower_device = backing_device(*directory);
    const mount* const backing = lower_device ? nullptr : backing_mount(*directory);
    const std::vector<std::string> over = lower_device         ? std::vector{*lower_device}
                                          : backing != nullptr ? under(*backing, backing_path(*directory))
                                                               : beneath(*directory);
    found.push_back({name, *directory, over, backing != nullptr ? std::optional(backing->type) : std::nullopt});
    for (const std::string& each : over) add(each);
  }

  std::vector<stacked_device> found;

 private:
  std::vector<std::string> beneath(const std::filesystem::path& device) const {
    if (system_.exists(device / "partition")) return {device.parent_path().filename().string()};
    return system_.names(device / "slaves");
  }

  // A loop device may show a device, and not a file.
  std::optional<std::string> backing_device(const std::filesystem::path& device) const {
    const auto path = system_.text(device / "loop/backing_file");
    if (!path || !path->starts_with("/dev/")) return std::nullopt;
    const std::string name = std::filesystem::path(*path).filename().string();
    return system_.resolved(all_devices / name) ? std::optional(name) : std::nullopt;
  }

  // What a loop device's file lies on; of an overlay, the layer that has it. The file's name is one of the mount
  // namespace in which the loop device was set up; what is not there is not guessed at.
  const mount* backing_mount(const std::filesystem::path& device) const {
    const auto path = system_.text(device / "loop/backing_file");
    if (!path || !system_.exists(std::filesystem::path(*path).relative_path())) return nullptr;
    const mount* const on = mount_of(mounts_, *path);
    const mount* const layer =
        on != nullptr && on->type == "overlay" ? layer_mount(system_, mounts_, *on, *path) : nullptr;
    return layer != nullptr ? layer : on;
  }

  std::string backing_path(const std::filesystem::path& device) const {
    return system_.text(device / "loop/backing_file").value_or("");
  }

  // A btrfs has a number of its own, and may lie on several devices: /sys/fs/btrfs/<its UUID>/devices lists them.
  std::vector<std::string> btrfs_devices(const mount& on) const {
    const auto node = system_.resolved(std::filesystem::path(on.source).relative_path());
    if (!node) return {};
    const std::string name = node->filename().string();
    for (const std::string& each : system_.names("sys/fs/btrfs")) {
      std::vector<std::string> members = system_.names("sys/fs/btrfs/" + each + "/devices");
      if (std::ranges::find(members, name) != members.end()) return members;
    }
    return {name};
  }

  const tree& system_;
  const std::vector<mount>& mounts_;
};

}  // namespace

const mount* mount_under(const std::vector<mount>& mounts, const location& where) {
  const mount* const named = where.mount_id ? mount_by_id(mounts, *where.mount_id) : nullptr;
  return named != nullptr ? named : mount_of(mounts, where.path);
}

// overlayfs: "upperdir=/u", and "lowerdir=/a:/b" or, as fsconfig(2) sets them, "lowerdir+=/a" for each, the uppermost
// first. Only a regular file is in one of them alone.
const mount* layer_mount(const tree& system, const std::vector<mount>& mounts, const mount& overlay,
                         const std::filesystem::path& path) {
  std::vector<std::string> layers;
  const auto upper_directory = overlay.option("upperdir");
  if (upper_directory) layers.push_back(*upper_directory);
  for (const std::string& each : overlay.options)
    if (each.starts_with("lowerdir+="))
      layers.push_back(each.substr(each.find('=') + 1));
    else if (each.starts_with("lowerdir="))
      for (std::string& one : split(std::string_view(each).substr(9), ':')) layers.push_back(std::move(one));
  const auto mount_at = [&](const std::string& layer) -> const mount* {
    if (!system.exists(std::filesystem::path(layer).relative_path())) return nullptr;
    const mount* const found = mount_of(mounts, layer);
    return found != nullptr && found->device != overlay.device ? found : nullptr;
  };
  const std::filesystem::path inside = path.lexically_relative(overlay.point);
  const bool is_inside = !inside.empty() && *inside.begin() != ".." && overlay.root == "/";
  for (const std::string& each : layers)
    if (is_inside && system.is_file((std::filesystem::path(each) / inside).relative_path())) return mount_at(each);
  return upper_directory ? mount_at(*upper_directory) : nullptr;
}

std::vector<stacked_device> find_stack(const tree& system, const std::vector<mount>& mounts, const location& where) {
  stack_finder finder(system, mounts);
  if (where.block_device) {
    if (const auto name = finder.device_name(where.device)) finder.add(*name);
    return std::move(finder.found);
  }
  if (const mount* const on = mount_under(mounts, where))
    for (const std::string& name : finder.under(*on, where.path)) finder.add(name);
  return std::move(finder.found);
}

}  // namespace qd1::linux_system
