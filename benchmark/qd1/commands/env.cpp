// SPDX-License-Identifier: BSL-1.0
#include "commands/env.hpp"

#include "failure.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/describe.hpp>
#include <qd1/machine/find.hpp>
#include <qd1/machine/json.hpp>

#include <fstream>

namespace qd1 {
namespace {

std::string as_json(const machine_facts& machine) {
  return nlohmann::json{{"machine", machine}, {"advice", advise(machine)}}.dump(2) + '\n';
}

}  // namespace

CLI::App& add_env(CLI::App& program, env_arguments& to) {
  CLI::App& command = *program.add_subcommand("env", "Show the machine, and what about it spoils a measurement");
  command.add_option("PATH", to.path, "A file, a directory or a block device; need not exist")->capture_default_str();
  command.add_option("--json", to.json, "Write JSON to this file; - is standard output, without the text");
  return command;
}

int env(const env_arguments& arguments) {
  const machine_facts machine = find_machine(arguments.path);
  if (arguments.json == "-") {
    fmt::print("{}", as_json(machine));
    return exit_pass;
  }
  fmt::print("{}", describe(machine));
  if (arguments.json.empty()) return exit_pass;
  std::ofstream file(arguments.json, std::ios::binary);
  file << as_json(machine);
  if (!file.flush()) throw usage_error(arguments.json + ": cannot be written");
  return exit_pass;
}

}  // namespace qd1
