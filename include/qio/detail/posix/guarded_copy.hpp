// SPDX-License-Identifier: BSL-1.0
// Copying from and to a mapping that may lose its file underneath.
#pragma once

#include <qio/detail/posix/mapping.hpp>

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qio::platform {

namespace guard {

/// The copy that this thread is in the middle of.
struct scope {
  sigjmp_buf restart;
  const std::byte* begin;  // of what is mapped: faults elsewhere are not ours
  const std::byte* end;
};
inline constinit thread_local scope* volatile current = nullptr;

/// From the beginning of the first page on: a memory error is reported for the whole of it.
inline bool covers(const scope& copy, const std::byte* address) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(copy.begin) & ~(page_size() - 1);
  return reinterpret_cast<std::uintptr_t>(address) >= first && address < copy.end;
}

inline struct sigaction& previous_action() noexcept {
  static struct sigaction previous {};
  return previous;
}

inline void on_bus_error(int number, siginfo_t* information, void* context) {
  const auto* const address = static_cast<const std::byte*>(information->si_addr);
  if (scope* const active = current; active != nullptr && covers(*active, address)) {
    // What the thread had blocked before the fault: whoever called this may block more meanwhile, as sanitizers do.
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(active->restart, 1);
  }

  // Not ours: whoever was there before us gets it. By default the process ends as it would have without us: when the
  // faulting instruction is run again, or, if somebody sent the signal, here.
  const struct sigaction& previous = previous_action();
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(number, information, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(number);
  signal(number, SIG_DFL);
  if (information->si_code <= 0) raise(number);
}

inline bool install() noexcept {
  static_cast<void>(page_size());  // found out here, so that the handler need not be the first to ask
  struct sigaction action {};
  action.sa_sigaction = &on_bus_error;
  // SA_NODEFER: the handler is left by siglongjmp, which must not leave the signal blocked.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGBUS, &action, &previous_action()) == 0;
}

}  // namespace guard

/// Installs the handler for SIGBUS, once in a process; a handler that was there before goes on getting what is not
/// ours. A program that replaces the handler afterwards takes the guard away.
inline void install_copy_guard() noexcept {
  static const bool installed = guard::install();
  static_cast<void>(installed);
}

/// memcpy, of which `mapped` (either `to` or `from`) may fault: false then, with the copy done in part.
inline bool guarded_copy(void* to, const void* from, std::size_t bytes, const void* mapped) noexcept {
  guard::scope scope;
  scope.begin = static_cast<const std::byte*>(mapped);
  scope.end = scope.begin + bytes;
  guard::scope* const outer = guard::current;
  if (sigsetjmp(scope.restart, 0) != 0) {
    guard::current = outer;
    return false;
  }
  guard::current = &scope;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the handler runs on this thread: the order is enough
  std::memcpy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  guard::current = outer;
  return true;
}

}  // namespace qio::platform
