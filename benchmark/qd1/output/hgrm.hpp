// SPDX-License-Identifier: BSL-1.0
// A distribution as the HdrHistogram plotter reads it.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// In microseconds, over a ladder of percentiles that depends on nothing but the number of samples, so that files of
/// several runs line up.
std::string hgrm(const latency& latency);

/// One file for each series that was measured: <prefix>-<series>.hgrm. Throws usage_error.
void write_hgrm_files(const report& report, const std::string& prefix);

}  // namespace qd1
