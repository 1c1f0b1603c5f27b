// SPDX-License-Identifier: BSL-1.0
// The one source of everything in a simulation that is left to chance.
#pragma once

#include <cstdint>
#include <random>

namespace qio::detail {

/// The same numbers from the same seed everywhere: the standard says what this generator gives, though not what its
/// distributions do.
class chance {
 public:
  explicit chance(std::uint64_t seed) : numbers_(seed) {}

  std::uint64_t number() { return numbers_(); }

  /// 0 … end - 1; `end` is not 0. (Some numbers are more likely than others, by end / 2^64.)
  std::uint64_t below(std::uint64_t end) { return number() % end; }
  /// first … last.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) { return first + below(last - first + 1); }

  /// True with this probability. One that cannot come true takes no number, so that faults which are switched off do
  /// not change what the seed means.
  bool comes_true(double probability) {
    if (probability <= 0) return false;
    return static_cast<double>(number() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::mt19937_64 numbers_;
};

}  // namespace qio::detail
