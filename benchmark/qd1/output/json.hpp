// SPDX-License-Identifier: BSL-1.0
// A report as programs read it: fio's json+, with all that qd1 knows beside it under the key "qio"
// (docs/report.schema.json).
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

std::string json(const report& report);

/// Reads what json() wrote, enough to compare and to draw it. Throws usage_error, which names
/// `source`.
report read_json(const std::string& text, const std::string& source);

}  // namespace qd1
