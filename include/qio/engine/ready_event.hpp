// SPDX-License-Identifier: BSL-1.0
// What another event loop waits for in place of an engine: see engine, wake_handle().
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Does not exist until somebody asks for its handle.
class ready_event {
 public:
  bool exists() const noexcept { return exists_.load(std::memory_order_relaxed); }

  /// Creates it the first time.
  result<platform::native_handle> handle() noexcept {
    if (!exists() && !event_.open()) return platform::last_error();
    exists_.store(true, std::memory_order_release);
    return event_.handle();
  }

  /// From any thread. Nothing if it does not exist.
  void set() noexcept {
    if (exists_.load(std::memory_order_acquire)) event_.set();
  }
  void reset() noexcept { event_.reset(); }

 private:
  platform::event event_;
  std::atomic<bool> exists_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
