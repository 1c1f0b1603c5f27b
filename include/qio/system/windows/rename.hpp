// SPDX-License-Identifier: BSL-1.0
// Replacing a file, even if it is open, by one with a temporary name that nobody else can have taken.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/handle.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

// --- Names that nobody else can have taken ---

#if defined(_MSC_VER)
#pragma comment(lib, "advapi32")
#endif

QIO_BEGIN_NAMESPACE
namespace platform {

// RtlGenRandom, which <ntsecapi.h> maps to this name by a macro.
extern "C" BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG bytes);

/// A number that nobody else can predict, for names that nobody else can have taken.
inline std::uint64_t unguessable_number() noexcept {
  std::uint64_t number = 0;
  if (SystemFunction036(&number, sizeof number) != 0) return number;
  LARGE_INTEGER now;  // never fails, according to its documentation
  ::QueryPerformanceCounter(&now);
  return static_cast<std::uint64_t>(now.QuadPart) * 0x9e3779b97f4a7c15u ^ ::GetCurrentProcessId();
}

/// The name of a temporary file. What a killed process has left behind can be found by the beginning.
inline std::string temporary_name() { return ".qio-" + std::to_string(unguessable_number()); }

// --- Replacing a file, even if it is open ---

inline bool is_directory(const std::wstring& path) noexcept {
  const DWORD attributes = calls::GetFileAttributesW(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

/// Whether there is a symbolic link, or another reparse point.
inline bool is_link(const std::wstring& path) noexcept {
  const DWORD attributes = calls::GetFileAttributesW(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
}

inline void remove_file(const std::wstring& path) noexcept {
  calls::SetFileAttributesW(path.c_str(), FILE_ATTRIBUTE_NORMAL);  // a read-only file cannot be removed
  calls::DeleteFileW(path.c_str());
}

/// Identifies a file as long as it is open. Nothing if its file system does not.
struct file_identity {
  std::uint64_t volume = 0;
  std::uint64_t id[2] = {};  // 128 bits on ReFS

  static file_identity of(native_handle handle) noexcept {
    file_identity found;
    FILE_ID_INFO info{};
    static_assert(sizeof info.FileId == sizeof found.id);
    if (calls::GetFileInformationByHandleEx(handle, FileIdInfo, &info, sizeof info) != 0) {
      found.volume = info.VolumeSerialNumber;
      std::memcpy(found.id, &info.FileId, sizeof found.id);
      return found;
    }
    BY_HANDLE_FILE_INFORMATION older{};  // where the file system has no others, such as FAT32
    if (calls::GetFileInformationByHandle(handle, &older) == 0) return found;
    found.volume = older.dwVolumeSerialNumber;
    found.id[0] = std::uint64_t(older.nFileIndexHigh) << 32 | older.nFileIndexLow;
    return found;
  }

  /// File systems without IDs report 0.
  bool exists() const noexcept { return id[0] != 0 || id[1] != 0; }
  friend bool operator==(const file_identity&, const file_identity&) noexcept = default;
};

/// False if that is unknown.
inline bool are_same_file(native_handle one, native_handle other) noexcept {
  const file_identity identity = file_identity::of(one);
  return identity.exists() && identity == file_identity::of(other);
}

/// Removes the file that is open as `created` if it is still at `path`. Others may have renamed it and put a file of
/// their own there. Compares and removes through the same handle, so the removed file is the one compared.
inline void remove_created(native_handle created, const std::wstring& path) noexcept {
  const no_dialogs quiet;
  constexpr DWORD wanted = DELETE | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES;
  const native_handle there = calls::CreateFileW(path.c_str(), wanted, share_all, nullptr, OPEN_EXISTING,
                                                 FILE_FLAG_OPEN_REPARSE_POINT | not_impersonated, nullptr);
  if (there == invalid_handle) return;
  if (are_same_file(created, there)) {
    FILE_BASIC_INFO writable{};  // a read-only file cannot be removed; times of zero are not changed
    writable.FileAttributes = FILE_ATTRIBUTE_NORMAL;
    calls::SetFileInformationByHandle(there, FileBasicInfo, &writable, sizeof writable);
    FILE_DISPOSITION_INFO removed{TRUE};
    calls::SetFileInformationByHandle(there, FileDispositionInfo, &removed, sizeof removed);
  }
  calls::CloseHandle(there);
}

/// Calls `attempt(name)`, which returns an error, with names in the directory of `path` until one is free.
template <class Attempt>
error with_new_name(const std::wstring& path, Attempt&& attempt) {
  const std::wstring directory = path.substr(0, path.rfind(L'\\') + 1);
  error failure;
  for (int attempts = 0; attempts < 8; ++attempts) {
    failure = attempt(directory + L".qio-" + std::to_wstring(unguessable_number()));
    if (failure != std::errc::file_exists) break;
  }
  return failure;
}

/// Finds the path that creation::always_new replaces: the target if `path` is a symbolic link, else `path` itself.
/// Directories and read-only files are not replaced.
inline result<std::wstring> find_replaced(const std::wstring& path) {
  const DWORD attributes = calls::GetFileAttributesW(path.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) {
    if (calls::GetLastError() == ERROR_FILE_NOT_FOUND) return path;
    return last_error();
  }
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return system_error(error_is_a_directory);
  if ((attributes & FILE_ATTRIBUTE_READONLY) != 0) return system_error(ERROR_ACCESS_DENIED);
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return path;
  const native_handle there =
      calls::CreateFileW(path.c_str(), 0, share_all, nullptr, OPEN_EXISTING, not_impersonated, nullptr);
  if (there == invalid_handle) return last_error();
  std::wstring resolved(32768, L'\0');
  const DWORD length = calls::GetFinalPathNameByHandleW(there, resolved.data(), 32768, FILE_NAME_NORMALIZED);
  const error failure = length == 0 ? last_error() : error();
  calls::CloseHandle(there);
  if (failure.exists()) return failure;
  resolved.resize(length);
  return resolved;
}

/// Renames as rename(2) does: atomically, even if either file is open. Needs Windows 10 1607 and NTFS. Returns zero or
/// the error.
inline DWORD rename_as_posix(const std::wstring& from, const std::wstring& to) {
  // FILE_RENAME_INFO as in newer headers. Its first member used to be a BOOLEAN.
  struct rename_information {
    DWORD flags;
    HANDLE root;
    DWORD name_bytes;
    wchar_t name[1];
  };
  constexpr auto rename_information_class = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);  // FileRenameInfoEx
  constexpr DWORD replace_if_exists = 0x1, posix_semantics = 0x2;

  const native_handle handle = calls::CreateFileW(from.c_str(), DELETE | SYNCHRONIZE, share_all, nullptr, OPEN_EXISTING,
                                                  FILE_ATTRIBUTE_NORMAL | not_impersonated, nullptr);
  if (handle == invalid_handle) return calls::GetLastError();
  const std::size_t name_bytes = to.size() * sizeof(wchar_t);
  std::vector<std::byte> memory(sizeof(rename_information) + name_bytes);
  auto* const information = new (memory.data())
      rename_information{replace_if_exists | posix_semantics, nullptr, static_cast<DWORD>(name_bytes), {}};
  std::memcpy(memory.data() + offsetof(rename_information, name), to.c_str(), name_bytes);
  const BOOL renamed = calls::SetFileInformationByHandle(handle, rename_information_class, information,
                                                         static_cast<DWORD>(memory.size()));
  const DWORD failure = renamed != 0 ? 0 : calls::GetLastError();
  calls::CloseHandle(handle);
  return failure;
}

/// Whether a failure of rename_as_posix() means that this Windows, or the file system, does not rename in this way.
constexpr bool lacks_posix_renames(DWORD code) noexcept {
  return code == ERROR_INVALID_PARAMETER || code == ERROR_INVALID_FUNCTION || code == ERROR_NOT_SUPPORTED ||
         code == ERROR_CALL_NOT_IMPLEMENTED;
}

/// Whether the open file can be removed now. A file of which somebody has a view cannot.
inline error why_not_removable(native_handle handle) noexcept {
  for (const BOOL removed : {TRUE, FALSE}) {
    FILE_DISPOSITION_INFO disposition{static_cast<BOOLEAN>(removed)};
    if (calls::SetFileInformationByHandle(handle, FileDispositionInfo, &disposition, sizeof disposition) == 0)
      return last_error();
  }
  return {};
}

/// Where rename_as_posix() is unsupported, a file that is open cannot be replaced, only renamed. So there is briefly no
/// file at `to`; the old file is deleted when its last handle is closed. If it cannot be deleted, everything stays as
/// it was.
inline error move_aside_and_rename(const std::wstring& from, const std::wstring& to) {
  const native_handle old =
      calls::CreateFileW(to.c_str(), DELETE | SYNCHRONIZE | FILE_READ_ATTRIBUTES, share_all, nullptr, OPEN_EXISTING,
                         FILE_FLAG_OPEN_REPARSE_POINT | not_impersonated, nullptr);
  if (old == invalid_handle) return last_error();
  std::wstring aside;
  error failure = with_new_name(to, [&](std::wstring name) {
    aside = std::move(name);
    return calls::MoveFileExW(to.c_str(), aside.c_str(), 0) != 0 ? error() : last_error();
  });
  if (!failure.exists()) {
    failure = why_not_removable(old);
    if (!failure.exists() && calls::MoveFileExW(from.c_str(), to.c_str(), 0) == 0) failure = last_error();
    if (failure.exists()) calls::MoveFileExW(aside.c_str(), to.c_str(), 0);
  }
  calls::CloseHandle(old);
  if (!failure.exists()) calls::DeleteFileW(aside.c_str());  // by its name, since Wine's handles keep the old one
  return failure;
}

/// One attempt of replace_file().
inline error try_to_replace(const std::wstring& from, const std::wstring& to) {
  const DWORD code = rename_as_posix(from, to);
  if (code == 0) return error();
  if (!lacks_posix_renames(code)) return system_error(code);
  if (calls::MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING) != 0) return error();
  const error failure = last_error();
  const bool is_in_use = failure == std::errc::permission_denied || failure == std::errc::device_or_resource_busy;
  return is_in_use ? move_aside_and_rename(from, to) : failure;
}

/// Renames the file `from` to `to`, replacing the file there, if any. Virus scanners and indexers open new files for
/// moments, and deny others what they need then: if that is what the failure looks like, it is tried again, for a
/// quarter of a second in all.
inline error replace_file(const std::wstring& from, const std::wstring& to) {
  constexpr DWORD longest = 128;  // milliseconds
  for (DWORD pause = 1;; pause *= 2) {
    const error failure = try_to_replace(from, to);
    const int code = failure.code().value();
    const bool may_pass =
        code == ERROR_SHARING_VIOLATION || code == ERROR_ACCESS_DENIED || code == ERROR_USER_MAPPED_FILE;
    if (!failure.exists() || !may_pass || pause > longest) return failure;
    calls::Sleep(pause);
  }
}

}  // namespace platform
QIO_END_NAMESPACE
