// SPDX-License-Identifier: BSL-1.0
// Threads and child processes: waiting for memory, signals, and what a child process must not inherit.
#pragma once

#include <qio/base/intrusive.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/mapping.hpp>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Waiting for memory to change ---

/// For use in a loop that waits for memory to change: hints to the CPU to yield to its other hardware thread.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

// --- Keeps the program's signals off the library's own threads ---

/// While it exists, the calling thread receives no signals but those of its own faults; threads started meanwhile never
/// receive others. A fault whose signal is blocked would end the process, although there are handlers: that of copies
/// from mappings, and the program's, for what it has a worker call.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int of_fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, of_fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// --- Fork ---
//
// What a child process gets that fork(2) has made: mutexes that are free, and none of the descriptors by which it could
// disturb the contexts of its parent.

/// While one exists, other threads' calls of fork(2) wait, so that a child process inherits nothing that is half made.
class without_fork {
 public:
  without_fork() noexcept { ::pthread_mutex_lock(&mutex); }
  without_fork(const without_fork&) = delete;
  without_fork& operator=(const without_fork&) = delete;
  ~without_fork() { ::pthread_mutex_unlock(&mutex); }

 private:
  friend struct fork_handlers;

  static inline constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

/// A descriptor that fork(2) closes in the child process: that of a ring, which could be mapped again there, or of an
/// event, which could be reset. Child processes made in other ways (vfork, clone, _Fork) keep it until exec.
class private_descriptor : detail::list_hook {
 public:
  private_descriptor() noexcept = default;
  ~private_descriptor() { close(); }

  /// Takes over what a system call has just returned under the same without_fork. False if it is negative, an error.
  bool take(const without_fork&, int opened) noexcept {
    if (opened < 0) return false;
    value_ = opened;
    all.insert(*this);
    return true;
  }

  /// Returns the error of closing it, if there is one.
  error close() noexcept {
    if (value_ < 0) return {};
    const without_fork none;
    unlink();
    const auto closed = platform::close(std::exchange(value_, -1));
    return closed ? error() : closed.error();
  }

  /// Negative if it is closed.
  int value() const noexcept { return value_; }

 private:
  friend class detail::list<private_descriptor>;
  friend struct fork_handlers;

  static inline constinit detail::list<private_descriptor> all;

  int value_ = -1;
};

/// Installed when the module is loaded. When it is unloaded, the C library forgets them.
struct fork_handlers {
  fork_handlers() noexcept { ::pthread_atfork(&prepare, &resume, &begin_child); }

  // What another thread is just making at first use would never be complete in the child process.
  static void prepare() noexcept {
    static_cast<void>(qio_category());
    static_cast<void>(page_size());
    ::pthread_mutex_lock(&without_fork::mutex);
  }
  static void resume() noexcept { ::pthread_mutex_unlock(&without_fork::mutex); }
  static void begin_child() noexcept {
    detail::process_number.fetch_add(1, std::memory_order_relaxed);
    private_descriptor::all.for_each([](private_descriptor& each) { ::close(std::exchange(each.value_, -1)); });
    private_descriptor::all.clear();
    ::pthread_mutex_unlock(&without_fork::mutex);
  }
};
inline const fork_handlers installed_fork_handlers;

}  // namespace platform
QIO_END_NAMESPACE
