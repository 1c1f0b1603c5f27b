// Reads a report as qd1 does.
#pragma once

#include "compare/comparison.hpp"
#include "compare/gate.hpp"
#include "failure.hpp"
#include "fuzz.hpp"
#include "html/html.hpp"
#include "merge/merge.hpp"
#include "output/json.hpp"
#include "output/printable.hpp"
#include "output/table.hpp"

#include <array>
#include <string>
#include <string_view>

namespace fuzz {

inline bool shows_only(std::string_view text) {
  while (!text.empty()) {
    const qd1::character next = qd1::first_character(text);
    if (next.bytes == 0 || (qd1::is_command(next.code) && next.code != '\n' && next.code != '\t')) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

/// As `qd1 compare`, `qd1 merge` and --gate-vs do. Also writes the report and reads it back.
inline void use_report(const std::string& text) {
  qd1::report read;
  try {
    read = qd1::read_json(text, "report.json");
  } catch (const qd1::usage_error&) {
    return;
  }
  const qd1::report again = qd1::read_json(qd1::json(read), "the report read back");
  require(again.series.size() == read.series.size(), "a report survives writing and reading");
  require(!qd1::compare(read, again).text.empty(), "two reports can be compared");
  try {
    const qd1::report merged = qd1::merged({{"one", read}, {"other", again}});
    require(!qd1::table(merged).empty(), "a merged report can be printed");
  } catch (const qd1::usage_error&) {
    // Too many samples, or no series.
  }
  const std::array<qd1::html::named_report, 2> both = {{{"one", &read}, {"other", &again}}};
  require(!qd1::html::render(both).empty(), "a report can be rendered");
  require(shows_only(qd1::table(read)), "no text of a report commands a terminal");
  try {
    static_cast<void>(qd1::check_against(qd1::parse_gate("p50<=1.1x"), read, again));
  } catch (const qd1::usage_error&) {
    return;  // it has no such series
  }
}

}  // namespace fuzz
