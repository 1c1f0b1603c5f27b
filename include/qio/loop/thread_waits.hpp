// SPDX-License-Identifier: BSL-1.0
// Whether a slow system call waited, or the thread was preempted.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/platform.hpp>

#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Watches one thread. The kernel counts its voluntary and involuntary context switches, and reports them by a system
/// call. That is too expensive for every transfer, so it is made once in a while, and after a slow transfer.
class thread_waits {
 public:
  /// Before a call that might be slow.
  void look(clock::time_point now) noexcept {
    if (now - looked_at_ < std::chrono::milliseconds(1)) return;
    looked_at_ = now;
    seen_ = platform::switches_of_this_thread();
  }

  /// Before the thread sleeps, which it counts, too.
  void forget() noexcept { looked_at_ = {}; }

  /// After a call that took long: whether it waited. False if the thread was also preempted since the last look, unless
  /// the call took longer than preemption usually does, because a false alarm would be worse: on a busy machine there
  /// would be one every few milliseconds.
  bool has_waited(const platform::thread_switches& now, clock::duration took) noexcept {
    const platform::thread_switches before = std::exchange(seen_, now);
    if (now.voluntary == before.voluntary) return false;
    return now.involuntary == before.involuntary || took > std::chrono::milliseconds(10);
  }

 private:
  clock::time_point looked_at_{};
  platform::thread_switches seen_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
