// SPDX-License-Identifier: BSL-1.0
// What the ranks of an MPI job have measured, as one report.
#pragma once

#include "report.hpp"

#include <optional>

namespace qd1 {

/// Of all ranks together, at the first one; none at the others, who have nothing to print. A process that is not part
/// of a job gets its own back.
std::optional<report> of_all_ranks(report own);

}  // namespace qd1
