// SPDX-License-Identifier: BSL-1.0
#include "output/load_columns.hpp"

#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace qd1 {
namespace {

std::string device_operations(const verification& facts) {
  if (!facts.device_operations || facts.application_operations == 0) return "n/a";
  return fmt::format("{:.3f}",
                     static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations));
}

// Nothing is known of latencies where the clock was not read.
std::string worst(const series& of) { return of.latency.bins.empty() ? "n/a" : microseconds(of.latency.max); }

}  // namespace

std::string quantile_cell(const series& of, double fraction) {
  for (const percentile& each : of.latency.percentiles)
    if (each.fraction == fraction && each.value) return microseconds(each.value->value);
  return "n/a";
}

std::vector<load_column> load_columns(const ladder& rows, const report& run) {
  std::vector<load_column> all = {{"IOPS", 9, 0, [](const series& of) { return fmt::format("{:.0f}", of.iops); }},
                                  {"MB/s", 7, 1, [](const series& of) { return digits(of.bytes_per_second / 1e6); }}};
  const std::vector<double> usual = {0.5, 0.99, 0.999};
  for (const double each : run.settings.percentiles.empty() ? usual : run.settings.percentiles)
    all.push_back({percentile_name(each), 8, each == 0.5 || each == 0.99 ? 0 : 3,
                   [each](const series& of) { return quantile_cell(of, each); }});
  all.push_back({"max", 8, 2, worst});
  all.push_back({"CPU/op", 8, 2, [](const series& of) { return of.cpu_ns ? microseconds(*of.cpu_ns) : "n/a"; }});
  if (std::ranges::any_of(rows, [](const series* each) { return each->cycles.has_value(); }))
    all.push_back(
        {"cycles/op", 9, 3, [](const series& of) { return of.cycles ? fmt::format("{:.0f}", *of.cycles) : "n/a"; }});
  all.push_back({"busy", 6, 4, [](const series& of) {
                   const auto computing = busy(of);
                   return computing ? fmt::format("{:.0f}%", *computing * 100) : "n/a";
                 }});
  all.push_back({"dev/op", 6, 4, [](const series& of) { return device_operations(of.verification); }});
  all.push_back(
      {"trust to", 8, 5, [](const series& of) { return of.latency.bins.empty() ? "n/a" : trusted_percentile(of); }});
  return all;
}

std::vector<load_column> fitting_columns(std::vector<load_column> all, std::size_t label_width) {
  const auto width = [&] {
    std::size_t sum = label_width;
    for (const load_column& each : all) sum += 1 + each.width;
    return sum;
  };
  while (width() > page_width() && all.size() > 1) all.erase(std::ranges::max_element(all, {}, &load_column::rank));
  return all;
}

std::string verification_text(const ladder& rows, std::string_view called) {
  verification all;
  for (const series* each : rows) {
    const verification& one = each->verification;
    if (!each->measured() || one.result != verification::verdict::verified || !one.device_operations) return {};
    all.device_operations = all.device_operations.value_or(0) + *one.device_operations;
    all.application_operations += one.application_operations;
  }
  return wrapped(fmt::format("VERIFIED direct: device ops {} / app {}, {} together",
                             grouped(*all.device_operations, ','), grouped(all.application_operations, ','), called));
}

std::string served_text(const ladder& rows) {
  service all;
  for (const series* each : rows) {
    if (!each->service.engine.empty()) all.engine = engine_text(each->service);
    all.by_inline += each->service.by_inline;
    all.by_ring += each->service.by_ring;
    all.by_worker += each->service.by_worker;
  }
  if (all.engine.empty()) return {};
  return wrapped(fmt::format("Served by {}:{}", all.engine, path_text(all)));
}

std::string row_remarks(const series& of, const report& run, const remark_counts& among, bool all_verified) {
  std::string text;
  for (const std::string& line : own_remarks(of, run, among)) text += wrapped(line);
  if (!traits(of.work.mode).keeps_pages && !all_verified && of.measured())
    text += wrapped(fmt::format("{}: {}", name_among(run, of.work), of.verification.text));
  return text;
}

}  // namespace qd1
