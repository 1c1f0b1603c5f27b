// SPDX-License-Identifier: BSL-1.0
// Questions to a file system or a device, on a handle of any kind.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/lent_event.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::platform {

// From winioctl.h, which would bring its many macros to every user of this library.
inline constexpr DWORD control_disk_get_length = 0x7405c;     // IOCTL_DISK_GET_LENGTH_INFO
inline constexpr DWORD control_query_file_regions = 0x90284;  // FSCTL_QUERY_FILE_REGIONS

/// An OVERLAPPED for a blocking call on a handle of either kind. The lowest bit of the event is set, so that no
/// completion is queued to the port that the handle may be bound to (documentation of GetQueuedCompletionStatus).
/// hEvent is null if no event could be created.
struct waiting_overlapped : OVERLAPPED {
  waiting_overlapped() noexcept : OVERLAPPED{} {
    if (event.get() != nullptr) hEvent = reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(event.get()) | 1);
  }

  lent_event event;
};

/// Waits for what was started with a waiting_overlapped. Returns zero or the error; `bytes` is the number of bytes
/// transferred.
inline DWORD finish_blocking(HANDLE handle, OVERLAPPED& overlapped, BOOL done, DWORD& bytes) noexcept {
  if (done == 0 && calls::GetLastError() != ERROR_IO_PENDING) return calls::GetLastError();
  return calls::GetOverlappedResult(handle, &overlapped, &bytes, TRUE) != 0 ? 0 : calls::GetLastError();
}

/// DeviceIoControl, and waits. Returns zero or the error; `bytes` is the length of the answer.
inline DWORD control(HANDLE handle, DWORD code, void* question, std::size_t question_bytes, void* answer,
                     std::size_t answer_bytes, DWORD& bytes) noexcept {
  waiting_overlapped overlapped;
  if (overlapped.hEvent == nullptr) return ERROR_NOT_ENOUGH_MEMORY;
  const BOOL done = calls::DeviceIoControl(handle, code, question, static_cast<DWORD>(question_bytes), answer,
                                           static_cast<DWORD>(answer_bytes), &bytes, &overlapped);
  return finish_blocking(handle, overlapped, done, bytes);
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
