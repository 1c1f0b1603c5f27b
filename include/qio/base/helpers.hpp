// SPDX-License-Identifier: BSL-1.0
// What every header may use, without I/O: checks of preconditions, the lesser of two values, the clock, exceptions of
// the standard library, numbers of threads, and positions in the stack.
#pragma once

#include <qio/configuration.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

QIO_BEGIN_NAMESPACE
namespace detail {

// --- Preconditions and invariants, checked where QIO_CHECKS is 1 ---

/// Prints `sentence`, and where the mistake is if that is known, and ends the program.
[[noreturn]] QIO_COLD inline void check_failed(const char* sentence, const char* file = nullptr,
                                               int line = 0) noexcept {
  if (file == nullptr)
    std::fprintf(stderr, "qio: %s\n", sentence);
  else
    std::fprintf(stderr, "qio: %s (%s:%d)\n", sentence, file, line);
  std::abort();
}

#if QIO_CHECKS
/// Where the program calls a function, as the default argument of that function: `caller from = caller::here()`. A
/// destructor has no arguments; it has a caller without a place, which is not printed.
struct caller {
  static constexpr caller here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept {
    return {file, line};
  }

  const char* file = nullptr;
  int line = 0;
};

/// A flag that only checks read. It takes no space if checks are disabled.
class checked_flag {
 public:
  void set(bool value) noexcept { value_ = value; }
  bool is_set() const noexcept { return value_; }

 private:
  bool value_ = false;
};
/// The same for a number.
class checked_count {
 public:
  void add() noexcept { ++value_; }
  void remove() noexcept { value_ -= value_ != 0; }
  bool is_zero() const noexcept { return value_ == 0; }

 private:
  unsigned value_ = 0;
};
#else
struct caller {
  static consteval caller here() noexcept { return {}; }
};

class checked_flag {
 public:
  static void set(bool) noexcept {}
  static bool is_set() noexcept { return false; }
};

class checked_count {
 public:
  static void add() noexcept {}
  static void remove() noexcept {}
  static bool is_zero() noexcept { return true; }
};
#endif

}  // namespace detail
QIO_END_NAMESPACE

/// QIO_CHECK(condition, sentence): ends the program with `sentence` unless `condition` holds. The sentence names the
/// mistake, and what to do instead. QIO_CHECK_AT(condition, sentence, from) prints the place of the caller `from`.
/// Without QIO_CHECKS, the condition is compiled but not evaluated.
#if QIO_CHECKS
#define QIO_CHECK(condition, sentence) \
  (bool(condition) ? void() : ::qio::detail::check_failed(sentence, __FILE__, __LINE__))
#define QIO_CHECK_AT(condition, sentence, from) \
  (bool(condition) ? void() : ::qio::detail::check_failed(sentence, (from).file, (from).line))
#else
#define QIO_CHECK(condition, sentence) static_cast<void>(sizeof(bool(condition)))
#define QIO_CHECK_AT(condition, sentence, from) static_cast<void>(sizeof(bool(condition)))
#endif

/// The same in every configuration: for mistakes after which the program would use memory that is not its own.
#if QIO_CHECKS
#define QIO_REQUIRE_AT(condition, sentence, from) QIO_CHECK_AT(condition, sentence, from)
#else
#define QIO_REQUIRE_AT(condition, sentence, from) (bool(condition) ? void() : ::qio::detail::check_failed(sentence))
#endif

QIO_BEGIN_NAMESPACE
namespace detail {

// --- Bounds ---
//
// The lesser and the greater of two values. Nothing else is needed from <algorithm>, which would take a tenth of the
// compile time of the whole library.

template <class T>
constexpr T lesser_of(T a, T b) noexcept {
  return b < a ? b : a;
}

template <class T>
constexpr T greater_of(T a, T b) noexcept {
  return a < b ? b : a;
}

// --- The clock ---
//
// Durations, time points, steady_clock: the part of <chrono> that waiting needs. <chrono> itself brings calendars, time
// zones and, to print them, streams and locales, which take a tenth of the compile time of the whole library. Every
// implementation of <condition_variable> has what is needed, because wait_for() takes durations.

using clock = std::chrono::steady_clock;

// --- Exceptions ---

/// Calls `action`, in which the standard library may throw. False if it threw. Where exceptions are disabled, the
/// standard library ends the program instead.
template <class Action>
bool succeeds(Action&& action) noexcept {
#if defined(__cpp_exceptions)
  try {
    std::forward<Action>(action)();
    return true;
  } catch (...) {
    return false;
  }
#else
  std::forward<Action>(action)();
  return true;
#endif
}

// --- Threads ---

inline constinit thread_local std::uint64_t thread_number = 0;  // 0: not given yet

/// The number of the calling thread. No other thread of this process has or will ever have the same one, unlike
/// std::thread::id, which is reused. Never 0.
inline std::uint64_t this_thread_number() noexcept {
  static constinit std::atomic<std::uint64_t> last = 0;
  if (thread_number == 0) thread_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_number;
}

/// Whether `number` is this_thread_number() of the calling thread.
inline bool is_this_thread(std::uint64_t number) noexcept { return number == thread_number; }

// --- Stacks ---

/// An address within the stack frame of the calling function. Not that of a local variable, which the address sanitizer
/// may keep elsewhere.
#if defined(_MSC_VER) && !defined(__clang__)
#define QIO_STACK_POSITION() reinterpret_cast<std::uintptr_t>(_AddressOfReturnAddress())
#else
#define QIO_STACK_POSITION() reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))
#endif

/// How many bytes of stack lie between an outer function and one that it calls, given their positions. Negative if the
/// second runs on another stack, at a higher address; all supported systems grow the stack downward.
inline std::intptr_t stack_between(std::uintptr_t outer, std::uintptr_t inner) noexcept {
  return static_cast<std::intptr_t>(outer - inner);
}

}  // namespace detail
QIO_END_NAMESPACE
