// SPDX-License-Identifier: BSL-1.0
// What engines and other event loops wait for where there is no ring and no completion port.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

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

/// Does not exist until somebody asks for its handle.
class ready_event {
 public:
  bool exists() const noexcept { return exists_.load(std::memory_order_relaxed); }

  /// The event itself, for what sets it before somebody asks for its handle. False if the system has no descriptor
  /// left.
  bool open() noexcept { return event_.is_open() || event_.open(); }
  const platform::event& event() const noexcept { return event_; }

  /// Creates it the first time.
  result<platform::native_handle> handle() noexcept {
    if (!exists() && !open()) return platform::last_error();
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

}  // namespace detail
QIO_END_NAMESPACE
