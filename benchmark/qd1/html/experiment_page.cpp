// SPDX-License-Identifier: BSL-1.0
// The page of a repeated experiment: the answer first, then what it rests on.
#include "document.hpp"
#include "factors_chart.hpp"
#include "html.hpp"
#include "machine.hpp"
#include "markup.hpp"
#include "quantity.hpp"
#include "sections.hpp"
#include "validity.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace qd1::html {
namespace {

// The first that was measured: all are of the same machine.
const report* first_report(const reproduction& of) {
  for (const experiment_part& each : of.parts)
    if (each.not_measured.empty()) return &each.found;
  return nullptr;
}

node experiment_header(const reproduction& of) {
  node found = element("header", {},
                       {element("h1", {}, {std::string(of.about.title)}),
                        element("p", {{"class", "subtitle"}},
                                {fmt::format("Published: {}; {}. Repeated: {} · qd1 {}", of.about.author,
                                             of.about.machine, date_text(of.started), of.version)})});
  if (const report* const first = first_report(of))
    found.add(element("p", {{"class", "subtitle"}}, {machine_summary(first->machine)}));
  if (!of.about.warning.empty()) found.add(element("p", {{"class", "caution"}}, {std::string(of.about.warning)}));
  return found;
}

std::string sign_of(shape::verdict result) {
  switch (result) {
    case shape::verdict::held: return "good";
    case shape::verdict::not_held: return "bad";
    case shape::verdict::not_told: break;
  }
  return "doubtful";
}

node shapes_section(const reproduction& of) {
  node list = element("ul", {{"class", "shapes"}});
  for (const shape& each : of.shapes)
    list.add(element("li", {},
                     {element("b", {{"class", sign_of(each.result)}}, {std::string(name(each.result))}),
                      element("p", {}, {each.claim}), element("p", {{"class", "detail"}}, {each.evidence})}));
  return element("section", {{"class", "details"}}, {element("h2", {}, {"What repeats"}), std::move(list)});
}

node figures_section(const figures& from) {
  node heads = element("tr", {}, {element("th", {}, {""}), element("th", {}, {""})});
  for (const std::string& each : from.columns) heads.add(element("th", {}, {each}));
  node rows = element("tbody");
  for (std::size_t each = 0; each < from.rows.size(); ++each) {
    const figures_row& shown = from.rows[each];
    const std::string where(name(shown.origin));
    node row = element("tr", {{"class", where}},
                       {element("th", {}, {begins_subject(from, each) ? shown.subject : ""}),
                        element("td", {{"class", "origin"}}, {where})});
    for (std::size_t cell = 0; cell < shown.cells.size(); ++cell)
      row.add(element("td", {{"data-label", from.columns[cell]}}, {shown.cells[cell]}));
    rows.add(std::move(row));
  }
  node table =
      element("table", {{"class", "figures published"}}, {element("thead", {}, {std::move(heads)}), std::move(rows)});
  return element("section", {{"class", "details"}},
                 {element("h2", {}, {from.title}), element("div", {{"class", "wide"}}, {std::move(table)})});
}

node incomparable_section(const reproduction& of) {
  node list = element("ul");
  for (const std::string& each : of.incomparable) list.add(element("li", {}, {each}));
  return element("section", {{"class", "notes"}},
                 {element("h2", {}, {"What cannot be compared here"}), std::move(list)});
}

// Folded, so that the answer is not lost among the figures that it rests on.
node part_section(const experiment_part& from) {
  node found = element("details", {{"class", "part"}},
                       {element("summary", {}, {from.name}), element("p", {{"class", "detail"}}, {from.purpose})});
  if (!from.not_measured.empty()) {
    found.add(element("p", {{"class", "bad"}}, {"Not measured: " + from.not_measured}));
    return found;
  }
  const named_report only[] = {{"", &from.found}};
  const std::vector<panel> panels = panels_to_show(from.found);
  found.add(answers(panels, only));
  for (const panel& each : panels) found.add(details(each, only));
  found.add(notes(only));
  return found;
}

std::string experiment_title(const reproduction& of) {
  return fmt::format("{}{}: {}", of.complete ? "" : "INCOMPLETE – ", of.about.name, date_text(of.started));
}

}  // namespace

std::string render(const reproduction& of) {
  node main = element("main", {}, {experiment_header(of)});
  main.add(factors_chart(of));
  main.add(shapes_section(of));
  for (const figures& each : of.tables) main.add(figures_section(each));
  main.add(incomparable_section(of));
  main.add(element("h2", {{"class", "measurements"}}, {"Measurements"}));
  for (const experiment_part& each : of.parts) main.add(part_section(each));
  if (const report* const first = first_report(of)) {
    const named_report only[] = {{"", first}};
    main.add(advice_block(only));
    main.add(machine_block(only));
  }
  nodes contents;
  if (!of.complete)
    contents.push_back(element("div", {{"class", "banner incomplete"}},
                               {element("strong", {}, {"INCOMPLETE"}), element("p", {}, {"It was interrupted."})}));
  contents.push_back(std::move(main));
  return document(experiment_title(of), of.version, "", std::move(contents));
}

}  // namespace qd1::html
