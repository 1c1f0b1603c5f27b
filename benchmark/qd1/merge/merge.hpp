// SPDX-License-Identifier: BSL-1.0
// Reports of several runs as one: of the ranks of a job, of several machines, of one machine at several times.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

struct named_run {
  std::string name;  ///< distinguishes it from the others for a reader
  report run;
};

/// Series of the same work become one, their bins added up without loss. If the runs went on at the same time, so do
/// their operations a second. What is not the same about them is noted. Throws usage_error if no work is common to all.
report merged(const std::vector<named_run>& runs);

/// Whether all ran at the same time, for at least half of the shortest, by the clocks of the machines.
bool ran_together(const std::vector<named_run>& runs);

}  // namespace qd1
