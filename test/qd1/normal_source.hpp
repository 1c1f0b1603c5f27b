// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace qd1_test {

/// mt19937 gives the same numbers everywhere, the standard library's distributions do not.
class normal_source {
 public:
  explicit normal_source(std::uint32_t seed) : engine_(seed) {}

  double uniform() { return (static_cast<double>(engine_()) + 0.5) / 4294967296.0; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

 private:
  std::mt19937 engine_;
};

}  // namespace qd1_test
