// SPDX-License-Identifier: BSL-1.0
// The kind of a report that does not store it: those of earlier versions.
#pragma once

#include "report.hpp"

namespace qd1 {

/// By its series: a load other than one transfer at a time, or memory that was made short.
report_kind kind_by_series(const report& read);

}  // namespace qd1
