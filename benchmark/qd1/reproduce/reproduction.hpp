// SPDX-License-Identifier: BSL-1.0
// What came of repeating a published experiment: plain data, as a report is, printed by the terminal, JSON and HTML
// writers.
#pragma once

#include "../report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

/// Who published what.
struct publication {
  std::string_view name;     ///< by which the command line knows it
  std::string_view title;    ///< what was asked
  std::string_view author;   ///< with the year
  std::string_view machine;  ///< on which it was measured
  std::string_view warning;  ///< what has to be known of the published figures; empty: nothing
};

/// Where a row of figures comes from.
enum class origin : std::uint8_t { published, withdrawn, corrected, here, refused };

template <>
struct enumerators<origin> {
  static constexpr std::string_view names[] = {"published", "withdrawn", "corrected", "here", "refused"};
};

struct figures_row {
  std::string subject;  ///< the same for rows that belong together
  qd1::origin origin = origin::here;
  std::vector<std::string> cells;  ///< as many as the table has columns; empty: unknown
};

/// Published figures and those of this machine in one table. Its columns name their units.
struct figures {
  std::string title;
  std::vector<std::string> columns;
  std::vector<figures_row> rows;
};

/// Whether the row is the first of its subject, which is printed once.
inline bool begins_subject(const figures& table, std::size_t row) {
  return row == 0 || table.rows[row].subject != table.rows[row - 1].subject;
}

/// What the publication shows of how figures relate, whatever the machine.
struct shape {
  enum class verdict : std::uint8_t { held, not_held, not_told };
  std::string claim;
  verdict result = verdict::not_told;
  std::string evidence;  ///< this machine's figures; of not_told: why it cannot be told
  /// What the claim is about, as one figure divided by another: as published, and here. None: it is no such factor.
  std::optional<double> published = {}, found = {};
};

template <>
struct enumerators<shape::verdict> {
  static constexpr std::string_view names[] = {"held", "did not hold", "cannot be told"};
};

/// What a program that looks at no result would have taken for latencies.
struct unchecked_calls {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::string error;     ///< of the first that failed
  qd1::latency latency;  ///< of all calls, failed ones included
};

/// A measurement of the experiment.
struct experiment_part {
  std::string name;
  std::string purpose;
  report found;
  std::optional<unchecked_calls> unchecked = {};  ///< of the part that repeats a mistake, and is refused for that
  std::string not_measured = {};                  ///< why it could not be; empty: it was
};

struct reproduction {
  publication about;
  std::string version;  ///< of qd1
  std::string started;  ///< ISO 8601, UTC
  std::string command_line;
  std::vector<std::string> plan;  ///< what was said beforehand, a line each
  std::vector<figures> tables;
  std::vector<shape> shapes;
  std::vector<std::string> incomparable;  ///< what cannot be compared here, and why
  std::vector<experiment_part> parts;
  bool complete = true;  ///< false: interrupted
};

}  // namespace qd1
