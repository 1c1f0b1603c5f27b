// SPDX-License-Identifier: BSL-1.0
// Passes the stop request of one source on to another.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/loop/posted.hpp>

#include <optional>
#include <stop_token>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// When a stop of `from` is requested, requests a stop of `to`: on the loop that was running when the relay was made,
/// so that the tasks there are stopped on their own thread. If there was none, or if it has closed, on the thread that
/// requests the stop. Relays on loops may be chained to any length, as in nested calls of
/// when_any.
class stop_relay : posted {
 public:
  stop_relay(const std::stop_token& from, const std::stop_source& to) noexcept
      : to_(to),
        home_(running_loop),
        notice_(from.stop_possible() ? callback(std::in_place, from, notice{this}) : callback()) {}
  stop_relay(const stop_relay&) = delete;
  stop_relay& operator=(const stop_relay&) = delete;
  ~stop_relay() {
    // Waits for a stop that another thread is requesting at this moment; nothing is posted after it.
    notice_.reset();
    if (is_posted) mailbox::withdraw_from(home_, *this);
  }

 private:
  struct notice {
    stop_relay* self;
    void operator()() const noexcept { self->pass_on(); }
  };
  using callback = std::optional<std::stop_callback<notice>>;

  void pass_on() noexcept {
    const bool is_at_home = running_loop == home_;
    if (is_at_home && stack_between(running_from, QIO_STACK_POSITION()) <= stack_for_tasks) return request();
    run = [](posted& node) noexcept { static_cast<stop_relay&>(node).request(); };
    if (home_ == 0 || !mailbox::post_to(home_, *this)) request();
  }

  // By a copy, because what is called back may destroy the relay and the source.
  void request() const noexcept {
    std::stop_source target = to_;
    target.request_stop();
  }

  std::stop_source to_;
  loop_number home_;
  callback notice_;  // last: it may call as soon as it exists
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
