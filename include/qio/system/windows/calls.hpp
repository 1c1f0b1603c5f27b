// SPDX-License-Identifier: BSL-1.0
// Every call to Windows that the library makes on files, their memory and completion ports. All such calls go through
// this namespace, so that a test can put a header of the same name before this one and simulate Windows.
#pragma once

#include <qio/configuration.hpp>

#include <string_view>

// Only the core of Windows' headers, without the macros min and max. What is defined for that is undefined afterwards:
// what the program includes later is its own choice.
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#define QIO_DEFINES_LEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#define QIO_DEFINES_NOMINMAX
#endif
#include <windows.h>
#if defined(QIO_DEFINES_LEAN)
#undef QIO_DEFINES_LEAN
#undef WIN32_LEAN_AND_MEAN
#endif
#if defined(QIO_DEFINES_NOMINMAX)
#undef QIO_DEFINES_NOMINMAX
#undef NOMINMAX
#endif

#if _WIN32_WINNT < 0x0602
#error "qio requires the interface of Windows 8: define _WIN32_WINNT as 0x0602 or more (0x0A00 for Windows 10)"
#include "qio requires _WIN32_WINNT to be 0x0602 or more"
#endif

QIO_BEGIN_NAMESPACE
namespace platform::calls {

using ::CancelIoEx;
using ::CloseHandle;
using ::CreateDirectoryW;
using ::CreateEventW;
using ::CreateFileMappingW;
using ::CreateFileW;
using ::CreateHardLinkW;
using ::CreateIoCompletionPort;
using ::CreateSymbolicLinkW;
using ::DeleteFileW;
using ::DeviceIoControl;
using ::DuplicateHandle;
using ::FlushFileBuffers;
using ::FlushViewOfFile;
using ::GetDiskFreeSpaceW;
using ::GetFileAttributesW;
using ::GetFileInformationByHandle;
using ::GetFileInformationByHandleEx;
using ::GetFileSizeEx;
using ::GetFileType;
using ::GetFinalPathNameByHandleW;
using ::GetFullPathNameW;
using ::GetLargePageMinimum;
using ::GetLastError;
using ::GetOverlappedResult;
using ::GetQueuedCompletionStatusEx;
using ::GetTempPathW;
using ::GetThreadErrorMode;
using ::GetVolumeInformationByHandleW;
using ::GetVolumePathNameW;
using ::LockFileEx;
using ::MapViewOfFileEx;
using ::MoveFileExW;
using ::PostQueuedCompletionStatus;
using ::PrefetchVirtualMemory;
using ::ReadFile;
using ::RemoveDirectoryW;
using ::ReOpenFile;
using ::ResetEvent;
using ::SetEvent;
using ::SetFileAttributesW;
using ::SetFileCompletionNotificationModes;
using ::SetFileInformationByHandle;
using ::SetThreadErrorMode;
using ::Sleep;
using ::UnlockFileEx;
using ::UnmapViewOfFile;
using ::VirtualAlloc;
using ::VirtualAllocExNuma;
using ::VirtualFree;
using ::WriteFile;

/// The address of a function that not every Windows has, or no import library names; null if this Windows lacks it.
template <class Function>
Function* function_of(const wchar_t* library, const char* name) noexcept {
  const HMODULE loaded = ::GetModuleHandleW(library);
  const FARPROC found = loaded == nullptr ? nullptr : ::GetProcAddress(loaded, name);
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(found));
}
template <class Function>
Function* function_of_ntdll(const char* name) noexcept {
  return function_of<Function>(L"ntdll.dll", name);
}

