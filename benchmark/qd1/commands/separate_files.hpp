// SPDX-License-Identifier: BSL-1.0
// That no output of a command replaces what it measures, what it reads, or another output.
#pragma once

#include "options/parse.hpp"

#include <vector>

namespace qd1 {

/// Throws usage_error for an empty name, and for an output that is also another of the files: by whatever name, through
/// links, and if neither exists yet.
void require_separate_files(const std::vector<named_file>& files);

}  // namespace qd1
