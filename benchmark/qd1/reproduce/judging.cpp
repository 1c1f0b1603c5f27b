// SPDX-License-Identifier: BSL-1.0
#include "reproduce/judging.hpp"

#include "figures.hpp"
#include "findings/ladders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace qd1 {
namespace {

constexpr std::string_view unknown = "–";

std::string microseconds_or_unknown(const std::optional<double>& ns) {
  return ns ? microseconds(*ns) : std::string(unknown);
}

// Where the processors do not count cycles: those of the time stamp counter in that time, if its rate is known,
// whatever the processor's frequency is meanwhile.
std::string cycles_of_clock(const series& of, const timer_facts& clock) {
  if (!of.cpu_ns || clock.tick_ns <= 0 || !clock.reason.empty()) return std::string(unknown);
  return fmt::format("{:.0f} (TSC)", *of.cpu_ns / clock.tick_ns);
}

std::string cell(const figure& which, const series& of, const timer_facts& clock) {
  if (const auto found = which.of(of)) return figure_text(which.unit, found->value);
  return which.unit == unit::cycles ? cycles_of_clock(of, clock) : std::string(unknown);
}

std::vector<const figure*> figures_of_experiments() {
  std::vector<const figure*> found;
  for (const figure& each : figures_of_series())
    if (each.in_experiments) found.push_back(&each);
  return found;
}

// Parts of a ladder that was interrupted are not compared.
bool is_measured(const series* from) { return from != nullptr && from->measured() && from->complete; }

}  // namespace

const report* part_named(const reproduction& of, std::string_view name) {
  const auto found = std::ranges::find(of.parts, name, &experiment_part::name);
  return found == of.parts.end() || !found->not_measured.empty() ? nullptr : &found->found;
}

const series* series_of(const reproduction& of, std::string_view part,
                        const std::function<bool(const work&)>& matches) {
  const report* const in = part_named(of, part);
  if (in == nullptr) return nullptr;
  const auto found = std::ranges::find_if(in->series, matches, &series::work);
  return found == in->series.end() ? nullptr : &*found;
}

const series* best_of(const reproduction& of, std::string_view part, const std::function<bool(const work&)>& matches) {
  const report* const in = part_named(of, part);
  const series* best = nullptr;
  if (in == nullptr) return best;
  for (const series& each : in->series)
    if (is_measured(&each) && matches(each.work) && (best == nullptr || each.iops > best->iops)) best = &each;
  return best;
}

std::optional<double> mean_of(const series* from) {
  return is_measured(from) ? std::optional(from->latency.mean.value) : std::nullopt;
}

std::optional<double> percentile_of(const series* from, double fraction) {
  if (!is_measured(from)) return std::nullopt;
  for (const percentile& each : from->latency.percentiles)
    if (each.fraction == fraction && each.value) return each.value->value;
  return std::nullopt;
}

std::optional<double> iops_of(const series* from) {
  return is_measured(from) ? std::optional(from->iops) : std::nullopt;
}

std::optional<double> bytes_per_second_of(const series* from) {
  return is_measured(from) ? std::optional(from->bytes_per_second) : std::nullopt;
}

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

std::string times(const std::optional<double>& factor) {
  if (!factor) return "?";
  return *factor < 10 ? fmt::format("{:.2f}", *factor) : fmt::format("{:.3g}", *factor);
}

shape not_told(claim claim, std::string why_not) {
  return {std::move(claim.text), shape::verdict::not_told, std::move(why_not), claim.published};
}

shape held_within(claim claim, std::optional<double> found, double low, double high, std::string evidence,
                  std::string why_not) {
  if (!found) return not_told(std::move(claim), std::move(why_not));
  const bool held = *found >= low && *found <= high;
  return {std::move(claim.text), held ? shape::verdict::held : shape::verdict::not_held, std::move(evidence),
          claim.published, found};
}

figures_row percentiles_row(std::string subject, const series* from) {
  figures_row row{std::move(subject), origin::here, {}};
  if (from != nullptr && !from->invalid.empty()) row.origin = origin::refused;
  for (const double fraction : {0.5, 0.95, 0.99999})
    row.cells.push_back(microseconds_or_unknown(percentile_of(from, fraction)));
  row.cells.push_back(microseconds_or_unknown(mean_of(from)));
  return row;
}

std::vector<std::string> load_columns() {
  std::vector<std::string> found = {"workers × depth"};
  for (const figure* each : figures_of_experiments())
    found.push_back(each->unit == unit::nanoseconds ? fmt::format("{}, µs", each->label) : std::string(each->label));
  return found;
}

figures_row told_row(std::string subject, std::string load, const std::vector<told_figure>& told, origin origin) {
  figures_row row{std::move(subject), origin, {std::move(load)}};
  for (const told_figure& each : told)
    if (const figure* const found = figure_named(each.name); found == nullptr || !found->in_experiments)
      throw std::invalid_argument(fmt::format("'{}' has no column", each.name));
  for (const figure* each : figures_of_experiments()) {
    const auto found = std::ranges::find(told, each->name, &told_figure::name);
    row.cells.push_back(found == told.end() ? "" : found->text);
  }
  return row;
}

figures_row load_row(std::string subject, const series* from, const report* in) {
  figures_row row{std::move(subject), origin::here, std::vector<std::string>(load_columns().size())};
  if (!is_measured(from)) {
    row.cells.front() = from == nullptr ? "not measured" : from->invalid.empty() ? "not available" : "refused";
    if (from != nullptr && !from->invalid.empty()) row.origin = origin::refused;
    return row;
  }
  row.cells = {fmt::format("{} × {}", from->work.load.workers, from->work.load.depth)};
  for (const figure* each : figures_of_experiments()) row.cells.push_back(cell(*each, *from, in->clock));
  return row;
}

}  // namespace qd1
