// SPDX-License-Identifier: BSL-1.0
// What tables of figures are made of.
#pragma once

#include "markup.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace qd1::html {

/// A table that keeps its semantics when its rows become cards: browsers drop them along with `display: table`, so the
/// roles are explicit.
node table(std::string_view name, std::string_view caption, const std::vector<std::string>& columns, nodes rows);

/// `column`: its heading, which a card repeats.
node cell(std::string_view column, nodes contents, std::string_view kind = "");

}  // namespace qd1::html
