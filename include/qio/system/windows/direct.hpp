// SPDX-License-Identifier: BSL-1.0
// Whether a file was opened without the cache (FILE_FLAG_NO_BUFFERING), and what alignment it needs.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/system/windows/open.hpp>
#include <qio/system/windows/page_cache.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Whether an open file supports direct I/O, and with what alignment.
struct direct_support {
  error refusal;       ///< why direct I/O is unavailable; no error if it is available
  alignment needed;    ///< in bytes; transfers must be multiples of it
  std::string source;  ///< how `needed` was determined
  atomic_write_limits untorn = {};
};

namespace sector {

/// Size of a logical sector in bytes, as reported by the storage driver; 0 if it reports none (network file systems).
inline std::uint32_t of_storage(native_handle handle) noexcept {
  FILE_STORAGE_INFO storage{};
  if (calls::GetFileInformationByHandleEx(handle, FileStorageInfo, &storage, sizeof storage) == 0) return 0;
  return storage.LogicalBytesPerSector;
}

/// The same, as reported by the file system for the volume that the file is on; 0 if unknown.
inline std::uint32_t of_volume(native_handle handle) {
  std::wstring path(32768, L'\0'), volume(32768, L'\0');
  if (calls::GetFinalPathNameByHandleW(handle, path.data(), 32768, VOLUME_NAME_DOS) == 0) return 0;
  if (calls::GetVolumePathNameW(path.c_str(), volume.data(), 32768) == 0) return 0;
  DWORD sectors_per_cluster, bytes_per_sector, free_clusters, clusters;
  if (calls::GetDiskFreeSpaceW(volume.c_str(), &sectors_per_cluster, &bytes_per_sector, &free_clusters, &clusters) == 0)
    return 0;
  return bytes_per_sector;
}

/// Alignment of memory in bytes, as reported by the device (as a mask); 1 if it reports none.
inline std::uint32_t of_memory(native_handle handle) noexcept {
  FILE_ALIGNMENT_INFO device{};
  if (calls::GetFileInformationByHandleEx(handle, FileAlignmentInfo, &device, sizeof device) == 0) return 1;
  return std::bit_ceil(device.AlignmentRequirement + 1);
}

}  // namespace sector

/// Why transfers of a file that was opened without the cache may use one after all; no error if nothing says so.
/// NTFS keeps compressed files uncompressed in its cache and encrypts and decrypts there; on a DAX volume there is no
/// other way than memory; and the other end of a network share has a cache of its own.
inline error why_not_direct(native_handle handle) noexcept {
  constexpr DWORD dax_volume = 0x20000000;  // FILE_DAX_VOLUME, for older headers
  DWORD volume = 0;
  if (is_transformed(handle)) return errc::direct_not_supported;
  if (calls::GetVolumeInformationByHandleW(handle, nullptr, 0, nullptr, nullptr, &volume, nullptr, 0) != 0 &&
      (volume & dax_volume) != 0)
    return errc::direct_not_supported;
  if (is_remote(handle)) return errc::direct_unknown;
  return {};
}

/// Whether the file is direct, if begin() was asked for that, and what alignment it needs. The documentation ("File
/// Buffering") requires offset, length and address to be multiples of a sector; the device may require more of the
/// address.
inline direct_support make_direct(const opening& file) {
  if (file.is_foreign() && !file.is_direct()) return {errc::handle_is_not_direct, {}, {}};
  if (!file.is_direct() || calls::GetFileType(file.handle()) != FILE_TYPE_DISK)
    return {errc::direct_not_supported, {}, {}};
  if (const error reason = why_not_direct(file.handle()); reason.exists()) return {reason, {}, {}};
  std::string source = "FileStorageInfo";
  std::uint32_t bytes = sector::of_storage(file.handle());
  if (!std::has_single_bit(bytes)) {
    source = "sector size of the volume";
    bytes = sector::of_volume(file.handle());
  }
  if (!std::has_single_bit(bytes)) {
    source = "assumed: neither the device nor the file system reports it";
    bytes = 4096;
  }
  return {{}, {detail::greater_of(bytes, sector::of_memory(file.handle())), bytes, bytes}, std::move(source)};
}

}  // namespace platform
QIO_END_NAMESPACE
