// SPDX-License-Identifier: BSL-1.0
// qd1 reproduce: a published experiment on this machine, and what of it repeats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qd1 {

/// As typed; each is understood after parsing, so that errors can say what would be right.
struct reproduce_arguments {
  std::string experiment;
  std::vector<std::string> paths;
  std::string seconds;
  std::string file_size;
  std::uint64_t seed = 1;
  bool overwrite = false;
  bool allow_tuning = false;
  bool only_plan = false;
  std::string json;
  std::string html;
};

/// Adds the subcommand, which fills `to`.
CLI::App& add_reproduce(CLI::App& program, reproduce_arguments& to);

/// Measures, prints, and answers the exit status. `command_line` is what the report says that it was. Throws
/// usage_error.
int reproduce(const reproduce_arguments& arguments, const std::string& command_line);

}  // namespace qd1
