// SPDX-License-Identifier: BSL-1.0
// GetVolumePathName, GetVolumeInformation, GetDriveType, GetDiskFreeSpace, GetFileAttributes.
#include <qio/system/windows/handle.hpp>

#include <qd1/machine/windows/text.hpp>
#include <qd1/machine/windows/volume.hpp>

#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace qd1::windows_system {
namespace {

std::filesystem::path nearest_existing(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path each = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(each, error) && each.has_relative_path()) each = each.parent_path();
  return each;
}

// A drive letter; a directory that a volume is mounted on may bear a person's name.
bool is_drive(const std::wstring& root) { return root.size() == 3 && root[1] == L':'; }

void find_type(const std::wstring& root, filesystem_facts& facts) {
  std::array<wchar_t, MAX_PATH + 1> name{};
  DWORD flags = 0;
  if (::GetVolumeInformationW(root.c_str(), nullptr, 0, nullptr, nullptr, &flags, name.data(),
                              static_cast<DWORD>(name.size())) == 0)
    return;
  facts.type = narrow(name.data());
  // The server's name for a share reveals nothing about the network between.
  if (::GetDriveTypeW(root.c_str()) == DRIVE_REMOTE) facts.type = "network share, " + *facts.type;
  struct option {
    DWORD flag;
    const char* name;
  };
  constexpr DWORD direct_access = 0x20000000;  // FILE_DAX_VOLUME; older headers lack it
  for (const option& each : std::array<option, 3>{
           {{FILE_READ_ONLY_VOLUME, "read-only"}, {FILE_VOLUME_IS_COMPRESSED, "compressed"}, {direct_access, "dax"}}})
    if ((flags & each.flag) != 0) facts.options.emplace_back(each.name);
}

void find_space(const std::wstring& root, filesystem_facts& facts) {
  DWORD sectors = 0, bytes = 0, free = 0, all = 0;
  if (::GetDiskFreeSpaceW(root.c_str(), &sectors, &bytes, &free, &all) != 0)
    facts.block_bytes = std::uint64_t{sectors} * bytes;
  ULARGE_INTEGER free_bytes, all_bytes;
  if (::GetDiskFreeSpaceExW(root.c_str(), &free_bytes, &all_bytes, nullptr) == 0) return;
  facts.size_bytes = all_bytes.QuadPart;
  facts.free_bytes = free_bytes.QuadPart;
}

}  // namespace

std::optional<volume> locate_device(const std::string& path) {
  constexpr std::string_view prefix = R"(\\.\)", disk = "PhysicalDrive";
  if (!path.starts_with(prefix)) return std::nullopt;
  volume found;
  found.path = path;
  found.is_device = true;
  const std::string_view name = std::string_view(path).substr(prefix.size());
  if (const auto wide = qio::platform::wide(path.c_str())) found.native = wide.value();
  if (name.size() == 2 && name[1] == ':') found.root = {static_cast<wchar_t>(name[0]), L':', L'\\'};
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  if (name.starts_with(disk) &&
      std::from_chars(name.data() + disk.size(), end, number) == std::from_chars_result{end, std::errc()})
    found.disk = number;
  return found;
}

volume locate(const std::string& path) {
  if (auto device = locate_device(path)) return *std::move(device);
  volume found;
  found.path = nearest_existing(path).string();
  const auto native = qio::platform::native_path(found.path.c_str());
  if (!native) return found;
  found.native = native.value();
  std::wstring root(found.native.size() + 2, L'\0');  // not longer than the path, but for its backslash
  if (::GetVolumePathNameW(found.native.c_str(), root.data(), static_cast<DWORD>(root.size())) != 0)
    found.root = root.c_str();
  return found;
}

filesystem_facts find_filesystem(const volume& on) {
  filesystem_facts facts;
  if (on.root.empty() || on.is_device) return facts;
  find_type(on.root, facts);
  find_space(on.root, facts);
  if (is_drive(on.root)) facts.mount_point = narrow(on.root);
  const DWORD attributes = ::GetFileAttributesW(on.native.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return facts;
  facts.compression = (attributes & FILE_ATTRIBUTE_COMPRESSED) != 0 ? "of this file" : "none";
  facts.encrypted = (attributes & FILE_ATTRIBUTE_ENCRYPTED) != 0;
  return facts;
}

}  // namespace qd1::windows_system
