// SPDX-License-Identifier: BSL-1.0
// What a run prints meanwhile, and at its end.
#pragma once

#include "report.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace qd1 {

/// A line for each series, from the rounds that are done.
std::string provisional_table(std::uint64_t done, std::uint64_t of, const std::vector<series>& found);

/// Remarks that several series share, each once, with the series.
std::string shared_remarks(const report& report);

/// The verdict in two sentences: what was found, and whether it may be believed.
std::string verdict_text(const report& report);

}  // namespace qd1
