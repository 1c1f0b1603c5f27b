// SPDX-License-Identifier: BSL-1.0
// A figure, how far it can be trusted, and what the interval covers.
#pragma once

#include "report.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace qd1 {

/// What a 95 % interval covers.
enum class scope : std::uint8_t {
  within_run,   ///< what this run would have measured had it gone on under the same conditions
  between_runs  ///< what another run of the same thing measures on average
};

constexpr std::string_view name(scope value) { return value == scope::within_run ? "within this run" : "between runs"; }

struct judged_estimate {
  qd1::estimate estimate;
  qd1::scope scope = scope::within_run;
  std::string withheld;  ///< why there is no interval; empty: there is one
};

}  // namespace qd1
