// SPDX-License-Identifier: BSL-1.0
// The lock that keeps a second writer from a file.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/error.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>

#include <cerrno>
#include <limits>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Locks the file for the open file description of `handle`, until that is closed: by the last process that has it.
/// Returns false if another one has locked it. Does not wait. Only calls of this function are kept out, not transfers:
/// the lock is of a byte that no data reaches.
inline result<bool> lock_exclusively(native_handle handle) noexcept {
  struct flock last {};
  last.l_type = F_WRLCK;
  last.l_whence = SEEK_SET;
  last.l_start = (std::numeric_limits<off_t>::max)() - 1;
  last.l_len = 1;
  while (::fcntl(handle, F_OFD_SETLK, &last) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) return last_error();
  }
  return true;
}

/// Gives the lock back before the handle is closed: a ring may keep the file open for a moment longer.
inline void unlock(native_handle handle) noexcept {
  struct flock last {};
  last.l_type = F_UNLCK;
  last.l_whence = SEEK_SET;
  last.l_start = (std::numeric_limits<off_t>::max)() - 1;
  last.l_len = 1;
  static_cast<void>(::fcntl(handle, F_OFD_SETLK, &last));
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
