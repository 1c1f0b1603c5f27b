// SPDX-License-Identifier: BSL-1.0
#include "measure/series_seed.hpp"

#include "measure/offsets.hpp"

namespace qd1 {

std::uint64_t series_seed(std::uint64_t seed, const work& of, std::uint64_t round) {
  std::uint64_t mixed = splitmix64(seed + round)();
  for (const char each : title(of)) mixed = splitmix64(mixed ^ static_cast<unsigned char>(each))();
  return mixed;
}

}  // namespace qd1
