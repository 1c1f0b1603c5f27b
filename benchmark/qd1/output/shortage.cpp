// SPDX-License-Identifier: BSL-1.0
#include "output/shortage.hpp"

#include "findings/steps.hpp"
#include "output/load_columns.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
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

std::string device_cell(const verification& facts) {
  if (!facts.device_operations || facts.application_operations == 0) return "n/a";
  return fmt::format("{:.3f}",
                     static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations));
}

std::string line(const series& of, const report& run) {
  const std::string step = fmt::format("{:<34}", step_name(of, run));
  if (!of.measured()) return step + (of.invalid.empty() ? "  not available\n" : "  INVALID\n");
  const shortage memory = of.shortage.value_or(shortage());
  return step + fmt::format("{:>8.0f} {:>7} {:>7} {:>7} {:>8} {:>6} {:>18} {:>7}  {}\n", of.iops,
                            microseconds(of.latency.mean.value), quantile_cell(of, 0.5), quantile_cell(of, 0.99),
                            microseconds(of.latency.max), device_cell(of.verification), pages_cell(of.verification),
                            mebibytes_cell(memory.dirty_most), name(memory.bound));
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
  std::string text = fmt::format("Random {}, {}, one after the other, {} of memory [µs]\n", size_text(first.block),
                                 name(first.mode), size_text(memory_without_ballast(report)));
  text += fmt::format("{:<34}{:>8} {:>7} {:>7} {:>7} {:>8} {:>6} {:>18} {:>7}  {}\n", "", "IOPS", "mean", "p50", "p99",
                      "max", "dev/op", "pages in memory", "dirty", "bound");
  for (const series& each : report.series) text += line(each, report);
  text += wrapped(fmt::format("Memory is short by: {}.", how(report)));
  const remark_counts among = count_remarks(report);
  for (const series& each : report.series)
    for (const std::string& line : own_remarks(each, report, among)) text += wrapped(line);
  text += wrapped(
      "dev/op: operations of the device for each transfer. pages in memory: of what is read or written, before -> "
      "after. dirty: MiB "
      "that were still to be written, at most.");
  return text + '\n';
}

}  // namespace qd1
