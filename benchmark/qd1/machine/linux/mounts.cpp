// SPDX-License-Identifier: BSL-1.0
// proc(5), /proc/pid/mountinfo:
//   36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
// Between the mount's options and the lone dash stand any number of fields.
#include <qd1/machine/linux/mounts.hpp>
#include <qd1/machine/linux/text.hpp>

#include <algorithm>
#include <iterator>

namespace qd1::linux_system {
namespace {

// Space, tab, newline and backslash are written as three octal digits: "\040".
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(std::min(at + 1, text.size()), 3);
    const bool octal = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
    if (text[at] != '\\' || digits.size() != 3 || !octal) {
      plain += text[at];
      continue;
    }
    plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
    at += 3;
  }
  return plain;
}

std::optional<mount> parse_mount(std::string_view line) {
  const auto fields = words(line);
  const auto dash = std::ranges::find(fields, "-");
  if (std::distance(fields.begin(), dash) < 6 || std::distance(dash, fields.end()) < 3) return std::nullopt;
  const auto id = to_number(fields[0]);
  if (!id) return std::nullopt;
  mount found{.id = *id,
              .device = std::string(fields[2]),
              .root = unescaped(fields[3]),
              .point = unescaped(fields[4]),
              .options = split(fields[5], ','),
              .type = std::string(dash[1]),
              .source = unescaped(dash[2])};
  if (std::distance(dash, fields.end()) > 3)
    for (std::string& option : split(dash[3], ','))
      if (std::ranges::find(found.options, option) == found.options.end()) found.options.push_back(unescaped(option));
  return found;
}

bool lies_on(std::string_view path, std::string_view point) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

std::optional<std::string> mount::option(std::string_view name) const {
  for (const std::string& each : options)
    if (each.starts_with(name) && each.size() > name.size() && each[name.size()] == '=')
      return each.substr(name.size() + 1);
  return std::nullopt;
}

std::vector<mount> parse_mounts(std::string_view mountinfo) {
  std::vector<mount> mounts;
  for (const std::string_view line : lines(mountinfo))
    if (auto found = parse_mount(line)) mounts.push_back(std::move(*found));
  return mounts;
}

// If several file systems are mounted on one point, the last hides the others.
const mount* mount_of(const std::vector<mount>& mounts, std::string_view path) {
  const mount* nearest = nullptr;
  for (const mount& each : mounts)
    if (lies_on(path, each.point) && (nearest == nullptr || each.point.size() >= nearest->point.size()))
      nearest = &each;
  return nearest;
}

const mount* mount_by_id(const std::vector<mount>& mounts, std::uint64_t id) {
  const auto found = std::ranges::find(mounts, id, &mount::id);
  return found == mounts.end() ? nullptr : &*found;
}

}  // namespace qd1::linux_system
