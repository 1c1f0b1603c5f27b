// SPDX-License-Identifier: BSL-1.0
// What ends one operation early: its deadline and its stop token.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/posted.hpp>
#include <qio/loop/timers.hpp>
#include <qio/operation_options.hpp>
#include <qio/request/request.hpp>

#include <optional>
#include <stop_token>

namespace qio::inline QIO_CONFIGURATION::detail {

/// For operations that have neither a deadline nor a stop token. It takes no space and does nothing.
class no_control {
 public:
  template <class Loop>
  static constexpr bool may_start(const Loop&) noexcept {
    return true;
  }
  template <class Loop, class Work>
  void arm(Loop&, Work&) noexcept {}
  template <class Loop>
  void disarm(Loop&) noexcept {}
  static constexpr bool timed_out() noexcept { return false; }
};

/// The deadline and the stop token of one operation. `Work` is what they cancel: a request or a batch.
template <class Loop, class Work = request>
class control final : timer, posted {
 public:
  explicit control(const operation_options& options) noexcept
      : deadline_(options.deadline), stop_(options.stop.token()) {}

  /// False if the stop has been requested or the deadline has passed already. Called once, before arm().
  bool may_start(const Loop& owner) noexcept {
    if (stop_.stop_requested()) return false;
    if (!deadline_.exists()) return true;
    const clock::time_point now = owner.now();
    timed_out_ = deadline_.when() <= now;
    // The difference cannot overflow, because steady clocks count from the start of something.
    has_timer_ = !timed_out_ && deadline_.when() - now <= longest_wait;
    return !timed_out_;
  }

  bool timed_out() const noexcept { return timed_out_; }

  /// `work` has been submitted: cancels it when the time comes.
  void arm(Loop& owner, Work& work) noexcept {
    loop_ = &owner;
    work_ = &work;
    if (has_timer_) {
      when = deadline_.when();
      expired = [](timer& self) noexcept {
        static_cast<control&>(self).expire();
        return false;
      };
      owner.arm(*this);
    }
    // Last, because a stop that has been requested meanwhile calls back from here.
    if (stop_.stop_possible()) stopper_.emplace(stop_, stop_notice{this});
  }

  /// It has completed, or is about to be destroyed.
  void disarm(Loop& owner) noexcept {
    if (is_armed) owner.disarm(*this);
    // Waits for a stop that another thread is requesting at this moment; nothing is posted after it.
    stopper_.reset();
    if (is_posted) owner.withdraw(*this);
  }

 private:
  // Called by the thread that requests the stop. It must not touch the engine, so it has the loop's thread cancel.
  struct stop_notice {
    control* self;
    void operator()() const noexcept {
      self->run = [](posted& node) noexcept {
        auto& stopped = static_cast<control&>(node);
        stopped.loop_->cancel(*stopped.work_);
      };
      self->loop_->post(*self);
    }
  };

  void expire() noexcept {
    timed_out_ = true;
    loop_->cancel(*work_);
  }

  deadline deadline_;
  std::stop_token stop_;
  Loop* loop_ = nullptr;
  Work* work_ = nullptr;
  std::optional<std::stop_callback<stop_notice>> stopper_;
  bool has_timer_ = false;
  bool timed_out_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
