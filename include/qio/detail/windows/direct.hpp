// SPDX-License-Identifier: BSL-1.0
// Whether a file was opened without cache (FILE_FLAG_NO_BUFFERING), and what alignment it demands.
#pragma once

#include <qio/detail/windows/open.hpp>
#include <qio/mode.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

namespace qio::platform {

/// What was found out about direct I/O on an open file.
struct direct_support {
  error refusal;       ///< why it cannot be had; does not exist() if it can
  alignment needed;    ///< what transfers must be multiples of
  std::string source;  ///< where `needed` is known from
};

namespace sector {

/// Bytes of a logical sector, as the storage driver tells it; 0 where it does not (network file systems).
inline std::uint32_t of_storage(native_handle handle) noexcept {
  FILE_STORAGE_INFO storage{};
  if (calls::GetFileInformationByHandleEx(handle, FileStorageInfo, &storage, sizeof storage) == 0) return 0;
  return storage.LogicalBytesPerSector;
}

/// As the file system tells it, of the volume that the file is on.
inline std::uint32_t of_volume(native_handle handle) {
  std::wstring path(32768, L'\0'), volume(32768, L'\0');
  if (calls::GetFinalPathNameByHandleW(handle, path.data(), 32768, VOLUME_NAME_DOS) == 0) return 0;
  if (calls::GetVolumePathNameW(path.c_str(), volume.data(), 32768) == 0) return 0;
  DWORD sectors_per_cluster, bytes_per_sector, free_clusters, clusters;
  if (calls::GetDiskFreeSpaceW(volume.c_str(), &sectors_per_cluster, &bytes_per_sector, &free_clusters, &clusters) == 0)
    return 0;
  return bytes_per_sector;
}

/// Of memory, as the device tells it (a mask); 1 where it does not.
inline std::uint32_t of_memory(native_handle handle) noexcept {
  FILE_ALIGNMENT_INFO device{};
  if (calls::GetFileInformationByHandleEx(handle, FileAlignmentInfo, &device, sizeof device) == 0) return 1;
  return std::bit_ceil(device.AlignmentRequirement + 1);
}

}  // namespace sector

/// Whether the file that begin() was to open as direct is, and on what terms. The documentation demands multiples of a
/// sector of offset, length and address alike ("File Buffering"); the device may demand more of the address.
inline direct_support make_direct(const opening& file) {
  if (!file.is_direct() || calls::GetFileType(file.handle()) != FILE_TYPE_DISK)
    return {errc::direct_not_supported, {}, {}};
  std::string source = "FileStorageInfo";
  std::uint32_t bytes = sector::of_storage(file.handle());
  if (!std::has_single_bit(bytes)) {
    source = "sector size of the volume";
    bytes = sector::of_volume(file.handle());
  }
  if (!std::has_single_bit(bytes)) {
    source = "assumed: neither the device nor the file system says";
    bytes = 4096;
  }
  return {{}, {std::max(bytes, sector::of_memory(file.handle())), bytes, bytes}, std::move(source)};
}

}  // namespace qio::platform
