// SPDX-License-Identifier: BSL-1.0
// An event that threads set and another event loop waits for: a manual-reset event of Windows.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/handle.hpp>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Its handle is signaled while it is set.
class event {
 public:
  event() noexcept = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { close(); }

  /// False, with the error in GetLastError(), if Windows creates none.
  bool open() noexcept {
    event_ = calls::CreateEventW(nullptr, TRUE, FALSE, nullptr);
    return is_open();
  }
  void close() noexcept {
    if (is_open()) calls::CloseHandle(event_);
    event_ = nullptr;
  }

  bool is_open() const noexcept { return event_ != nullptr; }
  native_handle handle() const noexcept { return event_; }

  /// From any thread.
  void set() noexcept { calls::SetEvent(event_); }
  void reset() noexcept { calls::ResetEvent(event_); }

 private:
  HANDLE event_ = nullptr;
};

}  // namespace platform
QIO_END_NAMESPACE
