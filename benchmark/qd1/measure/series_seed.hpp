// SPDX-License-Identifier: BSL-1.0
// Gives each series offsets and arrivals of its own.
#pragma once

#include "report.hpp"

#include <cstdint>

namespace qd1 {

/// The seed for the offsets, arrivals and written blocks of a series, and of one of its rounds if each has its own.
/// Series with the same offsets would read what the previous one has brought into a cache below. The same in all runs
/// with that seed.
std::uint64_t series_seed(std::uint64_t seed, const work& of, std::uint64_t round = 0);

}  // namespace qd1
