// SPDX-License-Identifier: BSL-1.0
// Runs of the same thing, one after the other.
#pragma once

#include "merge/ingredient.hpp"
#include "merge/merge.hpp"
#include "report.hpp"

#include <vector>

namespace qd1 {

/// Whether the reports are of the same settings on the same machine, so that they differ as runs of one thing do. They
/// must not have been measured at the same time.
bool are_repetitions(const std::vector<named_run>& runs);

/// When the last round of a run ended, in seconds since it began to measure.
double seconds_of(const report& run);

/// Moves the rounds of each run to after those of the run before it, without a gap.
void put_in_succession(std::vector<named_run>& runs);

/// What series of repeated runs have beside their bins, counts and rounds: figures with intervals between the runs,
/// and their figures for each second.
void set_repeated(series& to, const std::vector<ingredient>& from_each);

/// The same for the whole report: from before the first run to after the last.
void set_repeated(report& to, const std::vector<named_run>& runs);

}  // namespace qd1
