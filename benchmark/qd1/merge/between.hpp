// SPDX-License-Identifier: BSL-1.0
// Figures of a series that several runs of the same thing measured one after the other.
#pragma once

#include "merge/ingredient.hpp"
#include "report.hpp"

#include <vector>

namespace qd1 {

/// Replaces the figures of `to` by the geometric means of those of the runs, with intervals between the runs
/// (statistics/between_runs.hpp), and fills its contributions. The bins of `to` are those of all runs already. Runs
/// that are repetitions themselves count one by one.
void set_between_runs(series& to, const std::vector<ingredient>& from_each);

}  // namespace qd1
