// SPDX-License-Identifier: BSL-1.0
// How another thread ends a wait in the ring: an eventfd that the ring polls.
#pragma once

#include <qio/base/bounds.hpp>
#include <qio/base/check.hpp>
#include <qio/base/clock.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/uring/entry.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <thread>

namespace qio::inline QIO_CONFIGURATION::detail {

/// At most one entry of the ring listens to it at a time.
class wake_event {
 public:
  wake_event() noexcept = default;
  wake_event(const wake_event&) = delete;
  wake_event& operator=(const wake_event&) = delete;
  ~wake_event() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// False, with errno set, if the system has no descriptor left.
  bool open() noexcept {
    descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor_ >= 0;
  }

  /// From any thread.
  void set() noexcept {
    const std::uint64_t one = 1;
    // Fails only if the counter is at its limit; then the event is set already.
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }

  /// Without a ring: waits until it is set, or the limit passes. May return early.
  void wait(wait_limit limit) noexcept {
    timespec left{};
    if (!limit.is_unlimited()) {
      const auto time = greater_of(std::chrono::nanoseconds(0),
                                   std::chrono::nanoseconds(limit.time - std::chrono::steady_clock::now()));
      left = {static_cast<time_t>(time.count() / 1'000'000'000), static_cast<long>(time.count() % 1'000'000'000)};
    }
    pollfd ready{descriptor_, POLLIN, 0};
    // A filter that forbids a ring may forbid this, too.
    if (::ppoll(&ready, 1, limit.is_unlimited() ? nullptr : &left, nullptr) < 0 && errno != EINTR)
      std::this_thread::yield();
  }

  void reset() noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(descriptor_, &count, sizeof count);
  }

  bool is_listened_to() const noexcept { return is_listened_to_; }
  void listen(io_uring_sqe& entry) noexcept {
    QIO_CHECK(!is_listened_to_, "two entries of a ring listen for wake()");
    prepare_listening(entry, descriptor_);
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
  int descriptor_ = -1;
  bool is_listened_to_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
