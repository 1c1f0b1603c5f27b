// SPDX-License-Identifier: BSL-1.0
// qd1 merge: reports of several runs as one.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qd1 {

struct merge_arguments {
  std::vector<std::string> reports;
  std::string json;
  std::string html;
};

/// Adds the subcommand, which fills `to`.
CLI::App& add_merge(CLI::App& program, merge_arguments& to);

/// Prints, and answers the exit status. `command_line` is what the report says that it was. Throws usage_error.
int merge(const merge_arguments& arguments, const std::string& command_line);

}  // namespace qd1
