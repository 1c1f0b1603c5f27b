// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/linux/filesystem.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace qd1::linux_system {
namespace {

// Options that change how long a transfer takes (mount(8), the file systems' own pages in section 5). The others are
// left out: their values may be names of users, servers and directories.
constexpr std::array<std::string_view, 27> worth_telling = {
    "allocsize",   "barrier",  "cache",   "commit", "compress", "compress-force", "data",         "dax",   "discard",
    "huge",        "logbsize", "logbufs", "msize",  "nconnect", "proto",          "redirect_dir", "rsize", "size",
    "space_cache", "stripe",   "sunit",   "swidth", "trans",    "vers",           "volatile",     "wsize", "metacopy"};

std::vector<std::string> public_options(const mount& on) {
  std::vector<std::string> kept;
  for (const std::string& option : on.options) {
    const std::string_view name = std::string_view(option).substr(0, option.find('='));
    const bool has_value = name.size() < option.size();
    const bool wanted = !has_value || std::ranges::find(worth_telling, name) != worth_telling.end();
    if (wanted) kept.push_back(option);
  }
  return kept;
}

// Shortens a path within a user's directory (hier(7), and udisks for removable media) to where such directories are.
std::string public_path(const std::string& path) {
  for (const std::string_view users : {"/home/", "/run/media/", "/media/", "/run/user/"})
    if (path.starts_with(users)) return std::string(users) + "…";
  return path;
}

// btrfs(5), zfs(8), bcachefs(8): a block that is written again goes elsewhere. Some of the others can do that (XFS
// reflink), but not by default.
std::optional<bool> copies_on_write(const mount& on) {
  if (on.type == "zfs" || on.type == "bcachefs") return true;
  if (on.type != "btrfs") return std::nullopt;
  return std::ranges::find(on.options, "nodatacow") == on.options.end();
}

std::optional<std::string> compression(const location& where, const mount& on) {
  for (const char* option : {"compress-force", "compress", "compression"})
    if (auto method = on.option(option)) return method;
  if (where.compressed == true) return "of this file";
  if (on.type == "btrfs") return "none";
  return std::nullopt;
}

}  // namespace

filesystem_facts find_filesystem(const location& where, const mount& on) {
  filesystem_facts facts;
  facts.type = on.type;
  facts.mount_point = public_path(on.point);
  facts.options = public_options(on);
  facts.block_bytes = where.block_bytes;
  facts.size_bytes = where.size_bytes;
  facts.free_bytes = where.free_bytes;
  facts.copy_on_write = copies_on_write(on);
  facts.compression = compression(where, on);
  facts.encrypted = where.encrypted;
  return facts;
}

}  // namespace qd1::linux_system
