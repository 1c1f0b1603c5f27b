// SPDX-License-Identifier: BSL-1.0
// What a program asks of the page cache of FreeBSD: advice, reading ahead, and dropping pages.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/advice.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>

QIO_BEGIN_NAMESPACE
namespace platform {

/// posix_fadvise(2): the system "may initiate an asynchronous read".
inline result<void> prefetch(native_handle handle, const extent& range) noexcept {
  return range.bytes == 0 ? success() : advise_range(handle, range, POSIX_FADV_WILLNEED);
}

/// FreeBSD has no call for this.
inline result<residency> resident(native_handle, const extent&) noexcept {
  return error(errc::residency_not_supported);
}

/// Asks the system to drop the pages of the file. After a failed write, they have what the device has not.
inline void drop_cached_pages(native_handle handle) noexcept {
  static_cast<void>(::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED));
}

}  // namespace platform
QIO_END_NAMESPACE
