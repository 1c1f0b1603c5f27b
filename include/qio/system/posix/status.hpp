// SPDX-License-Identifier: BSL-1.0
// The status of files as POSIX has it, and changes of their attributes.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/file_status.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <optional>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Times and types ---

/// The nearest file_time.
inline file_time time_of(std::int64_t seconds, std::int64_t nanoseconds_within) noexcept {
  using std::chrono::nanoseconds;
  constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
  constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)() / nanoseconds_per_second;
  if (seconds >= most) return (file_time::max)();
  if (seconds <= -most) return (file_time::min)();
  return file_time(nanoseconds(seconds * nanoseconds_per_second + nanoseconds_within));
}

inline file_type type_of(std::uint32_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFREG: return file_type::regular;
    case S_IFDIR: return file_type::directory;
    case S_IFLNK: return file_type::symbolic_link;
    case S_IFBLK: return file_type::block_device;
    case S_IFCHR: return file_type::character_device;
    case S_IFIFO: return file_type::pipe;
    case S_IFSOCK: return file_type::socket;
    default: return file_type::unknown;
  }
}

// --- Changing attributes ---

inline result<void> set_permissions(native_handle handle, std::uint32_t permissions) noexcept {
  while (::fchmod(handle, static_cast<mode_t>(permissions)) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

inline result<void> set_owner(native_handle handle, std::optional<std::uint32_t> owner,
                              std::optional<std::uint32_t> group) noexcept {
  constexpr std::uint32_t unchanged = ~std::uint32_t(0);
  if (owner == unchanged || group == unchanged) return system_error(EINVAL);  // no number of a user or group
  while (::fchown(handle, owner.value_or(unchanged), group.value_or(unchanged)) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

inline struct timespec stamp_of(const time_change& change) noexcept {
  struct timespec stamp {};
  stamp.tv_nsec = change.is_now() ? UTIME_NOW : UTIME_OMIT;
  if (change.is_unchanged() || change.is_now()) return stamp;
  constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
  const std::int64_t time = change.time().time_since_epoch().count();
  std::int64_t seconds = time / nanoseconds_per_second, rest = time % nanoseconds_per_second;
  if (rest < 0) {
    rest += nanoseconds_per_second;
    --seconds;
  }
  stamp.tv_sec = static_cast<time_t>(seconds);
  stamp.tv_nsec = static_cast<long>(rest);
  return stamp;
}

inline result<void> set_times(native_handle handle, const file_times& times) noexcept {
  const struct timespec stamps[] = {stamp_of(times.accessed), stamp_of(times.modified)};
  while (::futimens(handle, stamps) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

// --- Where the data is ---

/// Whether a seek for data or a hole has failed with `code` because the device or the file system knows neither.
inline bool is_no_seek(int code) noexcept { return code == EINVAL || code == ENOTTY; }

/// The first range of data that ends after `from`. Moves the handle's file position, which no transfer uses.
inline result<std::optional<extent>> next_data(native_handle handle, std::uint64_t from) noexcept {
  for (off_t at = static_cast<off_t>(from);;) {
    const off_t begin = ::lseek(handle, at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) return std::optional<extent>();
    if (begin < 0) return system_error(is_no_seek(errno) ? EOPNOTSUPP : errno);
    if (begin < at) return system_error(EOPNOTSUPP);  // a device that ignores what it is asked
    const off_t end = ::lseek(handle, begin, SEEK_HOLE);
    if (end < 0 && errno == ENXIO) return std::optional<extent>();  // it was truncated meanwhile
    if (end < 0) return last_error();
    if (end > begin)
      return std::optional<extent>({static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end - begin)});
    // Linux 6.18, ext4 with blocks smaller than a page: where a page has a reserved block, SEEK_DATA may end at a hole.
    at = begin > at ? begin : at + 1;
  }
}

/// Whether two handles are of the same file.
inline bool is_same_file(native_handle one, native_handle other) noexcept {
  struct stat first, second;
  if (one == other) return true;
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace platform
QIO_END_NAMESPACE
