// SPDX-License-Identifier: BSL-1.0
// qd1 compare: reports beside each other.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qd1 {

struct compare_arguments {
  std::vector<std::string> reports;
  std::string html;
};

/// Adds the subcommand, which fills `to`.
CLI::App& add_compare(CLI::App& program, compare_arguments& to);

/// Prints, and answers the exit status. Throws usage_error.
int compare(const compare_arguments& arguments);

}  // namespace qd1
