// SPDX-License-Identifier: BSL-1.0
// What all steps of a run have in common.
#pragma once

#include "depth/worker.hpp"
#include "measure/clock.hpp"
#include "measure/data_file.hpp"
#include "platform/hardware_cycles.hpp"
#include "report.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace qd1 {

/// A file or device, and what it lies on.
struct target {
  const data_file& file;
  machine_facts machine;
};

struct field {
  const qd1::clock& clock;
  const qd1::settings& settings;  ///< of the report
  std::vector<target> targets;
  machine_facts machine;  ///< the host, and the devices under all targets
  engine_choice engine;
  bool timed = true;    ///< the clock is read for each transfer
  bool pinned = false;  ///< each worker stays on one CPU
  bool once = false;    ///< cold steps read no block twice, and end when all have been read; of one worker
  /// Dirty memory, with what is being written back; none: that of the machine.
  std::function<std::optional<std::uint64_t>()> dirty_bytes = {};
  const platform::hardware_cycles* cycles = nullptr;  ///< of this process; none: they are not counted
};

}  // namespace qd1
