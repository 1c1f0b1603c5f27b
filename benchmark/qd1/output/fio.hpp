// SPDX-License-Identifier: BSL-1.0
// A report in the words of fio's json+, so that what reads fio's output reads ours.
#pragma once

#include "report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace qd1 {

/// The members of the topmost object, one job a series that was measured.
nlohmann::ordered_json fio_output(const report& report);

/// The same of one series alone, for tools that take the jobs of a file for one.
nlohmann::ordered_json fio_output(const report& report, const series& only);

}  // namespace qd1
