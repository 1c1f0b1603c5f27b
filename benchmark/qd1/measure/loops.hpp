// SPDX-License-Identifier: BSL-1.0
// The loop devices under a file: what is direct above one is direct only if it is so below, too.
#pragma once

#include "machine/facts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace qd1 {

/// What is known at one moment of the loop devices under the first bytes of a file.
struct loop_findings {
  /// Why reads may end above the lowest device: a loop device uses the page cache, or its file has holes. Empty if
  /// nothing is seen.
  std::string doubt;
  std::string device;              ///< the uppermost loop device; empty if there is none
  std::uint64_t cached_pages = 0;  ///< of their files
};

/// Follows the bytes down through each loop device, partition and file. Does nothing where there is no loop device.
loop_findings look_at_loops(const machine_facts& machine, const std::string& path, std::uint64_t bytes);

}  // namespace qd1
