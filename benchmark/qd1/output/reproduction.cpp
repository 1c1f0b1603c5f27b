// SPDX-License-Identifier: BSL-1.0
#include "output/reproduction.hpp"

#include "output/wording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace qd1 {
namespace {

// In columns of a terminal: continuation bytes of UTF-8 take none.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char each) { return (each & 0xc0) != 0x80; }));
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ') + text;
}

std::string padded_right(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string lines_of(const figures& table) {
  std::size_t subject = 0;
  std::vector<std::size_t> widths;
  widths.reserve(table.columns.size());
  for (const std::string& each : table.columns) widths.push_back(width_of(each));
  for (const figures_row& row : table.rows) {
    subject = std::max(subject, width_of(row.subject));
    for (std::size_t each = 0; each < row.cells.size(); ++each)
      widths[each] = std::max(widths[each], width_of(row.cells[each]));
  }
  constexpr std::size_t origins = 9;
  std::size_t total = subject + 2 + origins;
  for (const std::size_t each : widths) total += 2 + each;
  const bool is_narrow = total > page_width();  // subjects stand on lines of their own
  std::string text = wrapped(table.title) + std::string((is_narrow ? 0 : subject) + 2 + origins, ' ');
  for (std::size_t each = 0; each < widths.size(); ++each)
    text += "  " + padded_left(table.columns[each], widths[each]);
  text += '\n';
  for (std::size_t each = 0; each < table.rows.size(); ++each) {
    const figures_row& row = table.rows[each];
    const std::string named = begins_subject(table, each) ? row.subject : "";
    if (is_narrow && !named.empty()) text += wrapped(named);
    std::string line =
        (is_narrow ? "" : padded_right(named, subject)) + "  " + padded_right(std::string(name(row.origin)), origins);
    for (std::size_t cell = 0; cell < row.cells.size(); ++cell)
      line += "  " + padded_left(row.cells[cell], widths[cell]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text + '\n';
}

std::string shapes(const reproduction& of) {
  std::string found;
  for (const shape& each : of.shapes)
    found += wrapped(fmt::format("{}: {}{}{}", name(each.result), each.claim,
                                 each.evidence.empty() ? "" : ". Here: ", each.evidence));
  return "What repeats:\n" + found + '\n';
}

std::string trouble(const experiment_part& part) {
  std::string found;
  if (!part.not_measured.empty()) found += wrapped(fmt::format("{}: not measured: {}", part.name, part.not_measured));
  if (part.unchecked) return found;  // refused on purpose; the shapes tell
  for (const series& each : part.found.series)
    for (const std::string& reason : each.invalid)
      found += wrapped(fmt::format("{}: {}: INVALID: {}", part.name, title(each.work), reason));
  for (const series& each : part.found.series)
    if (!each.not_available.empty())
      found += wrapped(fmt::format("{}: {}: not available: {}", part.name, title(each.work), each.not_available));
  return found;
}

}  // namespace

std::string text(const reproduction& of) {
  std::string found =
      wrapped(fmt::format("{}: {}. {}; {}.", of.about.name, of.about.title, of.about.author, of.about.machine));
  if (!of.about.warning.empty()) found += wrapped(std::string(of.about.warning));
  found += '\n';
  for (const figures& each : of.tables) found += lines_of(each);
  found += shapes(of);
  found += "What cannot be compared here:\n";
  for (const std::string& each : of.incomparable) found += wrapped(each);
  for (const experiment_part& each : of.parts) found += trouble(each);
  if (!of.complete) found += "INCOMPLETE: interrupted.\n";
  return found;
}

}  // namespace qd1
