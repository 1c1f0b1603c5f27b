// SPDX-License-Identifier: BSL-1.0
// That no output of a command replaces what it measures, what it reads, or another output.
#pragma once

#include "options/options.hpp"

#include <string>
#include <vector>

namespace qd1 {

/// A file that was named on the command line, and the option that named it.
struct named_file {
  const option* by;
  std::string path;
};

/// Throws usage_error for an empty name, and for an output that is also another of the files: by whatever name, through
/// links, and if neither exists yet.
void require_separate_files(const std::vector<named_file>& files);

}  // namespace qd1
