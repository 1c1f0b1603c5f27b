// SPDX-License-Identifier: BSL-1.0
// One read or write by a system call.
#pragma once

#include <qio/detail/piece.hpp>
#include <qio/detail/windows/handle.hpp>
#include <qio/detail/windows/lent_event.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace qio::platform {

/// What a transfer asks for besides the bytes: nothing, since everything of the kind belongs to the handle here.
using transfer_flags = int;
inline constexpr transfer_flags drop_pages = 1;

/// Whether the file takes these flags.
inline bool takes_flags(native_handle, transfer_flags) noexcept { return false; }

/// What one call may move. There is no vectored call but for whole pages without cache (ReadFileScatter), which wants
/// an array of its own for as long as it runs; so of several buffers the first is served, and the rest by further
/// calls.
inline mutable_buffer first_of(const detail::piece& piece) noexcept {
  if (piece.vector == nullptr) return piece.single;
  return {piece.vector->data, std::min(piece.vector->size, detail::max_transfer_bytes)};
}

inline void set_offset(OVERLAPPED& overlapped, std::uint64_t offset) noexcept {
  overlapped.Offset = static_cast<DWORD>(offset);
  overlapped.OffsetHigh = static_cast<DWORD>(offset >> 32);
}

/// What a read at `offset` that failed answers. The end of the file is an error here, and nothing else is the end: of a
/// file without cache (FILE_FLAG_NO_BUFFERING) a position behind it may as well be called an invalid parameter.
inline detail::raw_result failed_read(native_handle handle, std::uint64_t offset, DWORD code) noexcept {
  if (code == ERROR_HANDLE_EOF) return 0;
  if (code == ERROR_INVALID_PARAMETER)
    if (const auto end = size(handle); end && offset >= end.assume_value()) return 0;
  return -static_cast<detail::raw_result>(code);
}

/// Waits for a transfer that was started by a blocking_overlapped. Zero, or the error; `bytes` are what was moved.
inline DWORD finish_blocking(native_handle handle, OVERLAPPED& overlapped, BOOL done, DWORD& bytes) noexcept {
  if (done == 0 && calls::GetLastError() != ERROR_IO_PENDING) return calls::GetLastError();
  return calls::GetOverlappedResult(handle, &overlapped, &bytes, TRUE) != 0 ? 0 : calls::GetLastError();
}

/// Of a handle of either kind. With an event whose lowest bit is set no completion is queued to the port that the
/// handle may be bound to (GetQueuedCompletionStatus's documentation).
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

inline detail::raw_result write_some(native_handle handle, const detail::piece& piece, transfer_flags) noexcept {
  const mutable_buffer buffer = first_of(piece);
  blocking_overlapped overlapped(piece.offset);
  if (overlapped.hEvent == nullptr) return -ERROR_NOT_ENOUGH_MEMORY;
  DWORD bytes = 0;
  const BOOL done = calls::WriteFile(handle, buffer.data, static_cast<DWORD>(buffer.size), nullptr, &overlapped);
  const DWORD failure = finish_blocking(handle, overlapped, done, bytes);
  return failure == 0 ? bytes : -static_cast<detail::raw_result>(failure);
}

/// There is no read that answers at once or not at all: a read that is started answers at once, or goes on by itself,
/// and that is for an engine to know.
inline detail::raw_result read_without_waiting(native_handle, const detail::piece&) noexcept { return -EOPNOTSUPP; }

}  // namespace qio::platform
