// SPDX-License-Identifier: BSL-1.0
// The series of a profile in the rows and groups in which they are shown.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

struct profile_group {
  struct row {
    std::string name;                  ///< "SEQ1M Q8T1"
    std::vector<const series*> parts;  ///< one; of a mix the reads and the writes
  };
  std::string title;  ///< "Read", "Write", "Mix, 70 % reads"
  std::vector<row> rows;
};

/// In the order of the report, which has to be one of a profile.
std::vector<profile_group> profile_groups(const report& run);

}  // namespace qd1
