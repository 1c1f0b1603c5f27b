// SPDX-License-Identifier: BSL-1.0
// A coroutine that waits for a time.
#pragma once

#include <qio/base/clock.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/timers.hpp>
#include <qio/result.hpp>

#include <coroutine>
#include <memory>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The result of sleep_until() and sleep_for(). Destroying it, with the coroutine that awaits it, ends the wait.
template <class Loop>
class [[nodiscard]] sleeping final : timer {
 public:
  sleeping(std::shared_ptr<Loop> in, clock::time_point until) noexcept : loop_(std::move(in)) { when = until; }
  sleeping(const sleeping&) = delete;
  sleeping& operator=(const sleeping&) = delete;
  ~sleeping() {
    if (is_armed) loop_->disarm(*this);
  }

  bool await_ready() const noexcept { return loop_->closed() || when <= loop_->now(); }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    waiting_ = waiting;
    // As far as every engine can wait without an overflow; beyond that, forever.
    if (when - loop_->now() > longest_wait) when = clock::time_point::max();
    expired = [](timer& self) noexcept {
      static_cast<sleeping&>(self).waiting_.resume();
      return true;
    };
    loop_->sleep(*this);
  }
  result<void> await_resume() const noexcept {
    if (loop_->closed()) return error(errc::context_closed);
    return success();
  }

 private:
  std::shared_ptr<Loop> loop_;
  std::coroutine_handle<> waiting_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
