// SPDX-License-Identifier: BSL-1.0
// A coroutine that waits for a time, and may be stopped.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/posted.hpp>
#include <qio/loop/timers.hpp>
#include <qio/result.hpp>

#include <coroutine>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// `when`, as far as every engine can wait without an overflow; beyond that, forever.
inline clock::time_point limited(clock::time_point when, clock::time_point now) noexcept {
  return when - now > longest_wait ? (clock::time_point::max)() : when;
}

/// The result of sleep_until() and sleep_for(). Destroying it, with the coroutine that awaits it, ends the wait.
template <class Loop>
class [[nodiscard]] sleeping final : timer {
 public:
  sleeping(std::shared_ptr<Loop> in, clock::time_point until) noexcept : loop_(std::move(in)) { when = until; }
  sleeping(const sleeping&) = delete;
  sleeping& operator=(const sleeping&) = delete;
  ~sleeping() {
    if (is_armed) loop_->end_sleep(*this);
  }

  bool await_ready() const noexcept { return loop_->closed() || when <= loop_->now(); }
  void await_suspend(std::coroutine_handle<> waiting, caller from = caller::here()) noexcept {
    waiting_ = waiting;
    when = limited(when, loop_->now());
    expired = [](timer& self) noexcept {
      static_cast<sleeping&>(self).waiting_.resume();
      return true;
    };
    loop_->sleep(*this, from);
  }
  result<void> await_resume() const noexcept {
    if (loop_->closed()) return error(errc::context_closed);
    return success();
  }

 private:
  std::shared_ptr<Loop> loop_;
  std::coroutine_handle<> waiting_;
};

/// The same with a stop token: whichever comes first ends the wait, the time or the stop.
template <class Loop>
class [[nodiscard]] stoppable_sleeping final : timer, posted {
 public:
  stoppable_sleeping(std::shared_ptr<Loop> in, clock::time_point until, const std::stop_token& stop) noexcept
      : loop_(std::move(in)), stop_(stop) {
    when = until;
  }
  stoppable_sleeping(const stoppable_sleeping&) = delete;
  stoppable_sleeping& operator=(const stoppable_sleeping&) = delete;
  ~stoppable_sleeping() { disarm(); }

  bool await_ready() noexcept {
    stopped_ = stop_.stop_requested();
    return stopped_ || loop_->closed() || when <= loop_->now();
  }
  void await_suspend(std::coroutine_handle<> waiting, caller from = caller::here()) noexcept {
    waiting_ = waiting;
    when = limited(when, loop_->now());
    expired = [](timer& self) noexcept {
      static_cast<stoppable_sleeping&>(self).end();
      return true;
    };
    loop_->sleep(*this, from);
    // Last, because a stop that has been requested meanwhile calls back from here.
    if (stop_.stop_possible()) stopper_.emplace(stop_, stop_notice{this});
  }
  result<void> await_resume() const noexcept {
    if (loop_->closed()) return error(errc::context_closed);
    if (stopped_) return error(std::make_error_code(std::errc::operation_canceled));
    return success();
  }

 private:
  // Called by the thread that requests the stop. It must not touch the timers, so it has the loop's thread end the
  // wait.
  struct stop_notice {
    stoppable_sleeping* self;
    void operator()() const noexcept {
      self->run = [](posted& node) noexcept {
        auto& stopped = static_cast<stoppable_sleeping&>(node);
        stopped.stopped_ = true;
        stopped.end();
      };
      self->loop_->post(*self);
    }
  };

  // Disarmed first: the awaiter may live on while the coroutine awaits something else in the same expression, and must
  // not resume it again.
  void end() noexcept {
    disarm();
    waiting_.resume();
  }

  void disarm() noexcept {
    // Waits for a stop that another thread is requesting at this moment; nothing is posted after it.
    stopper_.reset();
    if (is_posted) loop_->withdraw(*this);
    if (is_armed) loop_->end_sleep(*this);
  }

  std::shared_ptr<Loop> loop_;
  std::stop_token stop_;
  std::optional<std::stop_callback<stop_notice>> stopper_;
  std::coroutine_handle<> waiting_;
  bool stopped_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
