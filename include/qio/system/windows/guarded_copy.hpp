// SPDX-License-Identifier: BSL-1.0
// Copying from and to a mapping whose file may be truncated during the copy.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/mapping.hpp>

#include <intrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

QIO_BEGIN_NAMESPACE
namespace platform {

namespace guard {

/// The copy that this thread is making.
struct scope {
  const std::byte* begin;  // the mapping: faults elsewhere are not ours
  const std::byte* end;
  bool faulted;
};
inline constinit thread_local scope* volatile current = nullptr;

// Code for ARM64EC, which defines _M_X64, has other instructions.
#if defined(__x86_64__) || (defined(_M_X64) && !defined(_M_ARM64EC))

/// The copy is one instruction (rep movsb), which keeps the number of remaining bytes in a register. On a fault, this
/// handler sets it to zero: the copy ends, and execution continues after it. Nothing is unwound, so this needs no
/// exception frames, which not every compiler for Windows supports.
inline LONG CALLBACK on_fault(EXCEPTION_POINTERS* raised) {
  const EXCEPTION_RECORD& record = *raised->ExceptionRecord;
  const bool is_fault =
      record.ExceptionCode == EXCEPTION_IN_PAGE_ERROR || record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION;
  // The instruction cannot be looked at if executing it was what failed.
  constexpr ULONG_PTR execution = 8;
  if (!is_fault || record.NumberParameters < 2 || record.ExceptionInformation[0] == execution)
    return EXCEPTION_CONTINUE_SEARCH;
  const auto* const instruction = static_cast<const unsigned char*>(record.ExceptionAddress);
  const bool is_copy = instruction[0] == 0xf3 && instruction[1] == 0xa4;
  if (!is_copy) return EXCEPTION_CONTINUE_SEARCH;
  // Only now: most exceptions are not ours, and the first access of a thread to its variables may allocate.
  scope* const active = current;
  const auto* const address = reinterpret_cast<const std::byte*>(record.ExceptionInformation[1]);
  if (active == nullptr || address < active->begin || address >= active->end) return EXCEPTION_CONTINUE_SEARCH;
  active->faulted = true;
  raised->ContextRecord->Rcx = 0;
  return EXCEPTION_CONTINUE_EXECUTION;
}

inline void* install() noexcept { return ::AddVectoredExceptionHandler(1, &on_fault); }
inline void copy(void* to, const void* from, std::size_t bytes) noexcept {
  __movsb(static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes);
}

#else

// This CPU has no such instruction: nothing is copied, and a system call is made instead.
inline void* install() noexcept { return nullptr; }
inline void copy(void*, const void*, std::size_t) noexcept { current->faulted = true; }

#endif

/// The handler, for as long as this module is loaded: Windows would still call one in a DLL that has been unloaded.
class handler {
 public:
  handler() noexcept : handle_(install()) { is_installed.store(handle_ != nullptr); }
  handler(const handler&) = delete;
  handler& operator=(const handler&) = delete;
  ~handler() {
    is_installed.store(false);
    if (handle_ != nullptr) ::RemoveVectoredExceptionHandler(handle_);
  }

  static inline constinit std::atomic<bool> is_installed = false;

 private:
  void* handle_;
};

}  // namespace guard

/// Installs the handler, once per module. Other handlers still receive faults that are not ours.
inline void install_copy_guard() noexcept { static const guard::handler installed; }

/// Whether guarded_copy() is safe now. From the destruction of static objects on it is not.
inline bool guard_holds() noexcept {
  install_copy_guard();
  return guard::handler::is_installed.load(std::memory_order_relaxed);
}

/// A memmove that may fault within `mapped`. Returns false after a fault, with only part of the bytes copied.
/// Precondition: guard_holds().
inline bool guarded_copy(void* to, const void* from, std::size_t bytes, std::span<const std::byte> mapped) noexcept {
  guard::scope scope{mapped.data(), mapped.data() + mapped.size(), false};
  guard::scope* const outer = guard::current;
  guard::current = &scope;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the handler runs on this thread, so this suffices
  // The instruction copies forward. If that would overwrite bytes before they are copied, copy from the end, in parts
  // that do not overlap their targets.
  const auto source = reinterpret_cast<std::uintptr_t>(from), target = reinterpret_cast<std::uintptr_t>(to);
  const std::size_t distance = target > source && target - source < bytes ? target - source : bytes;
  for (std::size_t rest = bytes; rest != 0 && !scope.faulted;) {
    const std::size_t part = rest < distance ? rest : distance;
    rest -= part;
    guard::copy(static_cast<std::byte*>(to) + rest, static_cast<const std::byte*>(from) + rest, part);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  guard::current = outer;
  return !scope.faulted;
}

}  // namespace platform
QIO_END_NAMESPACE
