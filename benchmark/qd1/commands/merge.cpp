// SPDX-License-Identifier: BSL-1.0
// qd1 merge: reports of several runs as one.
#include "merge/merge.hpp"

#include "commands/commands.hpp"
#include "commands/common.hpp"

#include <memory>

namespace qd1 {
namespace {

struct merge_state {
  std::vector<std::string> paths;
  report_options report;
};

}  // namespace

command merge_command() {
  const auto own = std::make_shared<merge_state>();
  command made{"merge", "Combine several reports into one, with a row for each", {}, {}};
  add_reports(made.options, own->paths);
  own->report.declare(made.options);
  made.run = [own](const std::string& command_line) {
    std::vector<report> reports = read_reports(own->paths);
    own->report.prepare(percentiles_of(reports.front().settings));
    std::vector<named_run> runs;
    runs.reserve(reports.size());
    for (std::size_t each = 0; each < reports.size(); ++each)
      runs.push_back({own->paths[each], std::move(reports[each])});
    report all = merged(runs);
    all.command_line = command_line;
    return own->report.finish(all);
  };
  return made;
}

}  // namespace qd1