/// Reserves a placeholder (VirtualAlloc2). Null before Windows 10 1803.
inline void* reserve_placeholder(SIZE_T bytes) noexcept {
  using function = PVOID WINAPI(HANDLE, PVOID, SIZE_T, ULONG, ULONG, void*, ULONG);
  static function* const allocate = function_of<function>(L"kernelbase.dll", "VirtualAlloc2");
  constexpr ULONG reserve_placeholder = 0x40000;  // MEM_RESERVE_PLACEHOLDER
  if (allocate == nullptr) return nullptr;
  return allocate(::GetCurrentProcess(), nullptr, bytes, MEM_RESERVE | reserve_placeholder, PAGE_NOACCESS, nullptr, 0);
}
/// Replaces a placeholder by a view of the beginning of a section (MapViewOfFile3).
inline void* map_into_placeholder(HANDLE section, void* place, SIZE_T bytes, ULONG protection) noexcept {
  using function = PVOID WINAPI(HANDLE, HANDLE, PVOID, ULONG64, SIZE_T, ULONG, ULONG, void*, ULONG);
  static function* const map = function_of<function>(L"kernelbase.dll", "MapViewOfFile3");
  constexpr ULONG replace_placeholder = 0x4000;  // MEM_REPLACE_PLACEHOLDER
  if (map == nullptr) return nullptr;
  return map(section, ::GetCurrentProcess(), place, 0, bytes, replace_placeholder, protection, nullptr, 0);
}
/// Unmaps such a view, and leaves a placeholder (UnmapViewOfFile2).
inline BOOL unmap_to_placeholder(void* view) noexcept {
  using function = BOOL WINAPI(HANDLE, PVOID, ULONG);
  static function* const unmap = function_of<function>(L"kernelbase.dll", "UnmapViewOfFile2");
  constexpr ULONG preserve_placeholder = 0x2;  // MEM_PRESERVE_PLACEHOLDER
  return unmap == nullptr ? FALSE : unmap(::GetCurrentProcess(), view, preserve_placeholder);
}

/// FILE_FS_DEVICE_INFORMATION: the device that a file is on (NtQueryVolumeInformationFile).
struct device_facts {
  ULONG type;
  ULONG characteristics;
};
/// Returns an NTSTATUS.
inline LONG query_device(HANDLE handle, device_facts& found) noexcept {
  struct status_block {
    void* status;
    ULONG_PTR information;
  };
  using function = LONG NTAPI(HANDLE, status_block*, void*, ULONG, int);
  static function* const query = function_of_ntdll<function>("NtQueryVolumeInformationFile");
  constexpr int device_information = 4;  // FileFsDeviceInformation
  constexpr auto not_implemented = static_cast<LONG>(0xc0000002);
  status_block status{};
  return query == nullptr ? not_implemented : query(handle, &status, &found, sizeof found, device_information);
}

/// Flushes only the data of a file, what is needed to read it back, and the device's cache (NtFlushBuffersFileEx with
/// FLUSH_FLAGS_FILE_DATA_SYNC_ONLY, which NTFS supports). Returns an NTSTATUS.
inline LONG flush_data(HANDLE handle) noexcept {
  struct status_block {
    void* status;
    ULONG_PTR information;
  };
  using function = LONG NTAPI(HANDLE, ULONG, void*, ULONG, status_block*);
  static function* const flush = function_of_ntdll<function>("NtFlushBuffersFileEx");
  constexpr ULONG file_data_sync_only = 4;
  status_block status{};
  constexpr auto not_implemented = static_cast<LONG>(0xc0000002);
  return flush == nullptr ? not_implemented : flush(handle, file_data_sync_only, nullptr, 0, &status);
}

/// Opens an entry of an open directory that exists (NtCreateFile, FILE_OPEN). Returns an NTSTATUS.
inline LONG open_entry(HANDLE directory, std::wstring_view name, ULONG rights, ULONG sharing, ULONG options,
                       HANDLE& opened) noexcept {
  struct counted_text {  // UNICODE_STRING
    USHORT bytes, room;
    const wchar_t* characters;
  };
  struct object_attributes {  // OBJECT_ATTRIBUTES
    ULONG size;
    HANDLE root;
    const counted_text* name;
    ULONG flags;
    void* security;
    void* quality;
  };
  struct status_block {
    void* status;
    ULONG_PTR information;
  };
  using function = LONG NTAPI(HANDLE*, ULONG, const object_attributes*, status_block*, LARGE_INTEGER*, ULONG, ULONG,
                              ULONG, ULONG, void*, ULONG);
  static function* const create = function_of_ntdll<function>("NtCreateFile");
  constexpr auto not_implemented = static_cast<LONG>(0xc0000002), invalid_name = static_cast<LONG>(0xc0000033);
  constexpr ULONG case_insensitive = 0x40, existing = 1;  // unless the directory is case-sensitive
  if (create == nullptr) return not_implemented;
  if (name.size() > 32766) return invalid_name;
  const auto bytes = static_cast<USHORT>(name.size() * sizeof(wchar_t));
  const counted_text text{bytes, bytes, name.data()};
  const object_attributes attributes{sizeof attributes, directory, &text, case_insensitive, nullptr, nullptr};
  status_block status{};
  return create(&opened, rights, &attributes, &status, nullptr, FILE_ATTRIBUTE_NORMAL, sharing, existing, options,
                nullptr, 0);
}

}  // namespace platform::calls
QIO_END_NAMESPACE
