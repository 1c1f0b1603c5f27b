// SPDX-License-Identifier: BSL-1.0
// A report in the words of fio's json+, so that what reads fio's output reads ours.
#pragma once

#include "report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace qd1 {

/// The members of the topmost object, one job a series that was measured.
nlohmann::ordered_json fio_output(const report& report);

/// The same of one series alone, for tools that take the jobs of a file for one.
nlohmann::ordered_json fio_output(const report& report, const series& only);

/// One directory for each series that was measured: <directory>/<series>/fio.json. Throws usage_error.
void write_fio_files(const report& report, const std::string& directory);

/// Throws usage_error where it is not there and cannot be made.
void make_fio_directory(const std::string& directory);

}  // namespace qd1
