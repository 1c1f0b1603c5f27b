// SPDX-License-Identifier: BSL-1.0
// One line on standard error that says what is being done, where a person looks on; else nothing.
#pragma once

#include <string_view>

namespace qd1::progress {

void show(std::string_view what);

/// Leaves the line empty.
void clear();

}  // namespace qd1::progress
