// SPDX-License-Identifier: BSL-1.0
// What the thread of an engine without a queue of the system's sleeps on.
#pragma once

#include <qio/engine/engine.hpp>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace qio::detail {

/// Set by any thread; reset by the one thread that waits for it. Set while nobody waits, it is remembered.
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

  /// Waits until it is set, or the limit has come, and resets it.
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

}  // namespace qio::detail
