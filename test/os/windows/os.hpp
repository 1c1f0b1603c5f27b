// What tests ask of the operating system: on Windows.
#pragma once

#include <qio/qio.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace os {

// Codes that the system answers with.
inline constexpr int io_error = ERROR_IO_DEVICE, no_file = ERROR_INVALID_HANDLE, disk_full = ERROR_DISK_FULL,
                     interrupted = 10004;  // WSAEINTR

inline unsigned long process_number() { return ::GetCurrentProcessId(); }

/// Whether a write failed because its offset is more than the file system can have. Wine has but a general failure for
/// it.
inline bool is_beyond_file_system(const qio::error& failure) {
  return failure == std::errc::file_too_large || failure == std::errc::no_space_on_device ||
         failure == std::errc::invalid_argument || failure == std::errc::io_error;
}

inline bool is_inherited(HANDLE handle) {
  DWORD flags = HANDLE_FLAG_INHERIT;
  return ::GetHandleInformation(handle, &flags) == 0 || (flags & HANDLE_FLAG_INHERIT) != 0;
}
inline void close(HANDLE handle) { ::CloseHandle(handle); }

/// Whoever asks the system about this file from now on is told that it is none.
inline void take_away(HANDLE handle) { ::CloseHandle(handle); }

/// Why no stop may be requested by a thread while another one forgets it; empty if that is safe. GCC's library does not
/// check again under its lock what it waits for (__waiter_pool::_M_do_wait of GCC 12, where there is no futex), and
/// ~stop_callback then sleeps for ever: about one of ten thousand times.
#ifdef __GLIBCXX__
inline constexpr std::string_view why_stops_hang =
    "the destructor of std::stop_callback may hang (libstdc++ on Windows)";
#else
inline constexpr std::string_view why_stops_hang;
#endif

/// Whether a file that is mapped may be made shorter by another handle: ERROR_USER_MAPPED_FILE.
inline constexpr bool mapped_may_be_cut = false;

/// Whether a mapping shows what direct transfers have written. NTFS promises nothing, and neither here.
inline constexpr bool mapped_shows_direct = false;

/// Whether this process has it open: then nobody may have it for himself.
inline bool has_open(const std::string& path) {
  const HANDLE own = ::CreateFileW(std::filesystem::path(path).c_str(), GENERIC_READ, 0, nullptr, OPEN_EXISTING,
                                   FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (own == INVALID_HANDLE_VALUE) return true;
  ::CloseHandle(own);
  return false;
}

}  // namespace os
