// SPDX-License-Identifier: BSL-1.0
// Conditions on a run, checked automatically.
#pragma once

#include "failure.hpp"
#include "figures.hpp"
#include "report.hpp"

#include <span>
#include <string>
#include <vector>

namespace qd1 {

/// "direct.read.p99<=200us", "p50<=1.10x", "SEQ1M.Q8T1.read.MB/s>=1000": which series (any words of mode, operation,
/// form, temperature, durability, order, row of a profile, "mix" or "unmixed"; none: all), which figure, and what it
/// must be.
struct gate {
  std::string text;
  std::vector<std::string> words;
  std::string metric;
  bool at_most = true;
  double limit = 0;  ///< ns, operations a second, or a ratio
  bool relative = false;
};

/// `percentiles`: those that the report will have. Throws usage_error, also for a word that selects no series of any
/// run.
gate parse_gate(const std::string& text, const std::vector<double>& percentiles = standard_percentiles());

/// Throws usage_error if the gate matches none of the works.
void require_meant(const gate& gate, std::span<const work> works);

struct gate_result {
  exit_status status;
  std::string text;  ///< a line: the gate, what was found, and the verdict
};

/// One result for each series that the gate matches. A figure whose interval contains the limit, or that has too few
/// samples or no interval, or is of an interrupted run, is inconclusive. Throws usage_error if a complete run has no
/// series that the gate matches.
std::vector<gate_result> check(const gate& gate, const report& run);
/// The same for figures of `run` as multiples of those of `base`, by how the rounds of each differ. Invalid if compare
/// gives no verdict.
std::vector<gate_result> check_against(const gate& gate, const report& base, const report& run);

/// invalid before fail before inconclusive before pass.
exit_status worst(exit_status a, exit_status b);

}  // namespace qd1
