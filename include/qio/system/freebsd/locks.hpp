// SPDX-License-Identifier: BSL-1.0
// Locks of files, which belong to the open file description: flock(2). FreeBSD has locks of ranges for processes only,
// which end when the process closes any handle of the file.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>

QIO_BEGIN_NAMESPACE
namespace platform {

inline bool is_whole_file(const extent& range) noexcept { return range.offset == 0 && range.bytes == 0; }

/// Returns false if another open file description has a lock that keeps this one out. Does not wait. A range must be
/// the whole file.
inline result<bool> try_lock(native_handle handle, lock_kind kind, const extent& range) noexcept {
  if (!is_whole_file(range)) return system_error(EOPNOTSUPP);
  while (::flock(handle, LOCK_NB | (kind == lock_kind::shared ? LOCK_SH : LOCK_EX)) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return last_error();
  }
  return true;
}

inline result<void> unlock(native_handle handle, const extent& range) noexcept {
  if (!is_whole_file(range)) return system_error(EOPNOTSUPP);
  while (::flock(handle, LOCK_UN) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

/// flock(2) does not report locks. To lock and unlock again would disturb others.
inline result<bool> is_locked(native_handle, lock_kind, const extent&) noexcept {
  return error(errc::lock_query_not_supported);
}

/// Before a thread tries again. Signals may end it early.
inline void sleep_for(int milliseconds) noexcept { ::poll(nullptr, 0, milliseconds); }

}  // namespace platform
QIO_END_NAMESPACE
