// SPDX-License-Identifier: BSL-1.0
// What qd1 makes of latencies that are known: transfers that compute for a time drawn from a known distribution.
#pragma once

#include "report.hpp"
#include "statistics/histogram.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

struct calibration_plan {
  std::uint64_t runs = 20;
  std::uint64_t rounds = 10;
  std::uint64_t samples = 5'500;  ///< of a round: enough for an interval of p99.9
};

/// A run, as qd1 measured it and by the transfers' own account: what each took between two readings of its own.
struct known_run {
  series measured;
  histogram own;
};

/// A percentile in all runs.
struct known_percentile {
  double fraction = 0;
  double known_ns = 0;           ///< of the distribution that was drawn from
  double measured_ns = 0;        ///< mean over the runs
  double own_ns = 0;             ///< of all runs together, by the transfers' own account
  std::uint64_t intervals = 0;   ///< runs that have one
  std::uint64_t with_known = 0;  ///< of them, those whose interval holds the known value
  std::uint64_t with_own = 0;    ///< … the value by the transfers' own account
};

struct calibration {
  calibration_plan plan;  ///< as carried out: fewer runs after an interrupt
  std::vector<known_percentile> percentiles;
  std::optional<double> added_ns;  ///< as which a transfer that does nothing is measured, at the median
};

/// Measures by the program's own loop, with the real clock. Calls `tell` before each run.
calibration calibrate(const calibration_plan& plan, const std::function<void(std::uint64_t run)>& tell = {});

/// The same of runs that were measured.
calibration judged(const calibration_plan& plan, const std::vector<known_run>& runs);

std::string text(const calibration& of);
std::string json(const calibration& of);

}  // namespace qd1
