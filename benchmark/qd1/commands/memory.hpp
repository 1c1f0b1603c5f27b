// SPDX-License-Identifier: BSL-1.0
// qd1 memory: buffered transfers while memory is enough, short, or full.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace qd1 {

/// As typed; each is understood after parsing, so that errors can say what would be right.
struct memory_arguments {
  std::string path;
  std::string memory;
  std::string block = "8k";
  std::string seconds = "10s";
  std::uint64_t seed = 1;
  bool overwrite = false;
  std::string json;
  std::string html;
};

/// Adds the subcommand, which fills `to`.
CLI::App& add_memory(CLI::App& program, memory_arguments& to);

/// Measures, prints, and answers the exit status. `command_line` is what the report says that it was. Throws
/// usage_error.
int memory(const memory_arguments& arguments, const std::string& command_line);

}  // namespace qd1
