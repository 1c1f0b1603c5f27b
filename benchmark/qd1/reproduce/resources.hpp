// SPDX-License-Identifier: BSL-1.0
// What a machine has for repeating an experiment.
#pragma once

#include "machine/facts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

struct reproduce_request {
  std::string experiment;
  std::vector<std::string> paths;          ///< none: temporary files in the current directory
  std::optional<double> seconds;           ///< of a measurement; none: as published
  std::optional<std::uint64_t> file_size;  ///< none: what memory and file systems allow, at most as published
  std::uint64_t seed = 1;
  bool overwrite = false;
  bool allow_tuning = false;  ///< settings of devices' queues may be changed for a while
  std::string command_line;
};

struct resources {
  std::vector<std::string> paths;       ///< at least one; "." is a temporary file
  std::vector<machine_facts> machines;  ///< of each
  std::uint64_t file_size = 0;          ///< bytes, of each that is made
  std::uint64_t least_size = 0;         ///< bytes, of those that are there; 0: all are made
  bool makes_files = true;              ///< false: all are there, and are only read unless overwriting is allowed
  std::uint64_t memory = 0;             ///< bytes that are available
  std::uint64_t processors = 1;         ///< that may be used
  std::optional<double> seconds;
  std::uint64_t seed = 1;
  bool overwrite = false;
  bool allow_tuning = false;
  bool may_write = true;  ///< all are made by qd1, or overwriting is allowed

  double seconds_or(double published) const { return seconds.value_or(published); }
  const machine_facts& machine() const { return machines.front(); }
};

/// Whether a measurement makes the file: in a directory, or where there is none. Throws usage_error.
bool is_made(const std::string& path);

/// `targets`: how many the experiment uses at once, where the user names none. Throws usage_error.
resources resources_for(const reproduce_request& request, std::uint64_t targets);

}  // namespace qd1
