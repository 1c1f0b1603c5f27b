// SPDX-License-Identifier: BSL-1.0
#include "commands/memory.hpp"

#include "measure/interruption.hpp"
#include "measure/run.hpp"
#include "memory/memory.hpp"
#include "output/deliver.hpp"
#include "units.hpp"

#include <CLI/CLI.hpp>

namespace qd1 {
namespace {

memory_request understood(const memory_arguments& from, const std::string& command_line) {
  memory_request request;
  request.path = from.path;
  if (!from.memory.empty()) request.memory = parse_size("--memory", from.memory);
  request.block = parse_size("--block", from.block);
  request.seconds = parse_seconds("--time", from.seconds);
  request.seed = from.seed;
  request.overwrite = from.overwrite;
  request.command_line = command_line;
  return request;
}

}  // namespace

CLI::App& add_memory(CLI::App& program, memory_arguments& to) {
  CLI::App& command =
      *program.add_subcommand("memory", "Measure buffered transfers while memory is enough, short, or full");
  command.add_option("PATH", to.path,
                     "A file, a directory or a block device. Default: a temporary file in the current directory.\n"
                     "A file that does not exist is made, and kept for the next run.");
  command.add_option("--memory", to.memory,
                     "Bytes that are left for the file's pages; files are parts and multiples of it. Default: an "
                     "eighth of what is\navailable, 1GiB at most");
  command.add_option("--block", to.block, "Bytes of a transfer; offsets are multiples of it")->capture_default_str();
  command.add_option("--time", to.seconds, "Time of a step, at most; cold ones end when each block has been read")
      ->capture_default_str();
  command.add_option("--seed", to.seed, "Of the offsets and the data")->capture_default_str();
  command.add_flag("--overwrite", to.overwrite, "Destroy the contents of PATH, though qd1 has not made it");
  command.add_option("--json", to.json, "Write the report to this file; - is standard output, without the table");
  command.add_option("--html", to.html, "Write the report as a page, which needs no other file and no network");
  return command;
}

int memory(const memory_arguments& arguments, const std::string& command_line) {
  const memory_request request = understood(arguments, command_line);
  heed_interrupts();
  const report found = measure_memory(request);
  deliver(found, arguments.json, arguments.html);
  return verdict(found);
}

}  // namespace qd1
