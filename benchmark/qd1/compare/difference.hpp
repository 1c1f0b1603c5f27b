// SPDX-License-Identifier: BSL-1.0
// Whether two series of the same work differ.
#pragma once

#include "compare/decision.hpp"
#include "report.hpp"

#include <string>
#include <string_view>

namespace qd1 {

/// decide() by a figure that each round has: a percentile, "mean" or "iops" (of which more is better).
/// Rounds in which the measuring thread waited for a CPU for more than a fifth of the time, or in which others had more
/// than a twentieth of all CPU time, count as disturbed. In turn, if both series took turns with each other: see
/// pairs_in_turn().
///
/// decide_by_runs() instead, by any figure that runs have, if both series have at least three repeated runs and took no
/// turns.
decision compare(const series& base, const series& now, std::string_view figure);

/// Why no verdict on these two is possible; empty if one is.
std::string why_not_comparable(const series& base, const series& now);

/// The same for whole runs. Differences in their environment rule a comparison out.
std::string why_not_comparable(const report& base, const report& now);

}  // namespace qd1
