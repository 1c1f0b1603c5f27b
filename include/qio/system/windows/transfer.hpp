// SPDX-License-Identifier: BSL-1.0
// One read or write by a system call.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/system/windows/handle.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Options of a transfer. Windows has none: such options belong to the handle, or take another call.
using transfer_flags = int;
inline constexpr transfer_flags drop_pages = 1;
inline constexpr transfer_flags durable = 2;  ///< of a write: see write_options::durable
inline constexpr transfer_flags untorn = 4;   ///< of a write: see write_options::untorn; no file has such writes

/// Whether the file accepts these flags. Always false.
inline bool takes_flags(native_handle, transfer_flags) noexcept { return false; }

/// The buffer that one call transfers. The only vectored calls (such as ReadFileScatter) need whole pages, a handle
/// without the cache, and an array of their own while they run; so one call transfers the first of several buffers, and
/// further calls the rest.
inline mutable_buffer first_of(const detail::piece& piece) noexcept {
  if (piece.vector == nullptr) return piece.single;
  const mutable_buffer first = piece.vector[0];
  return {first.data, detail::lesser_of(first.size, detail::max_transfer_bytes)};
}

/// How much one call transfers at most, in bytes, so that a transfer that is canceled, or a file that is closed, waits
/// for no more than that; and so that a direct transfer locks no more memory. A multiple of every sector.
inline constexpr std::size_t longest_call = std::size_t(32) << 20;
/// Less is not tried if memory is short.
inline constexpr std::size_t shortest_part = std::size_t(64) << 10;

/// The system has no memory for another transfer of this length (see the documentation of ReadFile).
inline bool is_shortage(DWORD code) noexcept {
  return code == ERROR_INVALID_USER_BUFFER || code == ERROR_NOT_ENOUGH_MEMORY || code == ERROR_NO_SYSTEM_RESOURCES ||
         code == ERROR_WORKING_SET_QUOTA || code == ERROR_NOT_ENOUGH_QUOTA;
}

/// Calls `start(bytes)`, which returns zero or the error, with less each time that memory is short. Returns what the
/// last call returned.
template <class Start>
DWORD start_in_parts(std::size_t wanted, Start&& start) noexcept {
  std::size_t bytes = detail::lesser_of(wanted, longest_call);
  for (;;) {
    const DWORD failure = start(static_cast<DWORD>(bytes));
    if (!is_shortage(failure) || bytes <= shortest_part) return failure;
    bytes = (bytes / 2 + shortest_part - 1) / shortest_part * shortest_part;
  }
}

inline void set_offset(OVERLAPPED& overlapped, std::uint64_t offset) noexcept {
  overlapped.Offset = static_cast<DWORD>(offset);
  overlapped.OffsetHigh = static_cast<DWORD>(offset >> 32);
}

/// The result of a read at `offset` that failed with `code`: 0 at the end of the file, which Windows reports only as an
/// error; else the negated code. For a handle without the cache (FILE_FLAG_NO_BUFFERING), an offset past the end may be
/// reported as an invalid parameter. A handle that a file server has closed (STATUS_FILE_FORCED_CLOSED) fails with the
/// code of the end of the file, too, so the size decides. If the file reaches beyond the offset, it may have grown
/// after the read: the result is then "interrupted", which repeats the read, once.
inline detail::raw_result failed_read(native_handle handle, std::uint64_t offset, DWORD code, bool& repeated) noexcept {
  if (code == ERROR_HANDLE_EOF || code == ERROR_INVALID_PARAMETER)
    if (const auto end = size(handle); end) {
      if (offset >= end.assume_value()) return 0;
      if (!std::exchange(repeated, true)) return -static_cast<detail::raw_result>(error_interrupted);
    }
  return -static_cast<detail::raw_result>(code);
}

/// Transfers a piece by `call`, ReadFile or WriteFile, and waits. Returns zero or the error; `bytes` is the number of
/// bytes transferred.
template <class Call>
DWORD transfer_some(native_handle handle, const detail::piece& piece, DWORD& bytes, Call&& call) noexcept {
  const mutable_buffer buffer = first_of(piece);
  return start_in_parts(buffer.size, [&](DWORD part) -> DWORD {
    waiting_overlapped overlapped;
    if (overlapped.hEvent == nullptr) return ERROR_NOT_ENOUGH_MEMORY;
    set_offset(overlapped, piece.offset);
    return finish_blocking(handle, overlapped, call(buffer.data, part, overlapped), bytes);
  });
}

inline detail::raw_result read_some(native_handle handle, const detail::piece& piece, transfer_flags) noexcept {
  DWORD bytes = 0;
  const auto read = [&](void* data, DWORD part, OVERLAPPED& overlapped) {
    return calls::ReadFile(handle, data, part, nullptr, &overlapped);
  };
  for (bool repeated = false;;) {
    const DWORD failure = transfer_some(handle, piece, bytes, read);
    if (failure == 0) return bytes;
    const detail::raw_result answer = failed_read(handle, piece.offset, failure, repeated);
    if (answer != -static_cast<detail::raw_result>(error_interrupted)) return answer;
  }
}

/// Whether no byte is left after first_of(piece), as far as the piece shows.
inline bool has_one_part(const detail::piece& piece) noexcept {
  for (std::size_t i = 1; piece.vector != nullptr && i < piece.vector_size; ++i)
    if (piece.vector[i].size != 0) return false;
  return true;
}

inline detail::raw_result write_some(native_handle handle, const detail::piece& piece, transfer_flags flags) noexcept {
  DWORD bytes = 0;
  const DWORD failure = transfer_some(handle, piece, bytes, [&](void* data, DWORD part, OVERLAPPED& overlapped) {
    return calls::WriteFile(handle, data, part, nullptr, &overlapped);
  });
  if (failure != 0) return -static_cast<detail::raw_result>(failure);
  // One flush after the last of several buffers covers them all.
  const bool may_be_last = has_one_part(piece) || bytes != first_of(piece).size;
  if ((flags & durable) != 0 && may_be_last && calls::FlushFileBuffers(handle) == 0)
    return -static_cast<detail::raw_result>(calls::GetLastError());
  return bytes;
}

inline constexpr bool has_writeback = false;

/// Always fails: Windows decides alone when it writes back, until it is asked to wait for it.
inline detail::raw_result start_writeback(native_handle, std::uint64_t, std::size_t) noexcept {
  return -ERROR_NOT_SUPPORTED;
}

/// Always fails: Windows has no read that either completes at once or is not started. A read that does not complete at
/// once continues in the background, which only an engine can handle.
inline detail::raw_result read_without_waiting(native_handle, const detail::piece&) noexcept { return -EOPNOTSUPP; }
inline detail::raw_result write_without_waiting(native_handle, const detail::piece&, transfer_flags) noexcept {
  return -EOPNOTSUPP;
}

}  // namespace platform
QIO_END_NAMESPACE
