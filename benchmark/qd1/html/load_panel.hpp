// SPDX-License-Identifier: BSL-1.0
// The steps of a ladder side by side.
#pragma once

#include "panel.hpp"

#include <vector>

namespace qd1::html {

/// One for each ladder of the run.
std::vector<panel> panels_of_loads(const report& run);

/// What the ladder shows, in a sentence: where more depth stops paying off, and what that costs.
std::string verdict_of_load(const panel& from);

}  // namespace qd1::html
