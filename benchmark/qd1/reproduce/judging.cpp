// SPDX-License-Identifier: BSL-1.0
#include "reproduce/judging.hpp"

#include "figures.hpp"
#include "findings/ladders.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

constexpr std::string_view unknown = "–";

std::string microseconds_or_unknown(const std::optional<double>& ns) {
  return ns ? microseconds(*ns) : std::string(unknown);
}

// As the processors count them; else those of the time stamp counter in that time, where its rate is known, whatever
// the processor's frequency is meanwhile.
std::string cycles(const series& of, const timer_facts& clock) {
  if (of.cycles) return fmt::format("{:.0f}", *of.cycles);
  if (!of.cpu_ns || clock.tick_ns <= 0 || !clock.reason.empty()) return std::string(unknown);
  return fmt::format("{:.0f} (TSC)", *of.cpu_ns / clock.tick_ns);
}

std::string device_operations_cell(const verification& facts) {
  if (!facts.device_operations || facts.application_operations == 0) return std::string(unknown);
  return fmt::format("{:.3g}",
                     static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations));
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
  return {"workers × depth", "IOPS", "MB/s", "CPU µs/op", "cycles/op", "busy", "device ops/op"};
}

figures_row load_row(std::string subject, const series* from, const report* in) {
  figures_row row{std::move(subject), origin::here, std::vector<std::string>(load_columns().size())};
  if (!is_measured(from)) {
    row.cells.front() = from == nullptr ? "not measured" : from->invalid.empty() ? "not available" : "refused";
    if (from != nullptr && !from->invalid.empty()) row.origin = origin::refused;
    return row;
  }
  const auto computing = busy(*from);
  row.cells = {fmt::format("{} × {}", from->work.load.workers, from->work.load.depth),
               fmt::format("{:.0f}", from->iops),
               digits(from->bytes_per_second / 1e6),
               microseconds_or_unknown(from->cpu_ns),
               cycles(*from, in->clock),
               computing ? fmt::format("{:.0f} %", *computing * 100) : std::string(unknown),
               device_operations_cell(from->verification)};
  return row;
}

}  // namespace qd1
