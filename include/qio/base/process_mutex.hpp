// SPDX-License-Identifier: BSL-1.0
// A mutex that a child process finds free, whoever held it at fork(2).
#pragma once

#include <qio/configuration.hpp>

#include <atomic>
#include <cstdint>
#if !QIO_HAS_ATOMIC_WAIT
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>
#endif

QIO_BEGIN_NAMESPACE
namespace detail {

#if QIO_HAS_ATOMIC_WAIT

/// Waits while `value` is `old`; may return early.
inline void wait_while(std::atomic<std::uint32_t>& value, std::uint32_t old) noexcept {
  value.wait(old, std::memory_order_relaxed);
}
/// After `value` has changed: lets one of those continue that wait while it is what it was, or all of them.
inline void wake_one(std::atomic<std::uint32_t>& value) noexcept { value.notify_one(); }
inline void wake_all(std::atomic<std::uint32_t>& value) noexcept { value.notify_all(); }

#else

/// Threads that wait, whatever for. There are few of them, so all are woken.
struct waiting_threads {
  std::mutex mutex;
  std::condition_variable woken;

  // Never destroyed: threads may wait until the process ends.
  static waiting_threads& all() noexcept {
    alignas(waiting_threads) static std::byte memory[sizeof(waiting_threads)];
    static waiting_threads* const made = new (memory) waiting_threads;
    return *made;
  }
};

inline void wait_while(std::atomic<std::uint32_t>& value, std::uint32_t old) noexcept {
  waiting_threads& all = waiting_threads::all();
  std::unique_lock lock(all.mutex);
  if (value.load(std::memory_order_relaxed) == old) all.woken.wait(lock);
}
inline void wake_all(std::atomic<std::uint32_t>&) noexcept {
  waiting_threads& all = waiting_threads::all();
  { const std::lock_guard lock(all.mutex); }  // who has seen the old value waits by now
  all.woken.notify_all();
}
inline void wake_one(std::atomic<std::uint32_t>& value) noexcept { wake_all(value); }

#endif

/// Raised in each child process before fork(2) returns there: see system/posix/process.hpp.
inline constinit std::atomic<std::uint32_t> process_number = 0;

/// A child process has only the thread that called fork(2), so a std::mutex that another thread held stays locked. This
/// one notices that its holder belongs to another process, and takes the lock. What it guards must then be either
/// consistent after each of the holder's stores, or made again: see last_process.
class process_mutex {
 public:
  constexpr process_mutex() noexcept = default;
  process_mutex(const process_mutex&) = delete;
  process_mutex& operator=(const process_mutex&) = delete;

  void lock() noexcept {
    const std::uint32_t ours = process_number.load(std::memory_order_relaxed) * states;
    std::uint32_t present = ours;
    if (!state_.compare_exchange_strong(present, ours + held, std::memory_order_acquire)) [[unlikely]]
      wait_for_lock(ours, present);
  }

  void unlock() noexcept {
    const std::uint32_t present = state_.fetch_and(~(states - 1), std::memory_order_release);
    if (present % states == wanted) wake_one(state_);
  }

 private:
  static constexpr std::uint32_t free = 0, held = 1, wanted = 2, states = 4;

  // A thread that has waited does not know whether others do, so it leaves the mutex marked.
  QIO_COLD void wait_for_lock(std::uint32_t ours, std::uint32_t present) noexcept {
    for (;;) {
      const bool is_free = present % states == free || present - present % states != ours;
      if (is_free || present == ours + held) {
        if (!state_.compare_exchange_weak(present, ours + wanted, std::memory_order_acquire)) continue;
        if (is_free) return;
      }
      wait_while(state_, ours + wanted);
      present = state_.load(std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> state_ = 0;  // the number of the holder's process, or of the last one's, and a state
};

/// Remembers in which process something was used last. Guarded by a mutex.
class last_process {
 public:
  /// True the first time in a child process, also of what was made there.
  bool has_changed() noexcept {
    const std::uint32_t present = process_number.load(std::memory_order_relaxed);
    const bool changed = number_ != present;
    number_ = present;
    return changed;
  }

 private:
  std::uint32_t number_ = 0;
};

}  // namespace detail
QIO_END_NAMESPACE
