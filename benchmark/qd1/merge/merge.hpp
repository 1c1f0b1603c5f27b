// SPDX-License-Identifier: BSL-1.0
// Reports of several runs as one: of the ranks of a job, of several machines, of repeated runs.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

struct named_run {
  std::string name;  ///< distinguishes it from the others for a reader
  report run;
};

/// Series of the same work become one, their bins added up without loss. If the runs took place at the same time, their
/// operations per second are added, unless they took turns. If they are repetitions (same settings, same machine, at
/// different times), the report is that of repeated(). Differences between them are noted. Throws usage_error if no
/// work is common to all.
report merged(const std::vector<named_run>& runs);

/// The same for runs that are known to have taken place at the same time.
report merged_side_by_side(const std::vector<named_run>& runs);

/// Runs of the same thing, in the order of time, as one. Figures are geometric means over the runs, with intervals
/// between the runs. Throws usage_error if no work is common to all.
report repeated(std::vector<named_run> runs);

/// Whether all ran at the same time, for at least half of the shortest, by the clocks of the machines.
bool ran_together(const std::vector<named_run>& runs);

}  // namespace qd1
