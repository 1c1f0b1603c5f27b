// SPDX-License-Identifier: BSL-1.0
// Space in the completion queue, and where the submitted requests are.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

#include <cstddef>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Counts the outstanding completions, so that they always fit the completion queue. (The kernel allocates memory for
/// completions that do not fit; if it cannot, it drops them.)
///
/// Each entry has one completion. A request may be canceled once, so half of the queue is for requests and half for
/// their cancellations, except for two places: one for the entry that listens for wake(), one for a nap.
///
/// A submitted request is either in the ring, and has a place, or elsewhere: in a list of the engine, in the polled
/// ring, or with the workers.
class places {
 public:
  void set_up(std::size_t completions) noexcept {
    QIO_CHECK(all_ == 0 && completions >= 4, "the ring has no room for the completion of a single request");
    capacity_ = completions;
    free_ = all_ = completions / 2 - 1;
  }

  // --- requests in the ring ---

  bool has_free() const noexcept { return free_ != 0; }
  std::size_t free() const noexcept { return free_; }
  std::size_t taken() const noexcept { return all_ - free_; }

  void take() noexcept {
    QIO_CHECK(free_ != 0, "the kernel was given more requests than it has room for completions");
    --free_;
    check_room();
  }
  void give_back() noexcept {
    QIO_CHECK(free_ != all_, "the kernel completed a request that was not in the ring");
    ++free_;
  }

  // --- other entries ---

  bool has_free_for_cancel() const noexcept { return cancels_ != all_; }
  void take_for_cancel() noexcept {
    QIO_CHECK(cancels_ != all_, "the kernel was given more cancellations than it has room for completions");
    ++cancels_;
    check_room();
  }
  void give_back_cancel() noexcept {
    QIO_CHECK(cancels_ != 0, "the kernel completed a cancellation that was not in the ring");
    --cancels_;
  }

  // --- requests elsewhere ---

  void enter_elsewhere() noexcept { ++elsewhere_; }
  void leave_elsewhere() noexcept {
    QIO_CHECK(elsewhere_ != 0, "a request was removed from the engine's lists, but was in none");
    --elsewhere_;
  }
  std::size_t elsewhere() const noexcept { return elsewhere_; }

  /// Submitted and not completed.
  std::size_t in_flight() const noexcept { return taken() + elsewhere_; }

 private:
  static constexpr std::size_t others = 2;  // listening for wake(), and a nap

  void check_room() const noexcept {
    QIO_CHECK(taken() + cancels_ + others <= capacity_, "the completion queue can overflow");
  }

  std::size_t free_ = 0;  // of all_
  std::size_t all_ = 0;
  std::size_t elsewhere_ = 0;
  std::size_t cancels_ = 0;  // in the ring
  std::size_t capacity_ = 0;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
