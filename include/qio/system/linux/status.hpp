// SPDX-License-Identifier: BSL-1.0
// The status of files, by statx(2).
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/directory.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- What statx(2) reports ---

/// Whether the directory is the root of a mount (include/uapi/linux/stat.h, Linux 5.8).
inline constexpr std::uint64_t is_mount_root = 0x2000;

inline file_time time_of(const struct statx_timestamp& stamp) noexcept { return time_of(stamp.tv_sec, stamp.tv_nsec); }

/// As in st_dev of stat(2). By hand: <sys/sysmacros.h> would define macros named major and minor.
inline std::uint64_t device_number(std::uint64_t major, std::uint64_t minor) noexcept {
  return (major & 0xfffff000u) << 32 | (major & 0xfffu) << 8 | (minor & 0xffffff00u) << 12 | (minor & 0xffu);
}

inline file_id id_of(const struct statx& found) noexcept {
  return {device_number(found.stx_dev_major, found.stx_dev_minor), found.stx_ino, 0};
}

inline file_status status_of(const struct statx& found) noexcept {
  file_status status;
  status.type = type_of(found.stx_mode);
  status.permissions = found.stx_mode & 07777u;
  status.bytes = found.stx_size;
  status.allocated_bytes = found.stx_blocks * 512;
  status.owner = found.stx_uid;
  status.group = found.stx_gid;
  status.links = found.stx_nlink;
  status.id = id_of(found);
  status.accessed = time_of(found.stx_atime);
  status.modified = time_of(found.stx_mtime);
  status.changed = time_of(found.stx_ctime);
  if ((found.stx_mask & STATX_BTIME) != 0) status.created = time_of(found.stx_btime);
  return status;
}

/// Zero or the error. With an empty name and AT_EMPTY_PATH, asks about `directory` itself.
inline int ask_status(native_handle directory, const char* name, int flags, struct statx& found) noexcept {
  int answer;
  do answer = ::statx(directory, name, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &found);
  while (answer != 0 && errno == EINTR);
  return answer == 0 ? 0 : errno;
}

inline result<file_status> status_at(native_handle directory, const char* name, int flags) noexcept {
  struct statx found {};
  if (const int failure = ask_status(directory, name, flags, found); failure != 0) return system_error(failure);
  return status_of(found);
}

/// The status of an open file. A directory is refused: see close_and_keep_number().
inline result<file_status> status(native_handle handle) noexcept {
  auto found = status_at(handle, "", AT_EMPTY_PATH);
  if (found && found.value().type == file_type::directory) return system_error(EBADF);
  return found;
}

/// The status of what the path leads to, or of the symbolic link at its end.
inline result<file_status> status_of_path(path_view path, native_handle beneath, bool follows_links) noexcept {
  if (beneath == anywhere) return status_at(anywhere, path.c_str(), follows_links ? 0 : AT_SYMLINK_NOFOLLOW);
  const auto opened = open_at(beneath, path.c_str(), O_PATH | O_CLOEXEC | (follows_links ? 0 : O_NOFOLLOW));
  if (!opened) return opened.error();
  const auto found = status_at(opened.value(), "", AT_EMPTY_PATH);
  ::close(opened.value());
  return found;
}

}  // namespace platform
QIO_END_NAMESPACE
