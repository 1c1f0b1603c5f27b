// SPDX-License-Identifier: BSL-1.0
// Opening a file by a path that must not lead out of a directory: O_RESOLVE_BENEATH (FreeBSD, recent macOS).
#pragma once

#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/primitives.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

QIO_BEGIN_NAMESPACE
namespace platform {

/// 0 where the headers lack it.
#if defined(O_RESOLVE_BENEATH) && defined(AT_RESOLVE_BENEATH)
inline constexpr int stay_beneath = O_RESOLVE_BENEATH, stay_beneath_at = AT_RESOLVE_BENEATH;
#else
inline constexpr int stay_beneath = 0, stay_beneath_at = 0;
#endif

/// The error of a path that leads out of the directory.
#if defined(ENOTCAPABLE)
inline constexpr int leads_out = ENOTCAPABLE;
#else
inline constexpr int leads_out = 107;  // of macOS, whose older headers lack the name
#endif

/// The error of a call that was to open something.
inline error error_of_opening(bool is_beneath) noexcept {
  if (is_beneath && errno == leads_out) return errc::leaves_directory;
  // FreeBSD's error for a link that O_NOFOLLOW does not follow (open(2)), where POSIX has ELOOP.
  return system_error(errno == EMLINK ? ELOOP : errno);
}

inline result<native_handle> open_from(native_handle from, const char* path, int flags, mode_t permissions) noexcept {
  native_handle handle;
  do handle = ::openat(from, path, flags, permissions);
  while (handle < 0 && errno == EINTR);
  if (handle < 0) return error_of_opening((flags & stay_beneath) != 0);
  return handle;
}

inline result<native_handle> open_at(native_handle directory, const char* path, int flags,
                                     mode_t permissions) noexcept {
  return open_from(directory, path, directory == anywhere ? flags : flags | stay_beneath, permissions);
}

/// fstatat(2) of a path that must stay beneath `directory`, unless that is `anywhere`.
inline error status_beneath(native_handle directory, const char* path, int flags, struct stat& found) noexcept {
  const bool is_free = directory == anywhere;
  int answer;
  do answer = ::fstatat(directory, path, &found, is_free ? flags : flags | stay_beneath_at);
  while (answer != 0 && errno == EINTR);
  return answer == 0 ? error() : error_of_opening(!is_free);
}

/// Opens a directory for paths to stay beneath. Fails if that cannot be enforced: a kernel that does not know the flag
/// ignores it, and opens what is above. The caller owns the handle.
inline result<native_handle> open_directory(path_view path) noexcept {
  if (stay_beneath == 0) return error(errc::beneath_not_supported);
  const auto opened = open_from(anywhere, path.c_str(), search_only);
  if (!opened) return opened;
  const auto above = open_at(opened.value(), "..", search_only);
  if (!above) return opened;
  ::close(above.value());
  ::close(opened.value());
  return error(errc::beneath_not_supported);
}

}  // namespace platform
QIO_END_NAMESPACE
