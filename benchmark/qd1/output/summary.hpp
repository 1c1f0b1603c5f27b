// SPDX-License-Identifier: BSL-1.0
// The first screen of a run: one table, the verdict, and the notes that matter most.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// Whether a report is one that summary() is for: of single transfers, by one process.
bool has_summary(const report& report);

/// At most 23 lines of 80 columns for the usual modes, so that the prompt still fits; fewer columns, more lines. A row
/// for each mode and form; reads, writes and flushed writes side by side.
std::string summary(const report& report);

}  // namespace qd1
