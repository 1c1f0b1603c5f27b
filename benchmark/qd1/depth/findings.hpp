// SPDX-License-Identifier: BSL-1.0
// What the figures of a load show about how it was served, in words; empty if they show nothing.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

/// Transfers that the kernel split, because they are larger than what it sends to the device at once.
std::string split(const series& of, const machine_facts& machine);

/// Mean latency times throughput is the number of transfers in flight, whatever the distribution (Little's law).
/// Figures that contradict it were counted wrong. `kinds`: the reads and writes of one load, which are in flight
/// together.
std::string contradiction(const std::vector<series>& kinds);

}  // namespace qd1
