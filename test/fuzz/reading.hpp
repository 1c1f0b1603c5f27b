// What qd1 does with a report that it is given.
#pragma once

#include "compare/comparison.hpp"
#include "compare/gate.hpp"
#include "failure.hpp"
#include "fuzz.hpp"
#include "html/html.hpp"
#include "output/json.hpp"
#include "output/table.hpp"

#include <array>
#include <string>

namespace fuzz {

/// As `qd1 compare` and --gate-vs. Reads it again, too, once it has been written.
inline void use_report(const std::string& text) {
  qd1::report read;
  try {
    read = qd1::read_json(text, "report.json");
  } catch (const qd1::usage_error&) {
    return;
  }
  const qd1::report again = qd1::read_json(qd1::json(read), "what was written of it");
  require(again.series.size() == read.series.size(), "what is written of a report is read again");
  require(!qd1::compare(read, again).text.empty(), "two reports are compared");
  const std::array<qd1::html::named_report, 2> both = {{{"one", &read}, {"other", &again}}};
  require(!qd1::html::render(both).empty() && !qd1::table(read).empty(), "a report is drawn");
  try {
    static_cast<void>(qd1::check_against(qd1::parse_gate("p50<=1.1x"), read, again));
  } catch (const qd1::usage_error&) {
    return;  // it has no series
  }
}

}  // namespace fuzz
