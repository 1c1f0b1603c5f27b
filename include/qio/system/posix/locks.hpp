// SPDX-License-Identifier: BSL-1.0
// Locks of ranges of a file, which belong to its open file description.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <poll.h>

#include <cerrno>

QIO_BEGIN_NAMESPACE
namespace platform {

// fcntl(2), "Open file description locks (non-POSIX)". A range of 0 bytes reaches to the end of all offsets; the caller
// has checked that it ends there at the latest.

inline struct flock lock_of(int type, const extent& range) noexcept {
  struct flock lock {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.offset);
  lock.l_len = static_cast<off_t>(range.bytes);
  return lock;
}

inline int type_of(lock_kind kind) noexcept { return kind == lock_kind::shared ? F_RDLCK : F_WRLCK; }

/// Returns false if another open file description has a lock that keeps this one out. Does not wait.
inline result<bool> try_lock(native_handle handle, lock_kind kind, const extent& range) noexcept {
  struct flock lock = lock_of(type_of(kind), range);
  while (::fcntl(handle, F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) return last_error();
  }
  return true;
}

inline result<void> unlock(native_handle handle, const extent& range) noexcept {
  struct flock lock = lock_of(F_UNLCK, range);
  while (::fcntl(handle, F_OFD_SETLK, &lock) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

/// Whether try_lock() would return false.
inline result<bool> is_locked(native_handle handle, lock_kind kind, const extent& range) noexcept {
  struct flock lock = lock_of(type_of(kind), range);
  while (::fcntl(handle, F_OFD_GETLK, &lock) != 0)
    if (errno != EINTR) return last_error();
  return lock.l_type != F_UNLCK;
}

/// Before a thread tries again. Signals may end it early.
inline void sleep_for(int milliseconds) noexcept { ::poll(nullptr, 0, milliseconds); }

}  // namespace platform
QIO_END_NAMESPACE
