// SPDX-License-Identifier: BSL-1.0
// What qd1 watch sees: plain data.
#pragma once

#include "report.hpp"
#include "statistics/histogram.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

/// A transfer that took longer than this many times the median of those before it is an outlier.
inline constexpr double outlier_factor = 5;
/// The least number of transfers for that median.
inline constexpr std::uint64_t enough_for_outliers = 10;

struct watched_transfer {
  std::uint64_t number = 0;           ///< counted from 1
  double ns = 0;                      ///< latency
  std::optional<double> times_usual;  ///< of an outlier: its multiple of the median of those before it
};

/// What is watched.
struct watch_subject {
  qd1::work work;
  double interval = 1;  ///< seconds
  std::string target;   ///< as a person calls it: the path, or "a temporary file in DIRECTORY"
  machine_facts machine;
  std::vector<std::string> warnings;  ///< why the figures may not be those of the device
};

/// All transfers together.
struct watched {
  watch_subject subject;
  histogram latencies;
  std::uint64_t outliers = 0;
  std::uint64_t missed = 0;  ///< intervals without a transfer, since an earlier one was not complete
  double seconds = 0;        ///< from the first transfer to the end of the last
  std::string failure;       ///< which transfer failed, and why; empty: none
  qd1::verification verification;
  std::vector<std::string> invalid;  ///< why the figures must not be believed; empty: they may
};

/// Adds a transfer, and returns whether it is an outlier.
watched_transfer record(watched& to, std::uint64_t picoseconds);

}  // namespace qd1
