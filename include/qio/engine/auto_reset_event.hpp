// SPDX-License-Identifier: BSL-1.0
// What an engine's thread sleeps on where the system has no completion queue.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Any thread sets it. The one thread that waits for it resets it. It stays set if nobody waits.
class auto_reset_event {
 public:
  void set() noexcept {
    {
      const std::lock_guard lock(mutex_);
      set_ = true;
    }
    changed_.notify_one();
  }

  /// Resets it. True if it was set.
  bool take() noexcept {
    const std::lock_guard lock(mutex_);
    return std::exchange(set_, false);
  }

  /// Waits until it is set or the limit passes, and resets it.
  void wait(wait_limit limit) noexcept {
    std::unique_lock lock(mutex_);
    const auto is_set = [this] { return set_; };
    if (limit.is_unlimited())
      changed_.wait(lock, is_set);
    else
      changed_.wait_until(lock, limit.time, is_set);
    set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
