// SPDX-License-Identifier: BSL-1.0
// What the host does to a program that only computes.
#pragma once

#include "measure/clock.hpp"
#include "report.hpp"

#include <optional>

namespace qd1 {

/// Spins on the CPU that it is called on, and records the gaps in which it did not run.
noise listen(const clock& clock, double seconds);

/// The percentile up to which the host's noise cannot explain a series. A gap of the host that is at least a tenth of
/// the median disturbs the transfers in flight, and in an open loop also those that arrive during it. If no such gap
/// was heard, up to 3 in the time of listening are assumed (95 %).
std::optional<double> trusted_fraction(const series& series, const noise& before, const noise& after);

}  // namespace qd1
