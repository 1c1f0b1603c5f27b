// SPDX-License-Identifier: BSL-1.0
// Measures one series.
#pragma once

#include "measure/clock.hpp"
#include "measure/data_file.hpp"
#include "measure/offsets.hpp"
#include "measure/recorder.hpp"
#include "report.hpp"

#include <string>

namespace qd1 {

/// What all series of a run have in common.
struct laboratory {
  const qd1::clock& clock;
  const data_file& file;
  const machine_facts& machine;
  limits most;
  std::string engine;  ///< "auto", "uring", "pool"
};

/// Opens the file as `work` demands, warms up, measures. `next_offset` is a parameter so that tests can set traps.
/// Throws usage_error where the work is impossible by its numbers.
series measure(const work& work, const laboratory& laboratory, const offset_source& next_offset);

}  // namespace qd1
