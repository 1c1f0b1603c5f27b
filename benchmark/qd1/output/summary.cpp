// SPDX-License-Identifier: BSL-1.0
#include "output/summary.hpp"

#include "figures.hpp"
#include "output/closing.hpp"
#include "output/detection.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

constexpr std::size_t cell_width = 9;
constexpr std::size_t kind_width = 1 + 2 * cell_width;  // p50 and p99
constexpr std::size_t screen_lines = 23;                // of 24: the prompt comes below
constexpr std::size_t usual_columns = 80;               // fewer take more lines
constexpr std::size_t most_in_summary = 5;

// What stands side by side in one row, and what has a table of its own.
struct kind {
  qd1::operation operation;
  qd1::temperature temperature;
  qd1::durability durability;

  bool operator==(const kind&) const = default;
};

kind kind_of(const work& of) {
  const bool reads = of.operation == operation::read;
  return {of.operation, reads ? of.temperature : temperature::warm, reads ? durability::accepted : of.durability};
}

bool is_of_one_table(work a, work b) {
  for (work* each : {&a, &b}) {
    each->mode = mode::direct;
    each->form = form::blocking;
    each->operation = operation::read;
    each->temperature = temperature::warm;
    each->durability = durability::accepted;
    each->advice = advice::normal;
  }
  return a == b;
}

bool is_of_one_row(const work& a, const work& b) {
  return a.mode == b.mode && a.form == b.form && a.advice == b.advice;
}

std::string name_of(const kind& of) {
  if (of.operation == operation::read) return of.temperature == temperature::cold ? "cold reads" : "reads";
  switch (of.durability) {
    case durability::accepted: return "writes";
    case durability::written_through: return "written through";
    case durability::flushed: return "flushed writes";
  }
  return {};
}

std::string row_label(const work& of) {
  const std::string advised = advice_text(of);
  return fmt::format("{:<9}{:<8}{}{}", name(of.mode), of.form == form::blocking ? "blocking" : "async",
                     advised.empty() ? "" : ", ", advised);
}

bool is_unverified(const series& of) {
  return of.verification.result == verification::verdict::unknown ||
         std::ranges::any_of(of.notes, [](const std::string& each) { return each.starts_with("durable could not"); });
}

// "~" not steady, "?" not verified, "" neither.
std::string mark_of(const series& of) {
  return fmt::format("{}{}", of.steady == false ? "~" : "", is_unverified(of) ? "?" : "");
}

std::string cell(const series& of, double fraction) {
  if (!of.measured()) return fraction != 0.5 ? "" : of.invalid.empty() ? "n/a" : "INVALID";
  const auto found = percentile_of(of, fraction);
  return (found ? microseconds(found->value) : "n/a") + (fraction == 0.5 ? mark_of(of) : "");
}

// Without trailing blanks.
std::string line_of(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

using group = std::vector<const series*>;

template <class Alike>
std::vector<group> grouped_by(const group& all, Alike&& alike) {
  std::vector<group> found;
  for (const series* each : all) {
    const auto place =
        std::ranges::find_if(found, [&](const group& other) { return alike(each->work, other.front()->work); });
    if (place == found.end())
      found.push_back({each});
    else
      place->push_back(each);
  }
  return found;
}

// Marks stand at the right of a figure, without moving it.
std::string cells(const group& row, const kind& of) {
  const auto found = std::ranges::find_if(row, [&](const series* each) { return kind_of(each->work) == of; });
  std::string text = " ";
  for (const double fraction : {0.5, 0.99})
    text += fmt::format("{:>{}}", found == row.end() ? "" : cell(**found, fraction), cell_width);
  return text;
}

std::string lines_of(const std::vector<group>& rows, const std::vector<kind>& kinds, std::size_t label_width) {
  std::string names(label_width, ' ');
  std::string columns(label_width, ' ');
  for (const kind& each : kinds) {
    names += fmt::format("{:>{}}", name_of(each), kind_width);
    columns += fmt::format(" {:>{}}{:>{}}", "p50", cell_width, "p99", cell_width);
  }
  std::string text = line_of(names) + line_of(columns);
  for (const group& row : rows) {
    std::string line = fmt::format("{:<{}}", row_label(row.front()->work), label_width);
    for (const kind& each : kinds) line += cells(row, each);
    text += line_of(line);
  }
  return text;
}

std::string table_of(const group& members) {
  const work& of = members.front()->work;
  const std::string loop =
      of.rate ? fmt::format("open loop, {:g}/s{}", *of.rate, of.poisson ? " Poisson" : "") : "queue depth 1";
  std::string text = wrapped(fmt::format("{} {}, {}, within {} [µs]", order_heading(of.load), size_text(of.block), loop,
                                         size_text(of.working_set)));
  const std::vector<group> rows = grouped_by(members, is_of_one_row);
  std::vector<kind> kinds;
  for (const series* each : members)
    if (std::ranges::find(kinds, kind_of(each->work)) == kinds.end()) kinds.push_back(kind_of(each->work));
  std::size_t label_width = 0;
  for (const group& row : rows) label_width = std::max(label_width, row_label(row.front()->work).size());
  const std::size_t width = page_width();
  const std::size_t most = std::max<std::size_t>((width - std::min(label_width, width)) / kind_width, 1);
  for (std::size_t from = 0; from < kinds.size(); from += most)
    text += lines_of(rows,
                     {kinds.begin() + static_cast<std::ptrdiff_t>(from),
                      kinds.begin() + static_cast<std::ptrdiff_t>(std::min(from + most, kinds.size()))},
                     label_width);
  return text;
}

std::string legend(const report& report) {
  std::vector<std::string> parts;
  const auto any = [&](const auto& is) {
    return std::ranges::any_of(report.series, [&](const series& each) { return each.measured() && is(each); });
  };
  if (any([](const series& each) { return each.steady == false; })) parts.emplace_back("~ not steady");
  if (any(is_unverified)) parts.emplace_back("? not verified");
  return parts.empty() ? "" : fmt::format("{}\n", fmt::join(parts, "   "));
}

// Notes of several series that begin alike, as one: by what comes before a colon, and the numbers of the first.
class notes {
 public:
  void add(const std::string& text, const std::string& subject = {}) {
    const std::string key = text.substr(0, text.find(':'));
    const auto found = std::ranges::find(all_, key, &note::key);
    note& one = found != all_.end() ? *found : all_.emplace_back(note{key, text, {}});
    if (!subject.empty() && std::ranges::find(one.subjects, subject) == one.subjects.end())
      one.subjects.push_back(subject);
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const note& each : all_)
      found.push_back(each.subjects.empty()       ? each.text
                      : each.subjects.size() == 1 ? each.subjects.front() + ": " + each.text
                                                  : fmt::format("{} series: {}", each.subjects.size(), each.text));
    return found;
  }

 private:
  struct note {
    std::string key, text;
    std::vector<std::string> subjects;
  };
  std::vector<note> all_;
};

