// SPDX-License-Identifier: BSL-1.0
// Which series a run consists of.
#pragma once

#include "measure/run.hpp"
#include "report.hpp"

#include <cstdint>
#include <vector>

namespace qd1 {

/// Mode by mode: what one mode leaves in the page cache does not disturb the next. Throws usage_error where a working
/// set does not fit the file, of which `bytes` are used.
std::vector<work> plan(const run_request& request, const std::vector<operation>& operations, std::uint64_t bytes);

}  // namespace qd1
