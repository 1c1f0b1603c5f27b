// SPDX-License-Identifier: BSL-1.0
// Closing, measuring, resizing and syncing a file by Win32 calls.
#pragma once

#include <qio/detail/piece.hpp>
#include <qio/detail/windows/error.hpp>
#include <qio/detail/windows/path.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <cstdint>

namespace qio::platform {

using native_handle = HANDLE;
/// INVALID_HANDLE_VALUE, which is no constant expression.
inline const native_handle invalid_handle = INVALID_HANDLE_VALUE;
/// In the place of a directory that a path must stay beneath.
inline constexpr native_handle anywhere = nullptr;

/// Handles that are no handles of the system, but somebody else's numbers from 1 on.
inline native_handle handle_of(std::uint64_t number) noexcept {
  return reinterpret_cast<native_handle>(static_cast<std::uintptr_t>(number));
}
inline std::uint64_t number_of(native_handle handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }

/// Others may read, write, rename and remove the file meanwhile, as on other systems.
inline constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

inline result<void> close(native_handle handle) noexcept {
  if (calls::CloseHandle(handle) == 0) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

/// Bytes.
inline result<std::uint64_t> size(native_handle handle) noexcept {
  LARGE_INTEGER bytes;
  if (calls::GetFileSizeEx(handle, &bytes) == 0) return last_error();
  return static_cast<std::uint64_t>(bytes.QuadPart);
}

inline result<void> resize(native_handle handle, std::uint64_t bytes) noexcept {
  if (bytes > detail::max_offset) return error(errc::offset_too_large, bytes, detail::max_offset);
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  if (calls::SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof end) == 0) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

/// All kinds are the same: there is one documented call, and it writes contents and attributes and flushes the device's
/// cache (FlushFileBuffers). It needs a handle that may write.
inline result<void> sync(native_handle handle, sync_kind) noexcept {
  if (calls::FlushFileBuffers(handle) == 0) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

/// Makes the names in a directory durable: after creating, renaming or removing a file in it.
inline result<void> sync_directory(path_view path) {
  const auto name = native_path(path);
  if (!name) return name.error();
  const native_handle handle = calls::CreateFileW(name.value().c_str(), GENERIC_WRITE, share_all, nullptr,
                                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == invalid_handle) return last_error();
  const bool is_directory = (calls::GetFileAttributesW(name.value().c_str()) & FILE_ATTRIBUTE_DIRECTORY) != 0;
  const result<void> synced =
      is_directory ? sync(handle, sync_kind::everything) : result<void>(system_error(ERROR_DIRECTORY));
  const result<void> closed = close(handle);
  return synced ? closed : synced;
}

}  // namespace qio::platform
