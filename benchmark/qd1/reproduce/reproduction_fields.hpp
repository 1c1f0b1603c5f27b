// SPDX-License-Identifier: BSL-1.0
// The members of a repeated experiment by name. JSON output and docs/experiment.schema.json come from here.
#pragma once

#include "fields/fields.hpp"
#include "reproduce/reproduction.hpp"

#include <optional>
#include <tuple>

namespace qd1 {

/// A report as a part of another document.
struct embedded_report {
  const qd1::report* found;
};

template <>
struct fields<publication> {
  using self = publication;
  static constexpr auto name = "publication";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"name", &self::name, "by which the command line knows it"}, member{"title", &self::title},
                 member{"author", &self::author, "with the year"},
                 member{"machine", &self::machine, "on which the published figures were measured"},
                 member{"warning", &self::warning, "about the published figures; empty: nothing"}};
};

template <>
struct fields<figures_row> {
  using self = figures_row;
  static constexpr auto name = "row";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{
      member{"subject", &self::subject, "the same for rows that belong together"}, member{"origin", &self::origin},
      member{"cells", &self::cells, "one for each column; empty where nothing was published, – where unknown"}};
};

template <>
struct fields<figures> {
  using self = figures;
  static constexpr auto name = "table";
  static constexpr auto about = "published figures and this machine's, for people; to compute, use the parts' reports";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"title", &self::title}, member{"columns", &self::columns, "with their units"},
                 member{"rows", &self::rows}};
};

template <>
struct fields<shape> {
  using self = qd1::shape;
  static constexpr auto name = "shape";
  static constexpr auto about = "how figures relate according to the publication, whatever the machine";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"claim", &self::claim}, member{"verdict", &self::result},
                 member{"evidence", &self::evidence, "this machine's figures, or why it is unknown"},
                 member{"published", &self::published, "the claim as a factor; null: it is none"},
                 member{"found", &self::found, "that factor on this machine; null: it is unknown"}};
};

template <>
struct fields<unchecked_calls> {
  using self = unchecked_calls;
  static constexpr auto name = "unchecked";
  static constexpr auto about = "what a program that ignores results would have measured";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{member{"calls", &self::calls}, member{"failed", &self::failed},
                                          member{"error", &self::error, "of the first that failed"},
                                          computed{"mean_ns", +[](const self& of) { return of.latency.mean.value; },
                                                   "of all calls, including those that failed"}};
};

template <>
struct fields<experiment_part> {
  using self = experiment_part;
  static constexpr auto name = "part";
  static constexpr auto about = "a measurement";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"name", &self::name}, member{"purpose", &self::purpose},
                 member{"not_measured", &self::not_measured, "why it could not be measured; empty: it was"},
                 member{"unchecked", &self::unchecked, "of the part that repeats a mistake"},
                 computed{"report",
                          +[](const self& of) {
                            return of.not_measured.empty() ? std::optional(embedded_report{&of.found}) : std::nullopt;
                          },
                          "null: it was not measured"}};
};

template <>
struct fields<reproduction> {
  using self = reproduction;
  static constexpr auto name = "experiment";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{flattened{&self::about},
                 member{"version", &self::version, "of qd1"},
                 member{"started", &self::started, "ISO 8601, UTC"},
                 member{"command_line", &self::command_line},
                 member{"complete", &self::complete, "false: interrupted"},
                 member{"plan", &self::plan, "what was announced, a line each"},
                 member{"incomparable", &self::incomparable, "what cannot be compared here, and why"},
                 member{"tables", &self::tables},
                 member{"shapes", &self::shapes},
                 member{"parts", &self::parts}};
};

}  // namespace qd1
