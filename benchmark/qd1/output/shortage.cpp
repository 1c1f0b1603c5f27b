// SPDX-License-Identifier: BSL-1.0
#include "output/shortage.hpp"

#include "findings/steps.hpp"
#include "output/load_columns.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

std::string step_name(const series& of, const report& run) {
  return fmt::format("{} {}{}", name(of.work.operation), size_text(of.work.working_set), circumstances(of.work, run));
}

std::string mebibytes_cell(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / 0x1p20) : "n/a";
}

std::string pages_cell(const verification& facts) {
  if (!facts.cached_pages_before || !facts.cached_pages_after) return "n/a";
  return fmt::format("{} -> {}", *facts.cached_pages_before, *facts.cached_pages_after);
}

shortage shortage_in(const series& of) { return of.shortage.value_or(shortage()); }

std::size_t widest_bound(const report& run) {
  std::size_t most = 0;
  for (const series& each : run.series) most = std::max(most, name(shortage_in(each).bound).size());
  return most;
}

std::vector<load_column> columns_for(const report& run, std::size_t label_width) {
  std::vector<load_column> all = shortage_columns(run);
  all.push_back({"pages in memory", 16, 4, [](const series& of) { return pages_cell(of.verification); }});
  all.push_back({"dirty", 7, 5, [](const series& of) { return mebibytes_cell(shortage_in(of).dirty_most); }});
  all.push_back(
      {"bound", widest_bound(run), 3, [](const series& of) { return std::string(name(shortage_in(of).bound)); }});
  return fitting_columns(std::move(all), label_width);
}

std::string line(const series& of, const report& run, const std::vector<load_column>& columns,
                 std::size_t label_width) {
  std::string text = fmt::format("{:<{}}", step_name(of, run), label_width);
  if (!of.measured()) return text + (of.invalid.empty() ? "  not available\n" : "  INVALID\n");
  for (const load_column& each : columns) text += fmt::format(" {:>{}}", each.text(of), each.width);
  return text + '\n';
}

// How memory was made short, each way once.
std::string how(const report& run) {
  std::vector<std::string> told;
  for (const series& each : run.series) {
    if (!each.shortage) continue;
    const bool ballast = each.work.memory.value_or(0) < memory_without_ballast(run);
    std::string way = (ballast ? "with ballast: " : "") + each.shortage->how;
    if (std::ranges::find(told, way) == told.end()) told.push_back(std::move(way));
  }
  return fmt::format("{}", fmt::join(told, "; "));
}

}  // namespace

std::string shortage_block(const report& report) {
  if (report.series.empty()) return {};
  const work& first = report.series.front().work;
  std::string text =
      wrapped(fmt::format("Random {}, {}, one after the other, {} of memory [µs]", size_text(first.block),
                          name(first.mode), size_text(memory_without_ballast(report))));
  std::size_t label_width = 0;
  for (const series& each : report.series) label_width = std::max(label_width, step_name(each, report).size());
  const std::vector<load_column> columns = columns_for(report, label_width);
  text += fmt::format("{:<{}}", "", label_width);
  for (const load_column& each : columns) text += fmt::format(" {:>{}}", each.heading, each.width);
  text += '\n';
  for (const series& each : report.series) text += line(each, report, columns, label_width);
  text += wrapped(fmt::format("Memory was made short by: {}.", how(report)));
  const remark_counts among = count_remarks(report);
  for (const series& each : report.series)
    for (const std::string& line : own_remarks(each, report, among)) text += wrapped(line);
  text += wrapped(
      "dev/op: device operations per transfer. pages in memory: of what is read or written, before -> after. dirty: "
      "MiB not yet written back, at most.");
  return text + '\n';
}

}  // namespace qd1
