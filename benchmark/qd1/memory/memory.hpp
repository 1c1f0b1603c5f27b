// SPDX-License-Identifier: BSL-1.0
// How fast buffered transfers are while memory is enough, short, or full.
#pragma once

#include "measure/request.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

struct memory_request : measurement_request {
  std::string path;                     ///< empty: a temporary file in the current directory
  std::optional<std::uint64_t> memory;  ///< bytes, 64 MiB at least; none: default_memory()
  std::uint64_t block = 8192;
  double seconds = 10;  ///< of a step, at most
};

/// An eighth of what is available here, as a power of two, so that runs can be compared; 1 GiB at most.
std::uint64_t default_memory();

/// Throws usage_error if memory cannot be made short, or if the system does not report which pages are in it.
report measure_memory(const memory_request& request);

/// A report for each of the repeated runs, all of the same file.
std::vector<report> repeated_memory(const memory_request& request);

}  // namespace qd1
