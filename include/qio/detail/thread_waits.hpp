// SPDX-License-Identifier: BSL-1.0
// Whether a system call that took long has waited, or the thread was merely kept from running.
#pragma once

#include <qio/detail/clock.hpp>
#include <qio/detail/platform.hpp>

#include <utility>

namespace qio::detail {

/// Of one thread. The kernel counts how often a thread gave up its processor and how often it was taken away, and tells
/// it by a system call: too dear for every transfer, so it is asked once in a while, and after what was slow.
class thread_waits {
 public:
  /// Before what might be slow.
  void look(clock::time_point now) noexcept {
    if (now - looked_at_ < std::chrono::milliseconds(1)) return;
    looked_at_ = now;
    seen_ = platform::switches_of_this_thread();
  }

  /// After what was slow. Says no where both has happened since the last look: a false alarm would be worse, since on a
  /// busy machine there is one every few milliseconds.
  bool has_waited(const platform::thread_switches& now) noexcept {
    const platform::thread_switches before = std::exchange(seen_, now);
    return now.voluntary != before.voluntary && now.involuntary == before.involuntary;
  }

 private:
  clock::time_point looked_at_{};
  platform::thread_switches seen_;
};

}  // namespace qio::detail
