// SPDX-License-Identifier: BSL-1.0
// The rows of a profile side by side: what reads, what writes, what does both.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

#include <span>
#include <string>
#include <vector>

namespace qd1::html {

bool shows_profile(std::span<const named_report> runs);

/// One for each group: reads, writes, mixes.
std::vector<panel> panels_of_profile(const report& run);

/// Up to how many bytes and operations a second, in a sentence.
std::string verdict_of_profile(const panel& from);

/// Throughput, percentiles and what else pages have beside them, of each row; of a mix also both parts together.
node profile_table(const panel& from, const report& run);

}  // namespace qd1::html
