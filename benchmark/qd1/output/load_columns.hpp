// SPDX-License-Identifier: BSL-1.0
// The columns of tables of loads, and what such a table says about all of its rows.
#pragma once

#include "findings/ladders.hpp"
#include "output/wording.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

struct load_column {
  std::string heading;
  std::size_t width;
  int rank;  ///< those of a higher one are left out first where the page is narrow
  std::function<std::string(const series&)> text;
};

/// What some of the columns are.
inline constexpr const char* load_legend =
    "busy: fraction of their time that the workers computed. dev/op: device operations per transfer.";

/// A percentile in microseconds, or "n/a".
std::string quantile_cell(const series& of, double fraction);

std::vector<load_column> load_columns(const ladder& rows, const report& run);
/// Those of figures and percentiles in tables of short memory.
std::vector<load_column> shortage_columns(const report& run);
/// Those that the page has room for beside labels of that width.
std::vector<load_column> fitting_columns(std::vector<load_column> all, std::size_t label_width);

/// "VERIFIED direct: …, all steps together", where the rows are `called` "all steps"; empty unless each row is.
std::string verification_text(const ladder& rows, std::string_view called);
/// "Served by io_uring: …"
std::string served_text(const ladder& rows);
/// What applies to one row only: remarks, and the verification of direct unless `all_verified`.
std::string row_remarks(const series& of, const report& run, const remark_counts& among, bool all_verified);

}  // namespace qd1
