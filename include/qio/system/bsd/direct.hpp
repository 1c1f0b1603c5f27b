// SPDX-License-Identifier: BSL-1.0
// Whether transfers of a file bypass the page cache. Only those of raw devices are known to.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/open.hpp>
#include <qio/system/posix/handle.hpp>

#include <sys/stat.h>

#include <bit>
#include <cstdint>
#include <string>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- What darwin and freebsd define ---

/// The size of a block of a disk in bytes; 0 for any other device.
inline std::uint32_t sector_of_device(native_handle handle) noexcept;

/// Asks for transfers that are not cached. Neither system says more of it than that it tries.
inline void ask_to_avoid_cache(native_handle handle) noexcept;

// --- Direct I/O ---

/// Whether an open file supports direct I/O, and with what alignment.
struct direct_support {
  error refusal;       ///< why direct I/O is unavailable; no error if it is available
  alignment needed;    ///< in bytes; transfers must be multiples of it
  std::string source;  ///< how `needed` was determined
  atomic_write_limits untorn = {};
};

/// Transfers of a disk's character device are between memory and the device (hdiutil(1) on /dev/rdisk nodes; FreeBSD
/// has no other devices of disks). What macOS and FreeBSD have for files is advice (F_NOCACHE, O_DIRECT): a file that
/// is opened gets it, but does not count as direct, because neither system reports whether a transfer was.
inline direct_support make_direct(const opening& file) {
  struct stat status;
  if (::fstat(file.handle(), &status) != 0) return {last_error(), {}, {}};
  if (S_ISBLK(status.st_mode)) return {errc::direct_not_supported, {}, {}};
  if (S_ISCHR(status.st_mode)) {
    const std::uint32_t sector = sector_of_device(file.handle());
    if (!std::has_single_bit(sector)) return {errc::direct_to_character_device, {}, {}};
    return {{}, {sector, sector, sector}, "sector size of the device"};
  }
  if (!file.is_foreign()) ask_to_avoid_cache(file.handle());
  return {errc::direct_not_promised, {}, {}};
}

}  // namespace platform
QIO_END_NAMESPACE
