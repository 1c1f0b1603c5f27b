// SPDX-License-Identifier: BSL-1.0
// Closing, measuring, resizing and syncing a file by POSIX calls.
#pragma once

#include <qio/detail/piece.hpp>
#include <qio/detail/posix/error.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace qio::platform {

using native_handle = int;
inline constexpr native_handle invalid_handle = -1;
/// In the place of a directory that a path must stay beneath.
inline constexpr native_handle anywhere = AT_FDCWD;

/// Handles that are no handles of the system, but somebody else's numbers from 1 on.
inline native_handle handle_of(std::uint64_t number) noexcept { return static_cast<native_handle>(number); }
inline std::uint64_t number_of(native_handle handle) noexcept { return static_cast<std::uint64_t>(handle); }

inline native_handle open_retrying(const char* path, int flags, mode_t permissions) noexcept {
  native_handle handle;
  do handle = ::open(path, flags, permissions);
  while (handle < 0 && errno == EINTR);
  return handle;
}

/// The handle is gone whatever this answers: Linux frees it before it can fail, EINTR included (close(2)).
inline result<void> close(native_handle handle) noexcept {
  if (::close(handle) == 0 || errno == EINTR) return BOOST_OUTCOME_V2_NAMESPACE::success();
  return last_error();
}

/// Bytes. A block device has a size, too, but not in its inode.
inline result<std::uint64_t> size(native_handle handle) noexcept {
  struct stat status;
  if (::fstat(handle, &status) != 0) return last_error();
  if (!S_ISBLK(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  const off_t end = ::lseek(handle, 0, SEEK_END);
  if (end < 0) return last_error();
  return static_cast<std::uint64_t>(end);
}

inline result<void> resize(native_handle handle, std::uint64_t bytes) noexcept {
  if (bytes > detail::max_offset) return error(errc::offset_too_large, bytes, detail::max_offset);
  while (::ftruncate(handle, static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

inline result<void> sync(native_handle handle, sync_kind kind) noexcept {
  // fdatasync(2) writes the size with the contents and flushes the device's cache; there is no cheaper call that
  // makes contents durable (sync_file_range(2) flushes nothing), so the two lesser kinds are the same here.
  const auto call = kind == sync_kind::everything ? &::fsync : &::fdatasync;
  while (call(handle) != 0)
    if (errno != EINTR) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

/// Makes the names in a directory durable: after creating, renaming or removing a file in it.
inline result<void> sync_directory(path_view path) noexcept {
  const native_handle handle = open_retrying(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (handle < 0) return last_error();
  const result<void> synced = sync(handle, sync_kind::everything);
  const result<void> closed = close(handle);
  return synced ? closed : synced;
}

}  // namespace qio::platform
