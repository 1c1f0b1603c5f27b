// SPDX-License-Identifier: BSL-1.0
// The only source of randomness in a simulation.
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>
#include <random>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Gives the same numbers from the same seed everywhere: the standard specifies this generator exactly, but not the
/// distributions.
class chance {
 public:
  explicit chance(std::uint64_t seed) : numbers_(seed) {}

  std::uint64_t number() { return numbers_(); }

  /// 0 ... end - 1; `end` is not 0. (Some numbers are more likely than others, by end / 2^64.)
  std::uint64_t below(std::uint64_t end) { return number() % end; }
  /// first ... last.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) { return first + below(last - first + 1); }

  /// True with this probability. A probability of 0 consumes no number, so switching a fault off leaves the rest of the
  /// history as it is.
  bool comes_true(double probability) {
    if (probability <= 0) return false;
    return static_cast<double>(number() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::mt19937_64 numbers_;
};

}  // namespace detail
QIO_END_NAMESPACE
