// SPDX-License-Identifier: BSL-1.0
// What a command has measured, in several runs or in the ranks of an MPI job, as one report.
#pragma once

#include "report.hpp"

#include <optional>
#include <vector>

namespace qd1 {

/// The runs of repeat_runs() as one. If there are fewer than were requested, the report is incomplete, and a note gives
/// their number.
report in_one(std::vector<report> runs);

/// The same, run by run of all ranks together, for the first rank; the others get none and have nothing to print.
std::optional<report> in_one_of_all_ranks(std::vector<report> own);

}  // namespace qd1
