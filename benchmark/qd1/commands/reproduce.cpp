// SPDX-License-Identifier: BSL-1.0
#include "commands/reproduce.hpp"

#include "html/html.hpp"
#include "measure/interruption.hpp"
#include "output/reproduction.hpp"
#include "output/text_file.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/reproduce.hpp"
#include "units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace qd1 {
namespace {

reproduce_request understood(const reproduce_arguments& from, const std::string& command_line) {
  reproduce_request request;
  request.experiment = from.experiment;
  request.paths = from.paths;
  if (!from.seconds.empty()) request.seconds = parse_seconds("--time", from.seconds);
  if (!from.file_size.empty()) request.file_size = parse_size("--file-size", from.file_size);
  request.seed = from.seed;
  request.overwrite = from.overwrite;
  request.allow_tuning = from.allow_tuning;
  request.command_line = command_line;
  return request;
}

}  // namespace

CLI::App& add_reproduce(CLI::App& program, reproduce_arguments& to) {
  CLI::App& command = *program.add_subcommand("reproduce", "Repeat a published experiment, and say what of it repeats");
  std::string names;
  for (const experiment* each : experiments())
    names += fmt::format("\n{}: {} ({})", each->about.name, each->about.title, each->about.author);
  command.add_option("EXPERIMENT", to.experiment, "One of" + names)->required();
  command.add_option("PATH", to.paths,
                     "Files, directories or block devices, one for each drive. Default: temporary files in the current "
                     "directory.\nDevices and files that qd1 has not made are read only, unless --overwrite is given");
  command.add_option("--time", to.seconds, "Time of a measurement. Default: as published");
  command.add_option("--file-size", to.file_size,
                     "Bytes of each file. Default: 1GiB, or a quarter of the memory or the disk that is free");
  command.add_flag(
      "--allow-tuning", to.allow_tuning,
      "Compare I/O schedulers, and reads with and without read-ahead, too: each is set for a while, and the "
      "old one put back, also after Ctrl-C or a crash. Takes root");
  command.add_flag("--dry-run", to.only_plan, "Only say what would be done, and how long it would take");
  command.add_option("--seed", to.seed, "Of the offsets and the data")->capture_default_str();
  command.add_flag("--overwrite", to.overwrite, "Destroy the contents of PATH, though qd1 has not made it");
  command.add_option("--json", to.json, "Write the report to this file; - is standard output, without the tables");
  command.add_option("--html", to.html, "Write the report as a page, which needs no other file and no network");
  return command;
}

int reproduce(const reproduce_arguments& arguments, const std::string& command_line) {
  const reproduce_request request = understood(arguments, command_line);
  if (arguments.only_plan) {
    for (const std::string& line : planned_reproduction(request).plan) fmt::print("{}\n", line);
    return exit_pass;
  }
  heed_interrupts();
  const reproduction found = reproduce(request);
  const bool json_only = arguments.json == "-";
  fmt::print("{}", json_only ? json(found) : text(found));
  if (!arguments.json.empty() && !json_only) write_file(arguments.json, json(found));
  if (!arguments.html.empty()) write_file(arguments.html, html::render(found));
  return verdict(found);
}

}  // namespace qd1
