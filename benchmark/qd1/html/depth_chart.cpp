// SPDX-License-Identifier: BSL-1.0
#include "depth_chart.hpp"

#include "chart.hpp"
#include "path.hpp"
#include "quantity.hpp"
#include "scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace qd1::html {
namespace {

// Each doubling is as far as the one before.
class depth_scale {
 public:
  explicit depth_scale(const panel& from) {
    for (const curve& each : from.curves)
      if (each.measured()) depths_.insert(each.series->work.load.depth);
  }

  bool is_ladder() const { return depths_.size() > 1; }
  double low() const { return std::log2(static_cast<double>(*depths_.begin())); }
  double high() const { return std::log2(static_cast<double>(*depths_.rbegin())); }
  double operator()(std::uint64_t depth) const {
    return (std::log2(static_cast<double>(depth)) - low()) / (high() - low());
  }
  std::vector<tick> ticks() const {
    std::vector<tick> found;
    found.reserve(depths_.size());
    for (const std::uint64_t depth : depths_)
      found.push_back({(*this)(depth), fmt::format("{}", depth), found.size() % 2 == 1});
    return found;
  }

 private:
  std::set<std::uint64_t> depths_;
};

// The steps with one number of workers, from shallow to deep, in the order of the panel.
using workers_steps = std::map<std::uint64_t, std::vector<const curve*>>;

workers_steps by_workers(const panel& from) {
  workers_steps found;
  for (const curve& each : from.curves)
    if (each.measured()) found[each.series->work.load.workers].push_back(&each);
  return found;
}

// What stands for all steps of a number of workers.
curve line_of(std::uint64_t workers, const std::vector<const curve*>& steps, std::size_t number,
              std::string_view what) {
  const std::string who = workers == 1 ? "1 worker" : fmt::format("{} workers", workers);
  const std::string name = what.empty() ? who : fmt::format("{}, {}", who, what);
  return {steps.front()->series,
          name,
          what.empty() ? who : std::string(what),
          fmt::format("run{}", number % 5 + 2),
          false,
          1};
}

attribute_list axes(const depth_scale& x, double low, double high) {
  return {{"data-first", fmt::format("{:.6g}", x.low())},
          {"data-last", fmt::format("{:.6g}", x.high())},
          {"data-low", fmt::format("{:.6g}", low)},
          {"data-high", fmt::format("{:.6g}", high)}};
}

// Throughput if each step took as long for a transfer as the first: in proportion to depth, up to the top of the chart.
std::vector<point> proportional(const series& first, const depth_scale& x, const count_scale& y) {
  constexpr int points = 64;
  const auto depth = static_cast<double>(first.work.load.depth);
  const double last = std::min(x.high(), std::log2(depth * y.high() / first.iops));
  std::vector<point> line;
  for (int each = 0; each <= points; ++each) {
    const double at = std::log2(depth) + (last - std::log2(depth)) * each / points;
    line.push_back({(at - x.low()) / (x.high() - x.low()), y(first.iops * std::exp2(at) / depth)});
  }
  return line;
}

// The points of the steps whose latency is known at that percentile.
std::vector<point> latencies(const std::vector<const curve*>& steps, double fraction, const depth_scale& x,
                             const log_scale& y) {
  std::vector<point> line;
  for (const curve* each : steps)
    if (const estimate* ns = percentile_in(*each->series, fraction))
      line.push_back({x(each->series->work.load.depth), y(ns->value)});
  return line;
}

}  // namespace

node throughput_chart(const panel& from) {
  const depth_scale x(from);
  if (!x.is_ladder()) return "";
  double highest = 0;
  for (const curve& each : from.curves) highest = std::max(highest, each.measured() ? each.series->iops : 0);
  if (highest <= 0) return "";
  const count_scale y(highest);
  nodes lines;
  std::vector<curve> curves;
  std::vector<start_label> starts;
  const workers_steps all = by_workers(from);
  curves.reserve(all.size());
  for (const auto& [workers, steps] : all) {
    std::vector<point> line;
    for (const curve* each : steps) line.push_back({x(each->series->work.load.depth), y(each->series->iops)});
    curves.push_back(line_of(workers, steps, curves.size(), ""));
    lines.push_back(curve_line(curves.back(), line));
    if (all.size() > 1) starts.push_back({&curves.back(), line.front().y});
  }
  const series& first = *all.begin()->second.front()->series;
  lines.push_back(element(
      "path", {{"class", "line ideal"}, {"data-name", "in proportion"}, {"d", line_path(proportional(first, x, y))}}));
  nodes layers = {horizontal_grid(y.ticks(), side::right), vertical_grid(x.ticks()), stretched(std::move(lines)),
                  start_labels(std::move(starts))};
  return figure_of(
      {"Throughput: what each further transfer in flight gains", "Operations per second over depth.", "throughput",
       axes(x, y.low(), y.high()), std::move(layers),
       "Operations per second over the transfers that each worker keeps in flight. Dotted: in proportion to depth, as "
       "if each transfer took as long as one of the first step."});
}

node latency_chart(const panel& from) {
  const depth_scale x(from);
  double low = std::numeric_limits<double>::max(), high = 0;
  for (const curve& each : from.curves)
    for (const double fraction : {0.5, 0.99})
      if (const estimate* ns = each.measured() ? percentile_in(*each.series, fraction) : nullptr) {
        low = std::min(low, ns->value);
        high = std::max(high, ns->value);
      }
  if (!x.is_ladder() || high == 0) return "";
  const log_scale y(low, high);
  nodes lines;
  std::vector<curve> curves;
  std::vector<start_label> starts;
  const workers_steps all = by_workers(from);
  curves.reserve(2 * all.size());
  std::size_t number = 0;
  for (const auto& [workers, steps] : all) {
    for (const double fraction : {0.5, 0.99}) {
      const std::vector<point> line = latencies(steps, fraction, x, y);
      if (line.empty()) continue;
      curves.push_back(line_of(workers, steps, number, percentile_text(fraction)));
      curves.back().dashed = fraction > 0.5;
      lines.push_back(curve_line(curves.back(), line));
      if (all.size() == 1) starts.push_back({&curves.back(), line.front().y});
    }
    ++number;
  }
  nodes layers = {horizontal_grid(y.ticks(), side::right), vertical_grid(x.ticks()), stretched(std::move(lines)),
                  start_labels(std::move(starts))};
  return figure_of(
      {"Latency: what each further transfer in flight costs", "Median and p99 over depth.", "waiting",
       axes(x, y.low(), y.high()), std::move(layers),
       "Solid: median; dashed: p99; over depth, logarithmic. Where throughput no longer grows, only latency does."});
}

}  // namespace qd1::html
