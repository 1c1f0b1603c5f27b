// SPDX-License-Identifier: BSL-1.0
// The one source of everything in a simulation that is left to chance.
#pragma once

#include <cstdint>

namespace qio::detail {

/// The same numbers from the same seed, with every compiler and library: splitmix64 (G. L. Steele, D. Lea, C. H. Flood,
/// Fast Splittable Pseudorandom Number Generators, 2014).
class chance {
 public:
  explicit chance(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t number() noexcept {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }

  /// 0 … end - 1; `end` is not 0. (Some numbers are more likely than others, by end / 2^64.)
  std::uint64_t below(std::uint64_t end) noexcept { return number() % end; }
  /// first … last.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) noexcept { return first + below(last - first + 1); }

  /// True with this probability. One that cannot come true takes no number, so that faults which are switched off do
  /// not change what the seed means.
  bool comes_true(double probability) noexcept {
    if (probability <= 0) return false;
    return static_cast<double>(number() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace qio::detail
