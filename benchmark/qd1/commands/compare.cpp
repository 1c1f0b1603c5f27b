// SPDX-License-Identifier: BSL-1.0
#include "commands/compare.hpp"

#include "compare/comparison.hpp"
#include "compare/gate.hpp"
#include "html/html.hpp"
#include "output/json.hpp"
#include "output/text_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace qd1 {

CLI::App& add_compare(CLI::App& program, compare_arguments& to) {
  CLI::App& command =
      *program.add_subcommand("compare", "Compare reports; the first is what the others are held against");
  command.add_option("REPORT", to.reports, "Files that --json wrote")->required()->expected(2, 1000);
  command.add_option("--html", to.html, "Write a page with the curves of all to this file");
  return command;
}

int compare(const compare_arguments& arguments) {
  std::vector<report> runs;
  runs.reserve(arguments.reports.size());
  for (const std::string& path : arguments.reports) runs.push_back(read_json(read_file(path), path));
  exit_status status = exit_pass;
  for (std::size_t each = 1; each < runs.size(); ++each) {
    const comparison found = compare(runs.front(), runs[each]);
    fmt::print("{} -> {}\n\n{}\n", arguments.reports.front(), arguments.reports[each], found.text);
    status = worst(status, found.status);
  }
  if (arguments.html.empty()) return status;
  std::vector<html::named_report> named;
  for (std::size_t each = 0; each < runs.size(); ++each) named.push_back({arguments.reports[each], &runs[each]});
  write_file(arguments.html, html::render(named));
  return status;
}

}  // namespace qd1
