// Reads a report as qd1 does, and makes of it all that qd1 makes of reports.
#pragma once

#include "compare/comparison.hpp"
#include "compare/gate.hpp"
#include "failure.hpp"
#include "fuzz.hpp"
#include "html/html.hpp"
#include "merge/merge.hpp"
#include "output/hgrm.hpp"
#include "output/json.hpp"
#include "output/printable.hpp"
#include "output/table.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace qd1 {
std::string csv(const report& report);  // output/csv.cpp
}

namespace fuzz {

inline bool shows_only(std::string_view text) {
  while (!text.empty()) {
    const qd1::character next = qd1::first_character(text);
    if (next.bytes == 0 || (qd1::is_command(next.code) && next.code != '\n' && next.code != '\t')) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

inline void write_and_read(const qd1::report& read, const qd1::report&) {
  const qd1::report again = qd1::read_json(qd1::json(read), "the report read back");
  require(again.series.size() == read.series.size(), "a report survives writing and reading");
}

inline void compare_both_ways(const qd1::report& read, const qd1::report& other) {
  require(shows_only(qd1::compare(read, other).text), "a comparison commands no terminal");
  require(shows_only(qd1::compare(other, read).text), "a comparison commands no terminal");
}

inline void check_gates(const qd1::report& read, const qd1::report& other) {
  for (const qd1::report* base : {&read, &other}) {
    try {
      static_cast<void>(qd1::check_against(qd1::parse_gate("p50<=1.1x"), *base, read));
      static_cast<void>(qd1::check(qd1::parse_gate("p99<=1ms"), read));
    } catch (const qd1::usage_error&) {
      // it has no such series
    }
  }
}

inline void merge(const qd1::report& read, const qd1::report& other) {
  qd1::report second = other;
  second.runs.clear();  // else they are of the same run
  qd1::report merged;
  try {
    merged = qd1::merged({{"one", read}, {"other", second}, {"third", second}});
  } catch (const qd1::usage_error&) {
    return;  // too many samples, or no series
  }
  require(shows_only(qd1::table(merged)), "no text of a merged report commands a terminal");
  require(!qd1::html::render(merged).empty(), "a merged report can be rendered");
  require(!qd1::csv(merged).empty(), "a merged report can be exported");
  for (const qd1::series& each : merged.series)
    if (each.measured()) require(!qd1::hgrm(each.latency).empty(), "a merged series can be exported");
  static_cast<void>(qd1::json(merged));
}

inline void render(const qd1::report& read, const qd1::report& other) {
  const std::array<qd1::html::named_report, 2> both = {{{"one", &read}, {"other", &other}}};
  require(!qd1::html::render(both).empty(), "reports can be rendered beside each other");
}

inline void render_alone(const qd1::report& read, const qd1::report&) {
  require(!qd1::html::render(read).empty(), "a report can be rendered");
}

inline void print(const qd1::report& read, const qd1::report&) {
  require(shows_only(qd1::table(read)), "no text of a report commands a terminal");
}

/// What is made of a report that was read, perhaps with one that is like it.
inline constexpr std::array uses = {&write_and_read, &compare_both_ways, &check_gates, &merge,
                                    &render,         &render_alone,      &print};
/// Those that take less time than reading it.
inline constexpr std::array short_uses = {&compare_both_ways, &check_gates, &print};

/// All of it. Returns for text that is refused.
inline void use_report(const std::string& text) {
  qd1::report read;
  try {
    read = qd1::read_json(text, "report.json");
  } catch (const qd1::usage_error&) {
    return;
  }
  for (const auto& use : uses) use(read, read);
}

}  // namespace fuzz
