// SPDX-License-Identifier: BSL-1.0
// The way into the kernel: io_uring_enter(2), and what its errors mean.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/uring/submission.hpp>
#include <qio/system/linux/ring.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Prints `why` and ends the program: for errors after which nothing in flight can complete, while the kernel still
/// uses its memory.
[[noreturn]] QIO_COLD inline void fail_ring(const char* why) noexcept {
  std::fprintf(stderr, "qio: io_uring: %s\n", why);
  std::abort();
}

/// io_uring_enter(2) may start to fail at any time, because a process may install a seccomp filter. The gate then
/// closes permanently, and the engine must handle that.
class gate {
 public:
  explicit gate(submission& way) noexcept : way_(way) {}

  /// The system's error number that closed the gate; 0 while it is open.
  int refusal() const noexcept { return refusal_; }

  /// Hands over what was submitted, and runs the kernel's deferred work.
  void pass(ring& to) noexcept { check(to.enter(0)); }

  /// The same, and waits for a completion.
  void wait(ring& in, wait_limit limit) noexcept {
    if (limit.is_unlimited()) [[likely]]
      return check(in.enter(1));
    wait_until(in, limit.time);
  }

  /// Checks a result of io_uring_enter(2).
  void check(int answer) noexcept {
    if (answer < 0) [[unlikely]]
      look_at_failure(-answer);
  }

 private:
  QIO_NOINLINE void wait_until(ring& in, wait_limit::time_point time) noexcept {
    const auto left =
        greater_of(std::chrono::nanoseconds(0), std::chrono::nanoseconds(time - std::chrono::steady_clock::now()));
    const __kernel_timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    check(in.enter(1, &timeout));
  }

  QIO_COLD void look_at_failure(int code) noexcept {
    const bool passes = code == EINTR || code == ETIME || code == EAGAIN || code == EBUSY;
    if (passes) return;
    // The descriptor no longer refers to the ring, but the kernel still holds what is in flight.
    if (code == EBADF || code == EOPNOTSUPP)
      fail_ring("the descriptor of a context's ring was closed by other code of this program");
    refusal_ = code;
    way_.call_attention();
  }

  submission& way_;
  int refusal_ = 0;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
