// SPDX-License-Identifier: BSL-1.0
// What reports look like, for programs that read them.
#pragma once

#include <string>

namespace qd1 {

/// docs/report.schema.json
std::string report_schema();

/// docs/experiment.schema.json
std::string experiment_schema();

}  // namespace qd1
