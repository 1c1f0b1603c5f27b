// SPDX-License-Identifier: BSL-1.0
// What the parts of merge have in common.
#pragma once

#include "merge/merge.hpp"
#include "report.hpp"

namespace qd1 {

/// A series of one work, from one of the runs.
struct ingredient {
  const named_run* run;
  const series* found;
};

}  // namespace qd1
