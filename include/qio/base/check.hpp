// SPDX-License-Identifier: BSL-1.0
// Preconditions and invariants, checked where QIO_CHECKS is 1.
#pragma once

#include <qio/configuration.hpp>

#include <cstdio>
#include <cstdlib>

namespace qio::inline QIO_CONFIGURATION::detail {

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
  static constexpr caller here() noexcept { return {}; }
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

}  // namespace qio::inline QIO_CONFIGURATION::detail

/// QIO_CHECK(condition, sentence): ends the program with `sentence` unless `condition` holds. The sentence names the
/// mistake, and what to do instead. QIO_CHECK_AT(condition, sentence, from) prints the place of the caller `from`.
/// Without QIO_CHECKS, the condition is compiled but not evaluated.
#if QIO_CHECKS
#define QIO_CHECK(condition, sentence) \
  (static_cast<bool>(condition) ? void() : ::qio::detail::check_failed(sentence, __FILE__, __LINE__))
#define QIO_CHECK_AT(condition, sentence, from) \
  (static_cast<bool>(condition) ? void() : ::qio::detail::check_failed(sentence, (from).file, (from).line))
#else
#define QIO_CHECK(condition, sentence) static_cast<void>(sizeof(static_cast<bool>(condition)))
#define QIO_CHECK_AT(condition, sentence, from) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif

/// The same in every configuration: for mistakes after which the program would use memory that is not its own.
#if QIO_CHECKS
#define QIO_REQUIRE_AT(condition, sentence, from) QIO_CHECK_AT(condition, sentence, from)
#else
#define QIO_REQUIRE_AT(condition, sentence, from) \
  (static_cast<bool>(condition) ? void() : ::qio::detail::check_failed(sentence))
#endif
