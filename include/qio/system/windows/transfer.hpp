// SPDX-License-Identifier: BSL-1.0
// One read or write by a system call.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/piece.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/lent_event.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Options of a transfer. Windows has none: such options belong to the handle, or take another call.
using transfer_flags = int;
inline constexpr transfer_flags drop_pages = 1;
inline constexpr transfer_flags durable = 2;  ///< of a write: see write_options::durable

/// Whether the file accepts these flags. Always false.
inline bool takes_flags(native_handle, transfer_flags) noexcept { return false; }

/// The buffer that one call transfers. The only vectored calls (such as ReadFileScatter) need whole pages, a handle
/// without the cache, and an array of their own while they run; so one call transfers the first of several buffers, and
/// further calls the rest.
inline mutable_buffer first_of(const detail::piece& piece) noexcept {
  if (piece.vector == nullptr) return piece.single;
  const mutable_buffer first = piece.vector[0];
  return {first.data, (std::min)(first.size, detail::max_transfer_bytes)};
}

inline void set_offset(OVERLAPPED& overlapped, std::uint64_t offset) noexcept {
  overlapped.Offset = static_cast<DWORD>(offset);
  overlapped.OffsetHigh = static_cast<DWORD>(offset >> 32);
}

/// The result of a read at `offset` that failed with `code`: 0 at the end of the file, which Windows reports only as an
/// error; else the negated code. For a handle without the cache (FILE_FLAG_NO_BUFFERING), an offset past the end may be
/// reported as an invalid parameter.
inline detail::raw_result failed_read(native_handle handle, std::uint64_t offset, DWORD code) noexcept {
  if (code == ERROR_HANDLE_EOF) return 0;
  if (code == ERROR_INVALID_PARAMETER)
    if (const auto end = size(handle); end && offset >= end.assume_value()) return 0;
  return -static_cast<detail::raw_result>(code);
}

/// Waits for a transfer that was started with a blocking_overlapped. Returns zero or the error; `bytes` is the number
/// of bytes transferred.
inline DWORD finish_blocking(native_handle handle, OVERLAPPED& overlapped, BOOL done, DWORD& bytes) noexcept {
  if (done == 0 && calls::GetLastError() != ERROR_IO_PENDING) return calls::GetLastError();
  return calls::GetOverlappedResult(handle, &overlapped, &bytes, TRUE) != 0 ? 0 : calls::GetLastError();
}

/// For a blocking transfer on a handle of either kind. The lowest bit of the event is set, so that no completion is
/// queued to the port that the handle may be bound to (documentation of GetQueuedCompletionStatus). hEvent is null if
/// no event could be created.
struct blocking_overlapped : OVERLAPPED {
  explicit blocking_overlapped(std::uint64_t offset) noexcept : OVERLAPPED{} {
    set_offset(*this, offset);
    if (event.get() != nullptr) hEvent = reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(event.get()) | 1);
  }

  lent_event event;
};

inline detail::raw_result read_some(native_handle handle, const detail::piece& piece, transfer_flags) noexcept {
  const mutable_buffer buffer = first_of(piece);
  blocking_overlapped overlapped(piece.offset);
  if (overlapped.hEvent == nullptr) return -ERROR_NOT_ENOUGH_MEMORY;
  DWORD bytes = 0;
  const BOOL done = calls::ReadFile(handle, buffer.data, static_cast<DWORD>(buffer.size), nullptr, &overlapped);
  const DWORD failure = finish_blocking(handle, overlapped, done, bytes);
  return failure == 0 ? bytes : failed_read(handle, piece.offset, failure);
}

/// Whether no byte is left after first_of(piece), as far as the piece shows.
inline bool has_one_part(const detail::piece& piece) noexcept {
  for (std::size_t i = 1; piece.vector != nullptr && i < piece.vector_size; ++i)
    if (piece.vector[i].size != 0) return false;
  return true;
}

inline detail::raw_result write_some(native_handle handle, const detail::piece& piece, transfer_flags flags) noexcept {
  const mutable_buffer buffer = first_of(piece);
  blocking_overlapped overlapped(piece.offset);
  if (overlapped.hEvent == nullptr) return -ERROR_NOT_ENOUGH_MEMORY;
  DWORD bytes = 0;
  const BOOL done = calls::WriteFile(handle, buffer.data, static_cast<DWORD>(buffer.size), nullptr, &overlapped);
  const DWORD failure = finish_blocking(handle, overlapped, done, bytes);
  if (failure != 0) return -static_cast<detail::raw_result>(failure);
  // One flush after the last of several buffers covers them all.
  if ((flags & durable) != 0 && (has_one_part(piece) || bytes != buffer.size) && calls::FlushFileBuffers(handle) == 0)
    return -static_cast<detail::raw_result>(calls::GetLastError());
  return bytes;
}

/// Always fails: Windows has no read that either completes at once or is not started. A read that does not complete at
/// once continues in the background, which only an engine can handle.
inline detail::raw_result read_without_waiting(native_handle, const detail::piece&) noexcept { return -EOPNOTSUPP; }

}  // namespace qio::inline QIO_CONFIGURATION::platform
