// SPDX-License-Identifier: BSL-1.0
// qd1 run: measures, and prints what was found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qd1 {

/// As typed; each is understood after parsing, so that errors can say what would be right.
struct run_arguments {
  std::string path;
  std::vector<std::string> modes = {"direct", "cached", "mapped"};
  std::vector<std::string> operations;
  std::string block = "4k";
  std::string file_size;
  std::vector<std::string> reads = {"warm"};
  std::vector<std::string> writes = {"accepted", "flushed"};
  std::vector<std::string> advice = {"normal"};
  std::vector<std::string> working_sets;
  double rate = 0;
  bool poisson = false;
  std::uint64_t samples = 1'000'000;
  std::string seconds = "5s";
  std::uint64_t rounds = 20;
  std::string turns;
  std::string engine = "auto";
  std::uint64_t seed = 1;
  bool overwrite = false;
  std::string json;
  std::string html;
  std::string hgrm;
  std::string fio;
  std::vector<std::string> gates;
  std::vector<std::string> gates_against;  ///< a report, then the gate
};

/// Adds the subcommand, which fills `to`.
CLI::App& add_run(CLI::App& program, run_arguments& to);

/// Measures, prints, and answers the exit status. `command_line` is what the report says that it was. Throws
/// usage_error.
int run(const run_arguments& arguments, const std::string& command_line);

}  // namespace qd1
