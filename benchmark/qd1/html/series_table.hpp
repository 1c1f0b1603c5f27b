// SPDX-License-Identifier: BSL-1.0
// Every series of every report as one table, which sort_table.js sorts.
#pragma once

#include "html.hpp"
#include "markup.hpp"

#include <span>

namespace qd1::html {

/// A row for each series and report: series of the same work one below the other, in the order of the reports.
node series_table(std::span<const named_report> runs);

}  // namespace qd1::html
