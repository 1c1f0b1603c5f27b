// SPDX-License-Identifier: BSL-1.0
// The status of files, and changes of their attributes.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/rename.hpp>

#include <cstdint>
#include <limits>
#include <optional>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- What GetFileInformationByHandleEx reports ---

// Times of Windows are in units of 100 ns since 1601.
inline constexpr std::int64_t nanoseconds_per_tick = 100, ticks_before_1970 = 116'444'736'000'000'000;

/// The nearest file_time.
inline file_time time_of(LARGE_INTEGER stamp) noexcept {
  constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)() / nanoseconds_per_tick;
  const std::int64_t ticks = stamp.QuadPart - ticks_before_1970;  // stamps are not negative
  if (ticks > most) return (file_time::max)();
  if (ticks < -most) return (file_time::min)();
  return file_time(std::chrono::nanoseconds(ticks * nanoseconds_per_tick));
}

/// The type of a file on a disk. `tag` is that of a reparse point; only links count as such, not what file systems use
/// them for otherwise (deduplication, files in remote storage).
inline file_type type_of(DWORD attributes, DWORD tag) noexcept {
  const bool is_link = tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && is_link) return file_type::symbolic_link;
  return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? file_type::directory : file_type::regular;
}

inline std::uint32_t permissions_by(DWORD attributes) noexcept {
  const std::uint32_t readable = (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? 0555u : 0444u;
  return (attributes & FILE_ATTRIBUTE_READONLY) != 0 ? readable : readable | 0222u;
}

/// 0 if the file is not a reparse point.
inline DWORD reparse_tag_of(native_handle handle) noexcept {
  FILE_ATTRIBUTE_TAG_INFO found{};
  const BOOL known = calls::GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &found, sizeof found);
  return known != 0 && (found.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 ? found.ReparseTag : 0;
}

/// The status of an open file or directory. What is not on a disk (pipes, consoles) has a type and nothing else.
inline result<file_status> status(native_handle handle) noexcept {
  file_status found;
  const DWORD kind = calls::GetFileType(handle);
  if (kind == FILE_TYPE_UNKNOWN && calls::GetLastError() != NO_ERROR) return last_error();
  if (kind != FILE_TYPE_DISK) {
    found.type = kind == FILE_TYPE_PIPE   ? file_type::pipe
                 : kind == FILE_TYPE_CHAR ? file_type::character_device
                                          : file_type::unknown;
    return found;
  }
  FILE_BASIC_INFO basic{};
  FILE_STANDARD_INFO standard{};
  if (calls::GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) == 0 ||
      calls::GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof standard) == 0) {
    const error failure = last_error();
    const auto capacity = size(handle);  // of a disk or volume
    if (!capacity) return failure;
    found.type = file_type::block_device;
    found.bytes = capacity.value();
    return found;
  }
  found.type = type_of(basic.FileAttributes, reparse_tag_of(handle));
  found.permissions = permissions_by(basic.FileAttributes);
  found.bytes = static_cast<std::uint64_t>(standard.EndOfFile.QuadPart);
  found.allocated_bytes = static_cast<std::uint64_t>(standard.AllocationSize.QuadPart);
  found.links = standard.NumberOfLinks;
  const file_identity identity = file_identity::of(handle);
  found.id = {identity.volume, identity.id[0], identity.id[1]};
  found.accessed = time_of(basic.LastAccessTime);
  found.modified = time_of(basic.LastWriteTime);
  // FAT does not store it, and reports 0.
  found.changed = basic.ChangeTime.QuadPart != 0 ? time_of(basic.ChangeTime) : found.modified;
  if (basic.CreationTime.QuadPart != 0) found.created = time_of(basic.CreationTime);
  return found;
}

