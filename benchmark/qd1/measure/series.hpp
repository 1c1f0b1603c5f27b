// SPDX-License-Identifier: BSL-1.0
// Measures a series, round by round.
#pragma once

#include "measure/clock.hpp"
#include "measure/data_file.hpp"
#include "measure/offsets.hpp"
#include "measure/recorder.hpp"
#include "measure/tally.hpp"
#include "platform/hardware_cycles.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace qd1 {

/// What all series of a run have in common.
struct run_setup {
  const qd1::clock& clock;
  const data_file& file;
  const machine_facts& machine;
  std::string engine;                                 ///< "auto", or one of platform::engines
  const platform::hardware_cycles* cycles = nullptr;  ///< of this process; none: they are not counted
};

struct round_plan {
  limits most;
  double start = 0;                        ///< seconds since the run began
  std::optional<std::uint64_t> processor;  ///< on which it begins, by the system's number; none: whichever it is
  pace* schedule = nullptr;                ///< of the series; none: the round has one of its own
  std::uint64_t seed = 0;                  ///< of the series and round: for what is written
};

/// One round: opens the file as the work demands, warms up, measures, and adds what was found to `to`. A round begins
/// from nothing, so that whatever differs by chance from one start to the next (where a buffer lies, how a ring is set
/// up) differs from round to round, too. `next_offset` is a parameter so that tests can set traps. Throws usage_error
/// where the work is impossible by its numbers.
void measure_round(tally& to, const run_setup& setup, const offset_source& next_offset, const round_plan& plan);

}  // namespace qd1
