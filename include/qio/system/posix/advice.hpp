// SPDX-License-Identifier: BSL-1.0
// Advice about transfers, by posix_fadvise(3), of ranges that end within the largest file.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>

QIO_BEGIN_NAMESPACE
namespace platform {

/// posix_fadvise(3), which returns its error. `bytes` of 0 mean the rest of the file.
inline result<void> advise_range(native_handle handle, const extent& range, int advice) noexcept {
  const int code = ::posix_fadvise(handle, static_cast<off_t>(range.offset), static_cast<off_t>(range.bytes), advice);
  if (code != 0) return system_error(code);
  return success();
}

/// Advises about all transfers of the open file description: no system keeps such advice for several ranges.
inline result<void> advise(native_handle handle, access_pattern pattern) noexcept {
  const int advice = pattern == access_pattern::random       ? POSIX_FADV_RANDOM
                     : pattern == access_pattern::sequential ? POSIX_FADV_SEQUENTIAL
                                                             : POSIX_FADV_NORMAL;
  return advise_range(handle, {}, advice);
}

/// Drops the pages that lie within the range, that are clean and that no process has mapped, and starts writing back
/// the dirty ones.
inline result<void> forget(native_handle handle, const extent& range) noexcept {
  return range.bytes == 0 ? success() : advise_range(handle, range, POSIX_FADV_DONTNEED);
}

}  // namespace platform
QIO_END_NAMESPACE
