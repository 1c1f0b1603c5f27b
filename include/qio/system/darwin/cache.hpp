// SPDX-License-Identifier: BSL-1.0
// What a program asks of the page cache of macOS: advice and reading ahead.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/darwin/sync.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>

#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Turns read-ahead off or on for the open file description, and so for all who share it (fcntl(2), F_RDAHEAD).
inline result<void> advise(native_handle handle, access_pattern pattern) noexcept {
  if (::fcntl(handle, F_RDAHEAD, pattern == access_pattern::random ? 0 : 1) >= 0) return success();
  return code_of_unsupported(errno) == EOPNOTSUPP ? error(errc::advice_not_supported) : last_error();
}

/// Starts reading what is not cached (fcntl(2), F_RDADVISE).
inline result<void> prefetch(native_handle handle, const extent& range) noexcept {
  constexpr std::uint64_t most = 1 << 20;
  const auto size = platform::size(handle);
  if (!size) return size.error();
  const std::uint64_t end = detail::lesser_of(range.offset + range.bytes, size.assume_value());
  for (std::uint64_t offset = range.offset; offset < end;) {
    const std::uint64_t bytes = detail::lesser_of(end - offset, most);
    struct radvisory wanted {};
    wanted.ra_offset = static_cast<off_t>(offset);
    wanted.ra_count = static_cast<int>(bytes);
    if (::fcntl(handle, F_RDADVISE, &wanted) < 0)
      return code_of_unsupported(errno) == EOPNOTSUPP ? error(errc::prefetch_not_supported) : last_error();
    offset += bytes;
  }
  return success();
}

/// macOS has no call for these.
inline result<void> forget(native_handle, const extent&) noexcept { return error(errc::forget_not_supported); }
inline result<residency> resident(native_handle, const extent&) noexcept {
  return error(errc::residency_not_supported);
}
inline void drop_cached_pages(native_handle) noexcept {}

}  // namespace platform
QIO_END_NAMESPACE
