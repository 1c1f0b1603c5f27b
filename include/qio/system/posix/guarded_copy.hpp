// SPDX-License-Identifier: BSL-1.0
// Copying from and to a mapping whose file may be truncated during the copy, which raises SIGBUS.
#pragma once

#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>
#include <qio/system/posix/mapping.hpp>
#include <qio/system/posix/primitives.hpp>

#include <setjmp.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

namespace guard {

/// The copy that this thread is making.
struct scope {
  sigjmp_buf restart;
  const std::byte* begin;  // the mapping: faults elsewhere are not ours
  const std::byte* end;
};
inline constinit thread_local scope* volatile current = nullptr;

/// Whether an address is in the mapping, including all of its first page: a memory error is reported for a whole page.
inline bool covers(const scope& copy, const std::byte* address) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(copy.begin) & ~(page_size() - 1);
  return reinterpret_cast<std::uintptr_t>(address) >= first && address < copy.end;
}

/// The program's previous action for one of the signals of a fault.
inline struct sigaction& previous_action(int number) noexcept {
  static struct sigaction previous[2]{};
  return previous[number == fault_signals()[0] ? 0 : 1];
}

/// Handles the signal as if qio had no handler. A previous handler runs with the signals blocked that it asked for, an
/// ignored signal is ignored (except for a fault, which the kernel does not let a program ignore), and the default
/// action ends the process.
inline void pass_on(int number, siginfo_t* information, void* context) {
  struct sigaction& previous = previous_action(number);
  const bool has_handler =
      (previous.sa_flags & SA_SIGINFO) != 0 || (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN);
  if (has_handler) {
    sigset_t blocked = previous.sa_mask;
    if ((previous.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, number);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);  // undone when this handler returns
    const struct sigaction action = previous;
    if ((static_cast<unsigned>(action.sa_flags) & static_cast<unsigned>(SA_RESETHAND)) != 0) {
      previous.sa_flags = 0;
      previous.sa_handler = SIG_DFL;
    }
    if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction(number, information, context);
    return action.sa_handler(number);
  }
  if (previous.sa_handler == SIG_IGN && !is_fault(*information)) return;
  signal(number, SIG_DFL);
  if (!is_fault(*information)) raise(number);  // a fault recurs when the instruction is repeated
}

inline void on_fault(int number, siginfo_t* information, void* context) {
  const auto* const address = static_cast<const std::byte*>(information->si_addr);
  if (scope* const active = current; active != nullptr && is_fault(*information) && covers(*active, address)) {
    // Restore the mask from before the fault: a caller of this handler may block more signals, as sanitizers do.
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(active->restart, 1);
  }
  pass_on(number, information, context);
}

inline void install() noexcept {
  static_cast<void>(page_size());  // cached here, so that the handler does not make the first call
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  // SA_NODEFER: siglongjmp leaves the handler, and must not leave the signal blocked.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int number : fault_signals()) sigaction(number, &action, &previous_action(number));
}

}  // namespace guard
}  // namespace platform
QIO_END_NAMESPACE

/// Shared by all copies of qio in a program, whatever their configuration: the SIGBUS handlers that belong to qio, and
/// pass on signals that are not theirs. A copy that finds another's handler in place of its own is still in the chain.
/// The layout never changes. A copy that does not see this table (a library with hidden symbols) treats the other's
/// handler as foreign.
namespace qio::bus_error_handlers {

using handler = void (*)(int, siginfo_t*, void*);
inline constinit std::atomic<handler> of_qio[16]{};

inline void add(handler added) noexcept {
  for (std::atomic<handler>& place : of_qio) {
    handler free = nullptr;
    if (place.load(std::memory_order_relaxed) == added || place.compare_exchange_strong(free, added)) return;
  }
}
inline bool contain(handler wanted) noexcept {
  for (const std::atomic<handler>& place : of_qio)
    if (place.load(std::memory_order_relaxed) == wanted) return true;
  return false;
}

}  // namespace qio::bus_error_handlers

QIO_BEGIN_NAMESPACE
namespace platform {

namespace guard {

/// Whether a thread lets faults reach a handler: a fault whose signal is blocked ends the process (sigprocmask(2)).
struct signal_mask {
  std::int64_t asked_at = -1;
  bool admits_faults = false;

  void look() noexcept {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    admits_faults = true;
    for (const int number : fault_signals()) admits_faults = admits_faults && sigismember(&blocked, number) == 0;
  }
};
inline constinit thread_local signal_mask mask_of_thread;

/// Whether faults still reach our handler, which the program may have replaced, or blocked in this thread. Queries the
/// system at most once per tick of the coarse clock (1 to 10 ms), because a query costs as much as the system call that
/// a copy saves.
class presence {
 public:
  bool holds() noexcept {
    timespec now;
    ::clock_gettime(coarse_clock(), &now);
    const std::int64_t tick = std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
    if (tick != asked_at_.load(std::memory_order_relaxed)) {
      look();
      asked_at_.store(tick, std::memory_order_relaxed);
    }
    signal_mask& own = mask_of_thread;
    if (own.asked_at != tick) {
      own.look();
      own.asked_at = tick;
    }
    return own.admits_faults && holds_.load(std::memory_order_relaxed);
  }

  void look() noexcept {
    bool holds = true;
    for (const int number : fault_signals()) {
      struct sigaction present {};
      const bool known = sigaction(number, nullptr, &present) == 0 && (present.sa_flags & SA_SIGINFO) != 0;
      holds = holds && known && bus_error_handlers::contain(present.sa_sigaction);
    }
    holds_.store(holds, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> asked_at_ = -1;
  std::atomic<bool> holds_ = false;
};

inline constinit presence present;

// If fork(2) interrupts this, the child process has no handler, or does not install it again.
inline constinit detail::process_mutex installing;
inline constinit bool is_installed = false;

inline void install_once() noexcept {
  const std::lock_guard lock(installing);
  if (std::exchange(is_installed, true)) return;
  bus_error_handlers::add(&on_fault);
  install();
}

}  // namespace guard

/// Installs the SIGBUS handler, once per process. Signals that are not ours go to the previous handler. If the program
/// replaces the handler later, qio does not install it again: see guard_holds().
inline void install_copy_guard() noexcept {
  guard::install_once();
  guard::present.look();
}

/// Whether guarded_copy() is safe now in this thread. Becomes false at most 10 ms after the program replaces the
/// handler, or when the next mapped file is opened if that is earlier, and at most 10 ms after this thread blocks its
/// signal. Becomes true again when the program restores the handler, and the thread its mask.
inline bool guard_holds() noexcept { return guard::present.holds(); }

/// A memmove that may fault within `mapped`. Returns false after a fault, with only part of the bytes copied.
/// Precondition: guard_holds().
inline bool guarded_copy(void* to, const void* from, std::size_t bytes, std::span<const std::byte> mapped) noexcept {
  guard::scope scope;
  scope.begin = mapped.data();
  scope.end = mapped.data() + mapped.size();
  guard::scope* const outer = guard::current;
  if (sigsetjmp(scope.restart, 0) != 0) {
    guard::current = outer;
    return false;
  }
  guard::current = &scope;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the handler runs on this thread, so this suffices
  std::memmove(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  guard::current = outer;
  return true;
}

}  // namespace platform
QIO_END_NAMESPACE
