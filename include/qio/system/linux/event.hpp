// SPDX-License-Identifier: BSL-1.0
// An event that threads set and another event loop waits for: an eventfd.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/process.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Its descriptor is readable while it is set. Child processes do not inherit it.
class event {
 public:
  event() noexcept = default;

  /// False, with errno set, if the system has no descriptor left.
  bool open() noexcept {
    const without_fork none;
    return descriptor_.take(none, ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  }
  void close() noexcept { descriptor_.close(); }

  bool is_open() const noexcept { return descriptor_.value() >= 0; }
  native_handle handle() const noexcept { return descriptor_.value(); }

  /// From any thread.
  void set() noexcept {
    const std::uint64_t one = 1;
    // Fails only if the counter is at its limit; then the event is set already.
    [[maybe_unused]] const auto written = ::write(descriptor_.value(), &one, sizeof one);
  }

  void reset() noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(descriptor_.value(), &count, sizeof count);
  }

 private:
  private_descriptor descriptor_;
};

}  // namespace platform
QIO_END_NAMESPACE
