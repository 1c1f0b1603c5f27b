// What tests need from the operating system: on Windows.
#pragma once

#include <qio/qio.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace os {

// Error codes of the system.
inline constexpr int io_error = ERROR_IO_DEVICE, no_file = ERROR_INVALID_HANDLE, disk_full = ERROR_DISK_FULL,
                     permission_denied = ERROR_ACCESS_DENIED, too_large = ERROR_FILE_TOO_LARGE,
                     interrupted = 10004;  // WSAEINTR

inline unsigned long process_number() { return ::GetCurrentProcessId(); }

/// Whether a write failed because its offset is more than the file system can have. Wine has but a general failure for
/// it.
inline bool is_beyond_file_system(const qio::error& failure) {
  return failure == std::errc::file_too_large || failure == std::errc::no_space_on_device ||
         failure == std::errc::invalid_argument || failure == std::errc::io_error;
}

/// Whether this is Wine, whose calls that ask for the time of the last access change it, and which lists a directory as
/// it was when its handle was first used.
inline bool is_wine() {
  const HMODULE ntdll = ::GetModuleHandleW(L"ntdll.dll");
  return ntdll != nullptr && ::GetProcAddress(ntdll, "wine_get_version") != nullptr;
}

/// Whether the files of a directory are in memory alone.
inline bool is_in_memory(const std::filesystem::path&) { return false; }

/// Whether it is in an overlay of Linux.
inline bool is_in_overlay(const std::filesystem::path&) { return false; }

inline bool is_inherited(HANDLE handle) {
  DWORD flags = HANDLE_FLAG_INHERIT;
  return ::GetHandleInformation(handle, &flags) == 0 || (flags & HANDLE_FLAG_INHERIT) != 0;
}
inline bool is_open(HANDLE handle) {
  DWORD flags = 0;
  return ::GetHandleInformation(handle, &flags) != 0;
}
/// Once it is closed, another thread may get the same number for an event.
inline bool is_open_file(HANDLE handle) { return ::GetFileType(handle) == FILE_TYPE_DISK; }
inline void close(HANDLE handle) { ::CloseHandle(handle); }

inline std::size_t page_size() {
  SYSTEM_INFO about;
  ::GetSystemInfo(&about);
  return about.dwPageSize;
}

/// Whether a handle belongs to the context on which it was opened.
inline constexpr bool binds_handles = true;

/// Whether there is a call that starts writeback.
inline constexpr bool has_writeback = false;

/// Those that a handle can change.
inline DWORD flags_of(HANDLE handle) {
  DWORD flags = 0;
  return ::GetHandleInformation(handle, &flags) != 0 ? flags : ~DWORD(0);
}

/// How a test opens a handle itself. Everything else is what a file of this library needs.
struct raw_open {
  qio::access access = qio::access::read_write;
  bool direct = false;
  bool durable = false;
  bool appends = false;
  bool asynchronous = false;
};

/// A new handle of an existing file. invalid_handle if the file system refuses direct I/O.
inline HANDLE open_raw(const std::string& path, const raw_open& how) {
  const DWORD rights = (how.access != qio::access::write ? GENERIC_READ : 0u) |
                       (how.access == qio::access::read ? 0u
                        : how.appends                   ? FILE_GENERIC_WRITE & ~DWORD(FILE_WRITE_DATA)
                                                        : GENERIC_WRITE);
  return ::CreateFileW(std::filesystem::path(path).c_str(), rights, qio::platform::share_all, nullptr, OPEN_EXISTING,
                       (how.direct ? FILE_FLAG_NO_BUFFERING : 0u) | (how.durable ? FILE_FLAG_WRITE_THROUGH : 0u) |
                           (how.asynchronous ? FILE_FLAG_OVERLAPPED : 0u),
                       nullptr);
}

/// Waits until a context's wake_handle() is ready. False if `limit` passes first.
inline bool wait_until_ready(HANDLE handle, std::chrono::milliseconds limit) {
  return ::WaitForSingleObject(handle, static_cast<DWORD>(limit.count())) == WAIT_OBJECT_0;
}

/// From now on, system calls on this file's handle fail because it is not that of an ordinary file.
inline void take_away(HANDLE handle) { ::CloseHandle(handle); }

/// Why a thread must not request a stop while another one destroys its callback; empty if that is safe. GCC's library
/// does not check its condition again under the lock (__waiter_pool::_M_do_wait of GCC 12, where there is no futex),
/// and ~stop_callback then sleeps forever: about once in ten thousand times.
#ifdef __GLIBCXX__
inline constexpr std::string_view why_stops_hang =
    "the destructor of std::stop_callback may hang (libstdc++ on Windows)";
#else
inline constexpr std::string_view why_stops_hang;
#endif

/// Whether a mapped file can be truncated through another handle: ERROR_USER_MAPPED_FILE.
inline constexpr bool mapped_may_be_cut = false;

/// Whether a rename that must replace nothing may succeed, and change nothing, if both names are of one file: Windows,
/// if they are equal, and Wine for hard links, too.
inline constexpr bool renames_to_itself = true;

/// Whether a mapping shows what direct transfers write. NTFS does not promise it.
inline constexpr bool mapped_shows_direct = false;

/// Whether this process has the file open: then it cannot be opened exclusively.
inline bool has_open(const std::string& path) {
  const HANDLE own = ::CreateFileW(std::filesystem::path(path).c_str(), GENERIC_READ, 0, nullptr, OPEN_EXISTING,
                                   FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (own == INVALID_HANDLE_VALUE) return true;
  ::CloseHandle(own);
  return false;
}

}  // namespace os