std::string findings(const report& report, severity of) {
  std::vector<std::string> all;
  for (const recommendation& each : report.advice)
    if (each.severity == of) all.push_back(each.finding);
  return all.empty() ? "" : fmt::format("{}: {}", name(of), fmt::join(all, "; "));
}

// The gravest first.
std::vector<std::string> notes_of(const report& report) {
  notes grave, doubts, others, unsteady;
  for (const series& each : report.series) {
    const std::string own = title(each.work);
    for (const std::string& reason : each.invalid) grave.add("INVALID: " + reason, own);
    if (each.measured() && each.verification.result == verification::verdict::unknown)
      doubts.add(each.verification.text, own);
    for (const std::string& text : each.notes) (text.starts_with("durable could not") ? doubts : others).add(text, own);
    if (!each.not_available.empty())
      others.add(fmt::format("{} is not available: {}", name(each.work.mode), each.not_available));
    if (std::string other = other_engine_text(each.service, report); !other.empty()) others.add(std::move(other), own);
    if (each.measured() && each.steady == false)
      unsteady.add("not steady: " + (each.unsettled.empty() ? "its latency was still changing" : each.unsettled), own);
  }
  std::vector<std::string> all = grave.texts();
  const auto append = [&](std::vector<std::string> more) { all.insert(all.end(), more.begin(), more.end()); };
  append(report.notes);
  if (!report.complete) all.emplace_back("INCOMPLETE: interrupted");
  if (std::string severe = findings(report, severity::severe); !severe.empty()) all.push_back(std::move(severe));
  append(doubts.texts());
  append(others.texts());
  append(unsteady.texts());
  if (std::string warnings = findings(report, severity::warning); !warnings.empty()) all.push_back(std::move(warnings));
  return all;
}

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

// At most so many lines, of which the last one then ends in "…".
std::string cut(const std::string& text, std::size_t most) {
  if (lines_in(text) <= most) return text;
  std::istringstream lines(text);
  std::string kept, line;
  for (std::size_t each = 0; each < most && std::getline(lines, line); ++each) kept += line + '\n';
  kept.pop_back();
  if (line.size() + 2 > page_width()) kept.erase(kept.find_last_of(' '));
  return kept + " …\n";
}

}  // namespace

bool has_summary(const report& report) {
  return report.kind == report_kind::run && report.settings.profile.empty() &&
         std::ranges::all_of(report.series,
                             [](const series& each) { return each.contributions.empty() || repetitions(each) != 0; });
}

std::string summary(const report& report) {
  group all;
  for (const series& each : report.series) all.push_back(&each);
  std::string text;
  if (report.detections.empty()) {
    for (const group& each : grouped_by(all, is_of_one_table)) text += table_of(each);
    text += legend(report) + '\n' + verdict_text(report);
  } else {
    text += detection_text(report);
  }
  const std::vector<std::string> notes = notes_of(report);
  std::size_t printed = 0;
  for (const std::string& each : notes) {
    const std::size_t used = page_width() < usual_columns ? 0 : lines_in(text) + 1;  // with the last line
    const std::size_t most = used < screen_lines ? std::min<std::size_t>(screen_lines - used, 2) : 0;
    const bool must = each.starts_with("INVALID") || each.find("INCOMPLETE") != std::string::npos;
    if (printed == most_in_summary || (most == 0 && !must)) break;
    text += cut(wrapped("- " + each), std::max<std::size_t>(most, 1));
    ++printed;
  }
  const std::size_t left = notes.size() - printed;
  text += left == 0 ? "Intervals, other percentiles, engines, reasons: --details\n"
                    : fmt::format("{} more {}, intervals, other percentiles: --details\n", left,
                                  left == 1 ? "note" : "notes");
  return text;
}

}  // namespace qd1
