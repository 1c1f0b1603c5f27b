// SPDX-License-Identifier: BSL-1.0
// Preconditions and invariants, checked where QIO_CHECKS is 1.
#pragma once

#include <qio/configuration.hpp>

#if QIO_CHECKS
#include <cstdio>
#include <cstdlib>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Prints `sentence`, and ends the program.
[[noreturn]] QIO_COLD inline void check_failed(const char* sentence, const char* file, int line) noexcept {
  std::fprintf(stderr, "qio: %s (%s:%d)\n", sentence, file, line);
  std::abort();
}

/// A flag that only checks read. It takes no space if checks are disabled.
class checked_flag {
 public:
  void set(bool value) noexcept { value_ = value; }
  bool is_set() const noexcept { return value_; }

 private:
  bool value_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail

/// QIO_CHECK(condition, sentence): ends the program with `sentence` unless `condition` holds. The sentence names the
/// mistake, and what to do instead. Without QIO_CHECKS, the condition is compiled but not evaluated.
#define QIO_CHECK(condition, sentence) \
  (static_cast<bool>(condition) ? void() : ::qio::detail::check_failed(sentence, __FILE__, __LINE__))
#else
namespace qio::inline QIO_CONFIGURATION::detail {

class checked_flag {
 public:
  static void set(bool) noexcept {}
  static bool is_set() noexcept { return false; }
};

}  // namespace qio::inline QIO_CONFIGURATION::detail

#define QIO_CHECK(condition, sentence) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
