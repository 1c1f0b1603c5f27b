// SPDX-License-Identifier: BSL-1.0
// How another thread ends a wait in the ring: an eventfd that the ring polls.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/uring/entry.hpp>
#include <qio/system/linux/event.hpp>

#include <poll.h>

#include <cerrno>
#include <ctime>
#include <thread>

namespace qio::inline QIO_CONFIGURATION::detail {

/// At most one entry of the ring listens to it at a time.
class wake_event {
 public:
  /// False, with errno set, if the system has no descriptor left.
  bool open() noexcept { return event_.open(); }

  /// From any thread.
  void set() noexcept { event_.set(); }

  /// Without a ring: waits until it is set, or the limit passes. May return early.
  void wait(wait_limit limit) noexcept {
    timespec left{};
    if (!limit.is_unlimited()) {
      const auto time = greater_of(std::chrono::nanoseconds(0),
                                   std::chrono::nanoseconds(limit.time - std::chrono::steady_clock::now()));
      left = {static_cast<time_t>(time.count() / 1'000'000'000), static_cast<long>(time.count() % 1'000'000'000)};
    }
    pollfd ready{event_.handle(), POLLIN, 0};
    // A filter that forbids a ring may forbid this, too.
    if (::ppoll(&ready, 1, limit.is_unlimited() ? nullptr : &left, nullptr) < 0 && errno != EINTR)
      std::this_thread::yield();
  }

  void reset() noexcept { event_.reset(); }

  bool is_listened_to() const noexcept { return is_listened_to_; }
  void listen(io_uring_sqe& entry) noexcept {
    QIO_CHECK(!is_listened_to_, "two entries of a ring listen for wake()");
    prepare_listening(entry, event_.handle());
    is_listened_to_ = true;
  }
  /// The entry that listened is complete.
  void heard() noexcept {
    ignore();
    reset();
  }
  /// The entry that listened is gone.
  void ignore() noexcept {
    QIO_CHECK(is_listened_to_, "an entry that listens for wake() completed, but there was none");
    is_listened_to_ = false;
  }

 private:
  platform::event event_;
  bool is_listened_to_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
