// SPDX-License-Identifier: BSL-1.0
// What the host does to a program that only computes.
#pragma once

#include "measure/clock.hpp"
#include "report.hpp"

#include <optional>

namespace qd1 {

/// Spins on the CPU that it is called on, and takes down when it was not let run.
noise listen(const clock& clock, double seconds);

/// Up to which percentile a series is its own. A gap of the host that is at least a tenth of the median disturbs the
/// transfers in flight, and in an open loop also those that arrive during it. If no such gap was heard, there may be 3
/// in the time of listening, by 95 %.
std::optional<double> trusted_fraction(const series& series, const noise& before, const noise& after);

}  // namespace qd1
