// SPDX-License-Identifier: BSL-1.0
// The lock that keeps a second writer from a file.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/device_control.hpp>
#include <qio/system/windows/error.hpp>
#include <qio/system/windows/handle.hpp>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Locks the file for `handle`, until that is closed. Returns false if another handle has locked it. Does not wait.
/// Only calls of this function are kept out: Windows refuses transfers of a locked range, and the lock is of a byte
/// that no data reaches.
inline result<bool> lock_exclusively(native_handle handle) noexcept {
  waiting_overlapped last;
  if (last.hEvent == nullptr) return system_error(ERROR_NOT_ENOUGH_MEMORY);
  last.Offset = 0xfffffffe;
  last.OffsetHigh = 0x7fffffff;
  const BOOL done = calls::LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &last);
  DWORD bytes = 0;
  const DWORD failure = finish_blocking(handle, last, done, bytes);
  if (failure == ERROR_LOCK_VIOLATION) return false;
  if (failure != 0) return system_error(failure);
  return true;
}

/// Gives the lock back before the handle is closed, after which Windows would do so some time.
inline void unlock(native_handle handle) noexcept {
  waiting_overlapped last;
  if (last.hEvent == nullptr) return;
  last.Offset = 0xfffffffe;
  last.OffsetHigh = 0x7fffffff;
  const BOOL done = calls::UnlockFileEx(handle, 0, 1, 0, &last);
  DWORD bytes = 0;
  static_cast<void>(finish_blocking(handle, last, done, bytes));
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
