// SPDX-License-Identifier: BSL-1.0
// qd1 depth: many transfers in flight, and what each further one brings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qd1 {

/// As typed; each is understood after parsing, so that errors can say what would be right.
struct depth_arguments {
  std::vector<std::string> paths;
  std::vector<std::string> modes = {"direct"};
  std::uint64_t reads = 100;
  std::string order = "random";
  std::vector<std::uint64_t> depths = {1, 2, 4, 8, 16, 32, 64, 128};
  std::vector<std::uint64_t> workers = {1};
  bool each_alone = false;
  std::string block = "4k";
  std::string file_size;
  std::string temperature = "warm";
  std::string durability = "accepted";
  std::string seconds = "5s";
  std::uint64_t rounds = 5;
  bool untimed = false;
  bool pinned = false;
  std::string engine = "auto";
  std::string waiting = "sleep";
  bool polled = false;
  bool registered = false;
  std::uint64_t seed = 1;
  bool overwrite = false;
  std::string json;
  std::string html;
};

/// Adds the subcommand, which fills `to`.
CLI::App& add_depth(CLI::App& program, depth_arguments& to);

/// Measures, prints, and answers the exit status. `command_line` is what the report says that it was. Throws
/// usage_error.
int depth(const depth_arguments& arguments, const std::string& command_line);

}  // namespace qd1
