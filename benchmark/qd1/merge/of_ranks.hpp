// SPDX-License-Identifier: BSL-1.0
// What the ranks of an MPI job have measured, as one report.
#pragma once

#include "report.hpp"

#include <optional>

namespace qd1 {

/// The first rank gets the report of all ranks together; the others get none and have nothing to print. A process that
/// is not part of a job gets its own report back.
std::optional<report> of_all_ranks(report own);

}  // namespace qd1
