// SPDX-License-Identifier: BSL-1.0
// Copying from and to a mapping that may lose its file underneath.
#pragma once

#include <qio/detail/windows/mapping.hpp>

#include <intrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace qio::platform {

namespace guard {

/// The copy that this thread is in the middle of.
struct scope {
  const std::byte* begin;  // the mapped range: faults elsewhere are not ours
  const std::byte* end;
  bool faulted;
};
inline constinit thread_local scope* volatile current = nullptr;

#if defined(__x86_64__) || defined(_M_X64)

/// The copy is one instruction (rep movsb), and what is left of it is in a register. When it faults, nothing is left
/// any more: it is over, and the program goes on behind it. Nothing is unwound, so this needs no exception frames,
/// which not every compiler for Windows knows.
inline LONG CALLBACK on_fault(EXCEPTION_POINTERS* raised) {
  const EXCEPTION_RECORD& record = *raised->ExceptionRecord;
  const bool is_fault =
      record.ExceptionCode == EXCEPTION_IN_PAGE_ERROR || record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION;
  scope* const active = current;
  if (!is_fault || active == nullptr || record.NumberParameters < 2) return EXCEPTION_CONTINUE_SEARCH;
  const auto* const address = reinterpret_cast<const std::byte*>(record.ExceptionInformation[1]);
  const auto* const instruction = static_cast<const unsigned char*>(record.ExceptionAddress);
  const bool is_copy = instruction[0] == 0xf3 && instruction[1] == 0xa4;
  if (!is_copy || address < active->begin || address >= active->end) return EXCEPTION_CONTINUE_SEARCH;
  active->faulted = true;
  raised->ContextRecord->Rcx = 0;
  return EXCEPTION_CONTINUE_EXECUTION;
}

inline bool install() noexcept { return ::AddVectoredExceptionHandler(1, &on_fault) != nullptr; }
inline void copy(void* to, const void* from, std::size_t bytes) noexcept {
  __movsb(static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes);
}

#else

// No such instruction: no copy, and the system call that is made instead answers.
inline bool install() noexcept { return false; }
inline void copy(void*, const void*, std::size_t) noexcept { current->faulted = true; }

#endif

}  // namespace guard

/// Installs the handler, once in a process; other handlers go on getting what is not ours.
inline void install_copy_guard() noexcept {
  static const bool installed = guard::install();
  static_cast<void>(installed);
}

/// memcpy, of which `mapped` (either `to` or `from`) may fault: false then, with the copy done in part.
inline bool guarded_copy(void* to, const void* from, std::size_t bytes, const void* mapped) noexcept {
  const auto* const begin = static_cast<const std::byte*>(mapped);
  guard::scope scope{begin, begin + bytes, false};
  guard::scope* const outer = guard::current;
  guard::current = &scope;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the handler runs on this thread: the order is enough
  guard::copy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  guard::current = outer;
  return !scope.faulted;
}

}  // namespace qio::platform
