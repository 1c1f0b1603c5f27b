// SPDX-License-Identifier: BSL-1.0
#include "cells.hpp"

#include <utility>

namespace qd1::html {

node table(std::string_view name, std::string_view caption, const std::vector<std::string>& columns, nodes rows) {
  node head = element("tr", {{"role", "row"}});
  for (const std::string& each : columns) head.add(element("th", {{"scope", "col"}, {"role", "columnheader"}}, {each}));
  return element("table", {{"class", std::string(name)}, {"role", "table"}},
                 {element("caption", {}, {caption}), element("thead", {{"role", "rowgroup"}}, {std::move(head)}),
                  element("tbody", {{"role", "rowgroup"}}, std::move(rows))});
}

node cell(std::string_view column, nodes contents, std::string_view kind) {
  return element("td", {{"role", "cell"}, {"data-label", std::string(column)}, {"class", std::string(kind)}},
                 std::move(contents));
}

}  // namespace qd1::html
