// SPDX-License-Identifier: BSL-1.0
// Locks of ranges of a file, which belong to its handle.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/handle.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

// "LockFileEx function", "UnlockFileEx function". A range of 0 bytes reaches to the end of all offsets; the caller has
// checked that it ends there at the latest.

/// Makes `call(overlapped, low, high)` for the range, and waits. Returns zero or the error.
template <class Call>
DWORD call_for_range(native_handle handle, const extent& range, Call&& call) noexcept {
  waiting_overlapped where;
  if (where.hEvent == nullptr) return ERROR_NOT_ENOUGH_MEMORY;
  const std::uint64_t bytes = range.bytes != 0 ? range.bytes : detail::max_offset + 1 - range.offset;
  where.Offset = static_cast<DWORD>(range.offset & 0xffffffff);
  where.OffsetHigh = static_cast<DWORD>(range.offset >> 32);
  const BOOL done = call(&where, static_cast<DWORD>(bytes & 0xffffffff), static_cast<DWORD>(bytes >> 32));
  DWORD none = 0;
  return finish_blocking(handle, where, done, none);
}

/// Returns false if the range is locked, by this handle or another one, in a way that keeps this lock out. Does not
/// wait.
inline result<bool> try_lock(native_handle handle, lock_kind kind, const extent& range) noexcept {
  const DWORD flags = LOCKFILE_FAIL_IMMEDIATELY | (kind == lock_kind::exclusive ? LOCKFILE_EXCLUSIVE_LOCK : 0u);
  const DWORD failure = call_for_range(handle, range, [&](OVERLAPPED* where, DWORD low, DWORD high) {
    return calls::LockFileEx(handle, flags, 0, low, high, where);
  });
  if (failure == ERROR_LOCK_VIOLATION) return false;
  if (failure != 0) return system_error(failure);
  return true;
}

/// The range must be one that was locked.
inline result<void> unlock(native_handle handle, const extent& range) noexcept {
  const DWORD failure = call_for_range(handle, range, [&](OVERLAPPED* where, DWORD low, DWORD high) {
    return calls::UnlockFileEx(handle, 0, low, high, where);
  });
  // The second one is Wine's.
  if (failure == ERROR_NOT_LOCKED || failure == ERROR_LOCK_VIOLATION) return error(errc::range_not_locked);
  if (failure != 0) return system_error(failure);
  return success();
}

/// Windows does not report locks. To lock and unlock again would disturb others.
inline result<bool> is_locked(native_handle, lock_kind, const extent&) noexcept {
  return error(errc::lock_query_not_supported);
}

/// Before a thread tries again.
inline void sleep_for(int milliseconds) noexcept { calls::Sleep(static_cast<DWORD>(milliseconds)); }

}  // namespace platform
QIO_END_NAMESPACE
