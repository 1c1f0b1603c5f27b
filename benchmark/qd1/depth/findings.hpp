// SPDX-License-Identifier: BSL-1.0
// What the figures of a load show about how it was served, in words; empty if they show nothing.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

/// Transfers that are larger than the device takes, and so were cut by the kernel.
std::string split(const series& of, const machine_facts& machine);

/// Mean latency times throughput is what was in flight, whatever the distribution (Little's law): what contradicts that
/// was not counted right. `kinds`: the reads and writes of one load, since together they are what was in flight.
std::string contradiction(const std::vector<series>& kinds);

}  // namespace qd1