/// The status of what the path leads to, or of the symbolic link at its end.
inline result<file_status> status_of_path(path_view path, native_handle beneath, bool follows_links) {
  if (beneath != anywhere) return error(errc::beneath_not_supported);
  const auto name = native_path(path);
  if (!name) return name.error();
  const no_dialogs quiet;
  const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (follows_links ? 0u : DWORD{FILE_FLAG_OPEN_REPARSE_POINT});
  const native_handle handle = calls::CreateFileW(name.value().c_str(), FILE_READ_ATTRIBUTES, share_all, nullptr,
                                                  OPEN_EXISTING, flags | not_impersonated, nullptr);
  if (handle == invalid_handle) return last_error();
  const auto found = status(handle);
  calls::CloseHandle(handle);
  return found;
}

// --- Changing attributes ---

/// Members of `changed` that are 0 stay as they are. Through a second handle if the file was not opened for writing.
inline result<void> change_basic(native_handle handle, FILE_BASIC_INFO& changed) noexcept {
  if (calls::SetFileInformationByHandle(handle, FileBasicInfo, &changed, sizeof changed) != 0) return success();
  if (calls::GetLastError() != ERROR_ACCESS_DENIED) return last_error();
  const native_handle again =
      calls::ReOpenFile(handle, FILE_WRITE_ATTRIBUTES, share_all, FILE_FLAG_BACKUP_SEMANTICS | not_impersonated);
  if (again == invalid_handle) return last_error();
  const BOOL done = calls::SetFileInformationByHandle(again, FileBasicInfo, &changed, sizeof changed);
  const error failure = done != 0 ? error() : last_error();
  calls::CloseHandle(again);
  if (failure.exists()) return failure;
  return success();
}

/// Keeps only whether anybody may write, as the read-only attribute.
inline result<void> set_permissions(native_handle handle, std::uint32_t permissions) noexcept {
  FILE_BASIC_INFO basic{};
  if (calls::GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) == 0) return last_error();
  constexpr DWORD read_only = FILE_ATTRIBUTE_READONLY;
  const DWORD attributes =
      (permissions & 0222u) == 0 ? basic.FileAttributes | read_only : basic.FileAttributes & ~read_only;
  FILE_BASIC_INFO changed{};
  changed.FileAttributes = attributes == 0 ? DWORD{FILE_ATTRIBUTE_NORMAL} : attributes;
  return change_basic(handle, changed);
}

/// Windows has no numbers of users and groups.
inline result<void> set_owner(native_handle, std::optional<std::uint32_t>, std::optional<std::uint32_t>) noexcept {
  return error(std::make_error_code(std::errc::operation_not_supported));
}

/// False if the time cannot be set: Windows begins in 1601, and gives 0 another meaning.
inline bool stamp_of(const time_change& change, LARGE_INTEGER& stamp) noexcept {
  stamp.QuadPart = 0;
  if (change.is_unchanged()) return true;
  if (change.is_now()) {
    FILETIME now;
    ::GetSystemTimePreciseAsFileTime(&now);
    stamp.LowPart = now.dwLowDateTime;
    stamp.HighPart = static_cast<LONG>(now.dwHighDateTime);
    return true;
  }
  const std::int64_t time = change.time().time_since_epoch().count();
  const std::int64_t ticks = time / nanoseconds_per_tick - (time % nanoseconds_per_tick < 0 ? 1 : 0);
  stamp.QuadPart = ticks + ticks_before_1970;
  return stamp.QuadPart > 0;
}

inline result<void> set_times(native_handle handle, const file_times& times) noexcept {
  FILE_BASIC_INFO changed{};
  if (!stamp_of(times.accessed, changed.LastAccessTime) || !stamp_of(times.modified, changed.LastWriteTime))
    return system_error(ERROR_INVALID_PARAMETER);
  if (times.accessed.is_unchanged() && times.modified.is_unchanged()) {
    if (calls::GetFileType(handle) == FILE_TYPE_UNKNOWN) return last_error();
    return success();
  }
  return change_basic(handle, changed);
}

}  // namespace platform
QIO_END_NAMESPACE
