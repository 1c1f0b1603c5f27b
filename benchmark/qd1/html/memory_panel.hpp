// SPDX-License-Identifier: BSL-1.0
// The steps of qd1 memory side by side.
#pragma once

#include "panel.hpp"

#include <string>
#include <vector>

namespace qd1::html {

/// The reads, and the writes.
std::vector<panel> panels_of_memory(const report& run);

/// What each came to, and what bound it, in sentences.
std::string verdict_of_memory(const panel& from);

}  // namespace qd1::html
