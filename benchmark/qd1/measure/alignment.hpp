// SPDX-License-Identifier: BSL-1.0
// Whether the block of a transfer suits direct I/O on a file.
#pragma once

#include "report.hpp"
#include <qio/qio.hpp>

namespace qd1 {

/// Throws usage_error, which names a valid value.
void require_alignment(const work& work, const qio::alignment& needed);

}  // namespace qd1
