// SPDX-License-Identifier: BSL-1.0
// The time in which all workers of a round measure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>

namespace qd1 {

/// Workers get ready, each for itself; then one thread opens the window for all of them. What is over within it
/// counts, so all count the same time, and the sum of them is a rate.
class window {
 public:
  explicit window(std::size_t workers) : ready_(static_cast<std::ptrdiff_t>(workers)) {}

  /// Of a worker, exactly once.
  void arrive() noexcept { ready_.count_down(); }
  /// Of a worker: until the window is open. False if it never will be.
  bool wait_until_open() const noexcept {
    opened_.wait();
    return !is_closed();
  }

  void wait_for_workers() const noexcept { ready_.wait(); }
  /// Ticks of the clock.
  void open(std::uint64_t begin, std::uint64_t end) noexcept {
    begin_ = begin;
    end_ = end;
    opened_.count_down();
  }

  /// From any thread: nobody begins another transfer.
  void close() noexcept { is_closed_.store(true, std::memory_order_relaxed); }
  bool is_closed() const noexcept { return is_closed_.load(std::memory_order_relaxed); }

  std::uint64_t begin() const noexcept { return begin_; }
  std::uint64_t end() const noexcept { return end_; }

 private:
  std::latch ready_;
  std::latch opened_{1};
  std::uint64_t begin_ = 0;  // written before it is opened, read after
  std::uint64_t end_ = 0;
  std::atomic<bool> is_closed_ = false;
};

}  // namespace qd1
