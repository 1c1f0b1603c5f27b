// SPDX-License-Identifier: BSL-1.0
// An event that threads set and another event loop waits for: a kqueue with an EVFILT_USER event.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/process.hpp>

#include <fcntl.h>
#include <sys/event.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

#include <cerrno>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Its descriptor is readable while it is set, for poll(2), select(2) and another kqueue. Child processes do not
/// inherit it (kqueue(2)).
class event {
 public:
  event() noexcept = default;

  /// False, with errno set, if the system has no descriptor left.
  bool open() noexcept {
    {
      const without_fork none;
      if (!queue_.take(none, ::kqueue())) return false;
    }
    ::fcntl(queue_.value(), F_SETFD, FD_CLOEXEC);
    // EV_CLEAR: reset() takes the event out of the queue, and the next set() puts it there again.
    struct kevent added;
    EV_SET(&added, identifier, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, nullptr);
    if (change(added)) return true;
    const int failure = errno;
    close();
    errno = failure;
    return false;
  }
  void close() noexcept { queue_.close(); }

  bool is_open() const noexcept { return queue_.value() >= 0; }
  native_handle handle() const noexcept { return queue_.value(); }

  /// From any thread.
  void set() noexcept {
    struct kevent triggered;
    EV_SET(&triggered, identifier, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
    change(triggered);
  }

  void reset() noexcept {
    struct kevent taken;
    const struct timespec none {};
    while (::kevent(queue_.value(), nullptr, 0, &taken, 1, &none) < 0 && errno == EINTR) {}
  }

 private:
  static constexpr int identifier = 1;

  // kevent(2) makes the change before it can be interrupted: there is no room for events to wait for.
  bool change(const struct kevent& what) noexcept {
    int answer;
    do answer = ::kevent(queue_.value(), &what, 1, nullptr, 0, nullptr);
    while (answer < 0 && errno == EINTR);
    return answer >= 0;
  }

  private_descriptor queue_;
};

}  // namespace platform
QIO_END_NAMESPACE
