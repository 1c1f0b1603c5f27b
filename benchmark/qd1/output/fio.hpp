// SPDX-License-Identifier: BSL-1.0
// A report in the format of fio's json+, so that tools that read fio's output read ours.
#pragma once

#include "report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace qd1 {

/// The members of the topmost object, with one job for each series that was measured.
nlohmann::ordered_json fio_output(const report& report);

/// The same for one series alone, for tools that treat the jobs of a file as one.
nlohmann::ordered_json fio_output(const report& report, const series& only);

/// One directory for each series that was measured: <directory>/<series>/fio.json. Throws usage_error.
void write_fio_files(const report& report, const std::string& directory);

/// Throws usage_error if it does not exist and cannot be created. Creates nothing: what is refused later leaves
/// nothing.
void require_fio_directory(const std::string& directory);

}  // namespace qd1
