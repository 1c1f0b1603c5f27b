// SPDX-License-Identifier: BSL-1.0
// Closing, measuring, resizing and syncing a file by Win32 calls.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/piece.hpp>
#include <qio/system/windows/device_control.hpp>
#include <qio/system/windows/error.hpp>
#include <qio/system/windows/path.hpp>

#include <cstdint>
#include <string_view>

namespace qio::inline QIO_CONFIGURATION::platform {

using native_handle = HANDLE;
/// INVALID_HANDLE_VALUE, which is not a constant expression.
inline const native_handle invalid_handle = INVALID_HANDLE_VALUE;
/// Passed in place of the directory that a path must stay beneath: the path may lead anywhere.
inline constexpr native_handle anywhere = nullptr;

/// For systems whose handles are not the operating system's, but numbers that start at 1, such as the simulated disk's.
inline native_handle handle_of(std::uint64_t number) noexcept {
  return reinterpret_cast<native_handle>(static_cast<std::uintptr_t>(number));
}
inline std::uint64_t number_of(native_handle handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }

/// Flags of CreateFileW: the server of a named pipe whose name was given as a path cannot act in the name of this
/// process. (SECURITY_SQOS_PRESENT has the bit of FILE_FLAG_OPEN_NO_RECALL, which concerns only files in remote
/// storage: they are read, but not brought back. .NET opens files with the same flags.)
inline constexpr DWORD not_impersonated = SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS;

/// While it exists, Windows shows no dialog box when this thread opens something that is not there, such as a drive
/// without a medium. The call fails instead.
class no_dialogs {
 public:
  no_dialogs() noexcept { calls::SetThreadErrorMode(calls::GetThreadErrorMode() | SEM_FAILCRITICALERRORS, &before_); }
  no_dialogs(const no_dialogs&) = delete;
  no_dialogs& operator=(const no_dialogs&) = delete;
  ~no_dialogs() { calls::SetThreadErrorMode(before_, nullptr); }

 private:
  DWORD before_ = 0;
};

/// Lets others read, write, rename and remove the file while it is open, as on other systems.
inline constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

inline result<void> close(native_handle handle) noexcept {
  if (calls::CloseHandle(handle) == 0) return last_error();
  return success();
}

/// The result of close_and_keep_number().
struct closed_handle {
  bool has_ended = false;  ///< whether the handle refers to nothing now
  error failure;           ///< if it has ended, that of closing the file
};

/// A handle of Windows cannot be exchanged while threads use it.
inline closed_handle close_and_keep_number(native_handle) noexcept { return {false, error(errc::cannot_be_shared)}; }

/// In bytes. Volumes and disks have no size as files have; their device reports a length.
inline result<std::uint64_t> size(native_handle handle) noexcept {
  LARGE_INTEGER bytes;
  if (calls::GetFileSizeEx(handle, &bytes) != 0) return static_cast<std::uint64_t>(bytes.QuadPart);
  const error failure = last_error();
  DWORD length = 0;
  if (control(handle, control_disk_get_length, nullptr, 0, &bytes, sizeof bytes, length) != 0) return failure;
  return static_cast<std::uint64_t>(bytes.QuadPart);
}

/// The name of a file system, such as NTFS.
struct file_system_name {
  wchar_t letters[16] = {};  // longer names are cut off

  friend bool operator==(const file_system_name& left, std::wstring_view right) noexcept {
    return left.letters == right;
  }
};

/// That of the file system that a file is on; empty if unknown.
inline file_system_name known_file_system(native_handle handle) noexcept {
  file_system_name found;
  if (calls::GetVolumeInformationByHandleW(handle, nullptr, 0, nullptr, nullptr, nullptr, found.letters, 16) == 0)
    found.letters[0] = L'\0';
  return found;
}

/// Whether the file is on a network share, as a characteristic of its device. Not every redirector reports its protocol
/// (FileRemoteProtocolInfo). Also true if that is unknown.
inline bool is_remote(native_handle handle) noexcept {
  constexpr ULONG remote_device = 0x10;  // FILE_REMOTE_DEVICE
  calls::device_facts device{};
  return calls::query_device(handle, device) < 0 || (device.characteristics & remote_device) != 0;
}

inline result<void> resize(native_handle handle, std::uint64_t bytes) noexcept {
  if (bytes > detail::max_offset) return error(errc::offset_too_large, bytes, detail::max_offset);
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  if (calls::SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof end) == 0) return last_error();
  return success();
}

/// NTFS can leave out times and attributes. Elsewhere all kinds are the same: FlushFileBuffers writes contents and
/// attributes and flushes the device's cache. Needs a handle with write access.
inline result<void> sync(native_handle handle, sync_kind kind) noexcept {
  if (kind != sync_kind::everything) {
    const LONG status = calls::flush_data(handle);
    if (status >= 0) return success();
    if (!is_unsupported(status)) return system_error(code_of_status(status));
  }
  if (calls::FlushFileBuffers(handle) == 0) return last_error();
  return success();
}

/// Makes the names in a directory durable. For use after creating, renaming or removing a file in it.
inline result<void> sync_directory(path_view path) {
  if (const error misfit = path.misfit(); misfit.exists()) return misfit;
  const auto name = native_path(path);
  if (!name) return name.error();
  const no_dialogs quiet;
  const native_handle handle =
      calls::CreateFileW(name.value().c_str(), GENERIC_WRITE, share_all, nullptr, OPEN_EXISTING,
                         FILE_FLAG_BACKUP_SEMANTICS | not_impersonated, nullptr);
  if (handle == invalid_handle) return last_error();
  const bool is_directory = (calls::GetFileAttributesW(name.value().c_str()) & FILE_ATTRIBUTE_DIRECTORY) != 0;
  const result<void> synced =
      is_directory ? sync(handle, sync_kind::everything) : result<void>(system_error(ERROR_DIRECTORY));
  const result<void> closed = close(handle);
  return synced ? closed : synced;
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
