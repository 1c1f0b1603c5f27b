// SPDX-License-Identifier: BSL-1.0
// The status of files, by fstatat(2).
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/directory.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

inline file_id id_of(const struct stat& found) noexcept {
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino), 0};
}

inline file_status status_of(const struct stat& found) noexcept {
  const auto time = [](const struct timespec& stamp) { return time_of(stamp.tv_sec, stamp.tv_nsec); };
  file_status status;
  status.type = type_of(found.st_mode);
  status.permissions = found.st_mode & 07777u;
  status.bytes = static_cast<std::uint64_t>(found.st_size);
  status.allocated_bytes = static_cast<std::uint64_t>(found.st_blocks) * 512;
  status.owner = found.st_uid;
  status.group = found.st_gid;
  status.links = static_cast<std::uint64_t>(found.st_nlink);
  status.id = id_of(found);
  status.accessed = time(found.st_atimespec);
  status.modified = time(found.st_mtimespec);
  status.changed = time(found.st_ctimespec);
  // A file system that does not store it reports -1 (FreeBSD) or 0.
  if (found.st_birthtimespec.tv_sec > 0) status.created = time(found.st_birthtimespec);
  return status;
}

inline result<file_status> status_at(native_handle directory, const char* name, int flags) noexcept {
  struct stat found;
  while (::fstatat(directory, name, &found, flags) != 0)
    if (errno != EINTR) return last_error();
  return status_of(found);
}

/// The status of an open file. A directory is refused: see close_and_keep_number().
inline result<file_status> status(native_handle handle) noexcept {
  struct stat found;
  if (::fstat(handle, &found) != 0) return last_error();
  if (S_ISDIR(found.st_mode)) return system_error(EBADF);
  return status_of(found);
}

/// The status of what the path leads to, or of the symbolic link at its end.
inline result<file_status> status_of_path(path_view path, native_handle beneath, bool follows_links) noexcept {
  struct stat found;
  const error failure = status_beneath(beneath, path.c_str(), follows_links ? 0 : AT_SYMLINK_NOFOLLOW, found);
  if (failure.exists()) return failure;
  return status_of(found);
}

}  // namespace platform
QIO_END_NAMESPACE
