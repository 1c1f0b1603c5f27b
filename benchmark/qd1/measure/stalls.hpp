// SPDX-License-Identifier: BSL-1.0
// How long a context's thread stood still while a series was measured.
#pragma once

#include "report.hpp"
#include <qio/statistics.hpp>

namespace qd1 {

/// What happened on a context between two calls of its stalls(). If the longest wait was before the first one, those
/// between the two are known to a power of two of microseconds, and `longest` is the end of that range.
loop_stall stall_between(const qio::stall_statistics& before, const qio::stall_statistics& after);

}  // namespace qd1
