// SPDX-License-Identifier: BSL-1.0
// What every request for a measurement contains. The options for it are declared in commands/common.cpp.
#pragma once

#include "figures.hpp"
#include "measure/rounds.hpp"
#include "report.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace qd1 {

struct measurement_request {
  std::vector<double> percentiles = standard_percentiles();  ///< fractions, ascending; the median is one
  std::uint64_t seed = 1;
  std::uint64_t repeat = 1;  ///< independent runs
  bool overwrite = false;
  std::string command_line = {};
  std::function<void(const std::vector<work>&)> before_measuring = {};  ///< called with the plan; may throw usage_error
  round_observer after_round = {};  ///< called with what is known by then; may be empty
};

}  // namespace qd1
