// SPDX-License-Identifier: BSL-1.0
// Presets known from CrystalDiskMark and KDiskMark: a few loads that together describe a device.
#pragma once

#include "depth/step.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace qd1 {

/// A row of a profile's table.
struct profile_row {
  qd1::order order;
  std::uint64_t block;    ///< bytes
  std::uint64_t depth;    ///< transfers in flight for each worker
  std::uint64_t workers;  ///< threads
};

struct profile {
  std::string_view name;  ///< on the command line
  std::span<const profile_row> rows;
  bool mixes = false;  ///< each row also as a mix of reads and writes
};

std::span<const profile> profiles();

/// nullptr: there is none of that name.
const profile* profile_named(std::string_view name);

/// Part of a mix that reads, as in those tools.
inline constexpr double reads_of_a_mix = 0.7;

/// Direct and asynchronous: the rows that read, those that write, those that do both.
std::vector<planned_load> loads_of(const profile& profile);

/// The largest of its rows: files must be multiples of it.
std::uint64_t largest_block(const profile& profile);

}  // namespace qd1
