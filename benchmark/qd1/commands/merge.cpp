// SPDX-License-Identifier: BSL-1.0
#include "commands/merge.hpp"

#include "measure/run.hpp"
#include "merge/merge.hpp"
#include "output/deliver.hpp"
#include "output/json.hpp"
#include "output/text_file.hpp"

#include <CLI/CLI.hpp>

namespace qd1 {

CLI::App& add_merge(CLI::App& program, merge_arguments& to) {
  CLI::App& command = *program.add_subcommand("merge", "Make one report of several, a row a run");
  command.add_option("REPORT", to.reports, "Files that --json wrote, of several machines or times")
      ->required()
      ->expected(2, 1000);
  command.add_option("--json", to.json, "Write the report to this file; - is standard output, without the table");
  command.add_option("--html", to.html, "Write the report as a page, which needs no other file and no network");
  return command;
}

int merge(const merge_arguments& arguments, const std::string& command_line) {
  std::vector<named_run> runs;
  runs.reserve(arguments.reports.size());
  for (const std::string& path : arguments.reports) runs.push_back({path, read_json(read_file(path), path)});
  report all = merged(runs);
  all.command_line = command_line;
  deliver(all, arguments.json, arguments.html);
  return verdict(all);
}

}  // namespace qd1
