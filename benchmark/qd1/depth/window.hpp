// SPDX-License-Identifier: BSL-1.0
// The time in which all workers of a round measure.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace qd1 {

/// Workers get ready, each for itself; then one thread opens the window for all of them. Transfers that complete within
/// it count, so all workers count over the same time, and their sum is a rate.
class window {
 public:
  explicit window(std::size_t workers) : missing_(workers) {}

  /// Each worker calls this exactly once.
  void arrive() {
    const std::lock_guard lock(mutex_);
    --missing_;
    changed_.notify_all();
  }
  /// Called by a worker. Blocks until the window is open; returns false if it never will be.
  bool wait_until_open() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
    return !is_closed();
  }

  void wait_for_workers() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return missing_ == 0; });
  }
  /// Ticks of the clock.
  void open(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    begin_ = begin;
    end_ = end;
    is_open_ = true;
    changed_.notify_all();
  }

  /// Callable from any thread. No worker begins another transfer.
  void close() noexcept { is_closed_.store(true, std::memory_order_relaxed); }
  bool is_closed() const noexcept { return is_closed_.load(std::memory_order_relaxed); }

  std::uint64_t begin() const noexcept { return begin_; }
  std::uint64_t end() const noexcept { return end_; }

 private:
  // Not std::latch: its waits lose wake-ups where GCC 12 has no futex (seen with MinGW-w64 under Wine).
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t missing_;
  bool is_open_ = false;
  std::uint64_t begin_ = 0;  // written before it is open, read after
  std::uint64_t end_ = 0;
  std::atomic<bool> is_closed_ = false;
};

}  // namespace qd1
