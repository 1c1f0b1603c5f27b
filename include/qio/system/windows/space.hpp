// SPDX-License-Identifier: BSL-1.0
// The space of a file.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/page_cache.hpp>
#include <qio/system/windows/rename.hpp>

#include <cstdint>
#include <optional>

QIO_BEGIN_NAMESPACE
namespace platform {

// From winioctl.h, which would bring its many macros to every user of this library.
inline constexpr DWORD control_set_sparse = 0x900c4;              // FSCTL_SET_SPARSE
inline constexpr DWORD control_set_zero_data = 0x980c8;           // FSCTL_SET_ZERO_DATA
inline constexpr DWORD control_query_allocated_ranges = 0x940cf;  // FSCTL_QUERY_ALLOCATED_RANGES
inline constexpr DWORD control_duplicate_extents = 0x98344;       // FSCTL_DUPLICATE_EXTENTS_TO_FILE

/// The error of a control code; one that the file system does not know is not supported.
inline error error_of_control(DWORD code) noexcept {
  const bool is_unknown = code == ERROR_INVALID_FUNCTION || code == ERROR_CALL_NOT_IMPLEMENTED;
  return system_error(is_unknown ? DWORD{ERROR_NOT_SUPPORTED} : code);
}

// --- Reserving and giving back: of a range that is not empty and ends within the largest file ---

inline result<void> allocate(native_handle handle, std::uint64_t offset, std::uint64_t bytes, allocation how) noexcept {
  const auto now = size(handle);
  if (!now) return now.error();
  const std::uint64_t end = offset + bytes;
  if (end > now.value()) {  // a smaller allocation than the file's size would truncate the file
    FILE_ALLOCATION_INFO reserved;
    reserved.AllocationSize.QuadPart = static_cast<LONGLONG>(end);
    if (calls::SetFileInformationByHandle(handle, FileAllocationInfo, &reserved, sizeof reserved) == 0)
      return last_error();
  }
  return how == allocation::extend && end > now.value() ? resize(handle, end) : result<void>(success());
}

/// Makes the part of a range that is within the file zeros. In a sparse file it becomes a hole.
inline result<void> set_zero_data(native_handle handle, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const auto now = size(handle);
  if (!now) return now.error();
  if (offset >= now.value()) return success();
  struct {  // FILE_ZERO_DATA_INFORMATION
    std::int64_t begin, end;
  } range{static_cast<std::int64_t>(offset),
          static_cast<std::int64_t>(detail::lesser_of<std::uint64_t>(offset + bytes, now.value()))};
  DWORD ignored = 0;
  const DWORD failure = control(handle, control_set_zero_data, &range, sizeof range, nullptr, 0, ignored);
  if (failure != 0) return error_of_control(failure);
  return success();
}

/// The range becomes a hole. The file becomes a sparse one, and stays one.
inline result<void> discard(native_handle handle, std::uint64_t offset, std::uint64_t bytes) noexcept {
  DWORD ignored = 0;
  const DWORD failure = control(handle, control_set_sparse, nullptr, 0, nullptr, 0, ignored);
  if (failure != 0) return error_of_control(failure);
  return set_zero_data(handle, offset, bytes);
}

/// The range reads as zeros, and keeps its space. Windows would give back that of a sparse file.
inline result<void> zero(native_handle handle, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if ((attributes_of(handle) & FILE_ATTRIBUTE_SPARSE_FILE) != 0) return system_error(ERROR_NOT_SUPPORTED);
  return set_zero_data(handle, offset, bytes);
}

// --- Where the data is ---

/// The first range of data that ends after `from`.
inline result<std::optional<extent>> next_data(native_handle handle, std::uint64_t from) noexcept {
  const auto now = size(handle);
  if (!now) return now.error();
  if (from >= now.value()) return std::optional<extent>();
  struct range {  // FILE_ALLOCATED_RANGE_BUFFER
    std::int64_t offset, bytes;
  } asked{static_cast<std::int64_t>(from), static_cast<std::int64_t>(now.value() - from)}, found{};
  DWORD length = 0;
  const DWORD failure =
      control(handle, control_query_allocated_ranges, &asked, sizeof asked, &found, sizeof found, length);
  if (failure != 0 && failure != ERROR_MORE_DATA) return error_of_control(failure);
  if (length < sizeof found) return std::optional<extent>();
  // Windows reports whole units: only what is asked for is returned.
  const auto begin = detail::greater_of(static_cast<std::uint64_t>(found.offset), from);
  const auto end = detail::lesser_of(static_cast<std::uint64_t>(found.offset + found.bytes), now.value());
  return std::optional<extent>({begin, end - begin});
}

// --- Copying within the file system ---

/// Whether two handles are of the same file.
inline bool is_same_file(native_handle one, native_handle other) noexcept {
  if (one == other) return true;
  const file_identity first = file_identity::of(one), second = file_identity::of(other);
  if (!first.exists() || first.id[0] != second.id[0] || first.id[1] != second.id[1]) return false;
  // 0 if it is unknown: Wine does not report the volume of a file that was renamed while it was open.
  return first.volume == second.volume || first.volume == 0 || second.volume == 0;
}

/// What offsets and lengths of a clone must be multiples of: the volume's cluster, which is not asked for here.
inline std::uint64_t clone_unit(native_handle) noexcept { return 0; }

/// Whether files of the volume can share blocks (ReFS), as FSCTL_DUPLICATE_EXTENTS_TO_FILE requires.
inline bool has_shared_blocks(native_handle handle) noexcept {
  constexpr DWORD wanted = 0x08000000;  // FILE_SUPPORTS_BLOCK_REFCOUNTING
  DWORD volume = 0;
  return calls::GetVolumeInformationByHandleW(handle, nullptr, 0, nullptr, nullptr, &volume, nullptr, 0) != 0 &&
         (volume & wanted) != 0;
}

/// Makes a range of `to` share the space of a range of `from`, which is within that file and not empty. The file must
/// be as long as the copy before it is made; while it is mapped, it cannot become shorter again.
inline result<void> clone(native_handle from, const extent& what, native_handle to, std::uint64_t to_offset) noexcept {
  if (!has_shared_blocks(to)) return system_error(ERROR_NOT_SUPPORTED);
  const auto before = size(to);
  if (!before) return before.error();
  const std::uint64_t end = to_offset + what.bytes;
  if (end > before.value())
    if (auto grown = resize(to, end); !grown) return grown;
  constexpr std::uint64_t most = std::uint64_t(1) << 31;  // less than 4 GiB at a time
  for (std::uint64_t done = 0; done < what.bytes;) {
    const std::uint64_t bytes = detail::lesser_of(what.bytes - done, most);
    struct {  // DUPLICATE_EXTENTS_DATA
      HANDLE from;
      std::int64_t offset, to_offset, bytes;
    } range{from, static_cast<std::int64_t>(what.offset + done), static_cast<std::int64_t>(to_offset + done),
            static_cast<std::int64_t>(bytes)};
    DWORD ignored = 0;
    const DWORD failure = control(to, control_duplicate_extents, &range, sizeof range, nullptr, 0, ignored);
    if (failure != 0) {
      if (end > before.value()) static_cast<void>(resize(to, before.value()));
      return error_of_control(failure);
    }
    done += bytes;
  }
  return success();
}

/// Windows copies no range of an open file.
inline detail::raw_result copy(native_handle, const extent&, native_handle, std::uint64_t) noexcept {
  return -static_cast<detail::raw_result>(ERROR_NOT_SUPPORTED);
}

}  // namespace platform
QIO_END_NAMESPACE
