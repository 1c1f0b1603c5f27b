// SPDX-License-Identifier: BSL-1.0
#include "output/contributions.hpp"

#include "figures.hpp"
#include "output/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace qd1 {
namespace {

std::string figure_cell(const std::optional<double>& ns) { return ns ? microseconds(*ns) : "n/a"; }

// With the interval within the run, where the page is wide enough.
std::string figure_cell(const contribution& of, double fraction) {
  const auto found = std::ranges::find(of.percentiles, fraction, &percentile::fraction);
  if (found == of.percentiles.end() || !found->value) return fmt::format(" {:>8}", "n/a");
  const estimate& known = *found->value;
  const std::string interval =
      known.interval ? fmt::format("{} … {}", microseconds(known.interval->low), microseconds(known.interval->high))
                     : "";
  return fmt::format(" {:>8}  {:<13}", microseconds(known.value), interval);
}

std::string head(const series& of, bool with_intervals) {
  return wrapped(fmt::format("{}, run by run [µs{}]", title(of.work),
                             with_intervals ? fmt::format(", 95 % {}", name(scope::within_run)) : ""));
}

// Tables of loads and of short memory have no room for intervals.
std::string between(const series& of) {
  std::vector<std::string> parts;
  for (const std::string_view name : {"iops", "p50", "p99"}) {
    const auto found = metric(of, name);
    if (!found || !found->interval) continue;
    const figure* const known = figure_named(name);
    const auto text = [&](double value) { return figure_text(known ? known->unit : unit::nanoseconds, value); };
    parts.push_back(fmt::format("{} {} ({} … {})", known ? known->label : name, text(found->value),
                                text(found->interval->low), text(found->interval->high)));
  }
  return parts.empty() ? "" : wrapped(fmt::format("95 % {}: {}", interval_scope(of), fmt::join(parts, ", ")));
}

std::string rows(const series& of, bool with_means) {
  constexpr std::size_t wide = 90;
  const bool with_intervals = repetitions(of) != 0 && page_width() >= wide;
  std::size_t width = 3;
  for (const contribution& each : of.contributions) width = std::max(width, each.name.size());
  const std::size_t column = with_intervals ? 23 : 8;
  std::string text = head(of, with_intervals) + fmt::format("{:<{}} {:>12} {:>10} ", "run", width, "samples", "IOPS") +
                     fmt::format("{:>8}{:{}} {:>8}{:{}} {:>9}\n", "p50", "", column - 8, "p99", "", column - 8, "max");
  for (const contribution& each : of.contributions) {
    text += fmt::format("{:<{}} {:>12} {:>10.0f}", each.name, width, each.samples, each.iops);
    text += with_intervals ? figure_cell(each, 0.5) + figure_cell(each, 0.99)
                           : fmt::format(" {:>8} {:>8}", figure_cell(each.p50), figure_cell(each.p99));
    text += fmt::format(" {:>9}{}{}\n", microseconds(each.max), each.straggles.empty() ? "" : "  ", each.straggles);
  }
  return text + (with_means && repetitions(of) != 0 ? between(of) : "") + '\n';
}

}  // namespace

std::string contributions(const report& report) {
  std::string text;
  for (const series& each : report.series)
    if (!each.contributions.empty()) text += rows(each, report.kind != report_kind::run);
  return text;
}

}  // namespace qd1
