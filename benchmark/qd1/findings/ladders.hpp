// SPDX-License-Identifier: BSL-1.0
// What a report's loads show together: where more depth stops paying off, and which fraction of their sum several
// targets reach.
#pragma once

#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

/// Series that differ in nothing but how many workers there are and how deep they go, in the order of both.
using ladder = std::vector<const series*>;

/// As given on the command line; with its number, where several are the same: files in one directory.
std::string target_name(const report& run, std::uint64_t number);

/// All ladders of a report, in the order in which they begin.
std::vector<ladder> ladders_of(const report& run);

/// The least depth that has nearly all of the throughput: beyond it only latency grows.
struct knee {
  const series* at;
  const series* best;  ///< most operations a second, with as many workers
};

/// Part of the best throughput that counts as nearly all.
inline constexpr double nearly_all = 0.9;

/// One for each number of workers that was measured at several depths.
std::vector<knee> knees_of(const ladder& from);

/// Throughput of all targets together, as a part of the sum of what each did alone, at the same depth. None unless all
/// were measured.
std::optional<double> scaling_efficiency(const report& run, const series& together);

}  // namespace qd1
