// SPDX-License-Identifier: BSL-1.0
// An event that threads set and another event loop waits for: an eventfd.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/posix/handle.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Its descriptor is readable while it is set. Child processes that exec do not inherit it.
class event {
 public:
  event() noexcept = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { close(); }

  /// False, with errno set, if the system has no descriptor left.
  bool open() noexcept {
    descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return is_open();
  }
  void close() noexcept {
    if (is_open()) ::close(descriptor_);
    descriptor_ = -1;
  }

  bool is_open() const noexcept { return descriptor_ >= 0; }
  native_handle handle() const noexcept { return descriptor_; }

  /// From any thread.
  void set() noexcept {
    const std::uint64_t one = 1;
    // Fails only if the counter is at its limit; then the event is set already.
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }

  void reset() noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(descriptor_, &count, sizeof count);
  }

 private:
  int descriptor_ = -1;
};

}  // namespace qio::inline QIO_CONFIGURATION::platform
