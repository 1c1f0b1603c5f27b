// SPDX-License-Identifier: BSL-1.0
// What qd1 run --detect decided.
#pragma once

#include "../report.hpp"
#include "markup.hpp"

namespace qd1::html {

/// A table with a row for each pair of series; empty for a report without detections.
node detections(const report& run);

}  // namespace qd1::html
