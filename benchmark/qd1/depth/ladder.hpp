// SPDX-License-Identifier: BSL-1.0
// A whole run of loads: deeper and deeper, with more and more workers, on one target or several.
#pragma once

#include "depth/step.hpp"
#include "depth/worker.hpp"
#include "measure/request.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

struct ladder_request : measurement_request {
  /// Measured instead of the ladder that modes, depths and so on describe, within the whole file. On a file that must
  /// not be written: those that only read.
  std::vector<planned_load> loads = {};
  std::string profile = {};        ///< what the report calls them
  std::vector<std::string> paths;  ///< none: a temporary file in the current directory
  std::vector<qd1::mode> modes = {mode::direct};
  double reads = 1;  ///< part of the transfers that read
  qd1::order order = order::random;
  std::optional<double> zipf_theta;  ///< with the order zipf, and with no other
  std::vector<std::uint64_t> depths = {1, 2, 4, 8, 16, 32, 64, 128};
  std::vector<std::uint64_t> workers = {1};
  bool each_alone = false;  ///< each target alone, too, before all together
  std::uint64_t block = 4096;
  std::optional<std::uint64_t> file_size;
  qd1::temperature temperature = temperature::warm;
  qd1::durability durability = durability::accepted;
  double seconds = 5;  ///< of a step
  std::uint64_t rounds = 5;
  bool timed = true;
  std::optional<std::uint64_t> memory;  ///< bytes that are left for pages of files; none: as much as there is
  bool pinned = false;
  engine_choice engine;
  bool cycles = true;                   ///< CPU cycles are counted
  std::string turns = {};               ///< a file: each round waits its turn with those of other runs that name it
  std::vector<std::string> notes = {};  ///< for the report
};

/// Throws usage_error where that cannot be done.
report measure_loads(const ladder_request& request);

/// A report for each of the repeated runs. All use the same files, and each reopens them.
std::vector<report> repeated_loads(const ladder_request& request);

}  // namespace qd1
