// What tests ask of the operating system: on Linux.
#pragma once

#include <qio/qio.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace os {

// Codes that the system answers with.
inline constexpr int io_error = EIO, no_file = EBADF, disk_full = ENOSPC, interrupted = EINTR;

inline long process_number() { return ::getpid(); }

/// Whether a write failed because its offset is more than the file system can have.
inline bool is_beyond_file_system(const qio::error& failure) { return failure == std::errc::file_too_large; }

inline bool is_open(qio::platform::native_handle handle) { return ::fcntl(handle, F_GETFD) != -1; }
inline bool is_inherited(qio::platform::native_handle handle) { return (::fcntl(handle, F_GETFD) & FD_CLOEXEC) == 0; }
inline void close(qio::platform::native_handle handle) { ::close(handle); }

/// Whoever asks the system about this file from now on is told that it is none.
inline void take_away(qio::platform::native_handle handle) {
  const int nothing = ::open("/", O_PATH | O_CLOEXEC);
  ::dup2(nothing, handle);
  ::close(nothing);
}

/// Why no stop may be requested by a thread while another one forgets it; empty if that is safe.
inline constexpr std::string_view why_stops_hang;

/// Whether a file that is mapped may be made shorter by another handle.
inline constexpr bool mapped_may_be_cut = true;

/// Whether a mapping shows what direct transfers have written.
inline constexpr bool mapped_shows_direct = true;

/// Whether this process has it open.
inline bool has_open(const std::string& path) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own
    if (std::filesystem::equivalent(each.path(), path, gone)) return true;
  }
  return false;
}

}  // namespace os
