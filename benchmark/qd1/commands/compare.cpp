// SPDX-License-Identifier: BSL-1.0
// qd1 compare: reports beside each other.
#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "compare/comparison.hpp"
#include "html/html.hpp"
#include "output/color.hpp"
#include "output/wording.hpp"
#include "text/printable.hpp"

#include <fmt/format.h>

#include <memory>

namespace qd1 {
namespace {

struct compare_state {
  std::vector<std::string> paths;
  output_file page;
};

int compare_all(compare_state& own) {
  const std::vector<report> runs = read_reports(own.paths);
  own.page.open();
  exit_status status = exit_pass;
  for (std::size_t each = 1; each < runs.size(); ++each) {
    const comparison found = compare(runs.front(), runs[each]);
    if (!own.page.is_standard_output())
      fmt::print("{} -> {}\n\n{}\n", printable_line(own.paths.front()), printable_line(own.paths[each]),
                 colored(narrowed(printable(found.text))));
    status = worst(status, found.status);
  }
  if (!own.page.is_wanted()) return status;
  std::vector<html::named_report> named;
  for (std::size_t each = 0; each < runs.size(); ++each) named.push_back({own.paths[each], &runs[each]});
  own.page.write(html::render(named));
  return status;
}

}  // namespace

command compare_command() {
  const auto own = std::make_shared<compare_state>();
  command made{"compare", "Compare reports; the first is the baseline", {}, {}};
  add_reports(made.options, own->paths);
  add_format(made.options, "--html", own->page,
             "the curves of all, and a table of all series that sorts by any column,");
  made.run = [own](const std::string&) { return compare_all(*own); };
  return made;
}

}  // namespace qd1
