// SPDX-License-Identifier: BSL-1.0
// A report to where it was asked for.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// Prints the table, or the JSON alone if `json_path` is "-", and writes the files that are named; empty: none. Throws
/// usage_error.
void deliver(const report& report, const std::string& json_path, const std::string& html_path);

}  // namespace qd1
