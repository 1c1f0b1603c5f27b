// SPDX-License-Identifier: BSL-1.0
#include "output/ladder.hpp"

#include "depth/ladders.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>

namespace qd1 {
namespace {

std::string heading(const work& work, const report& run) {
  const load& load = work.load;
  std::string order(name(load.order));
  order[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(order[0])));
  std::string text = fmt::format("{} {} {}s, {}", order, size_text(work.block), name(work.operation), name(work.mode));
  if (work.operation == operation::read && traits(work.mode).keeps_pages)
    text += fmt::format(", {}", name(work.temperature));
  if (work.operation == operation::write) text += fmt::format(", {}", name(work.durability));
  if (load.share < 1) text += fmt::format(", {:.3g} % of a mix", load.share * 100);
  text += fmt::format(", within {}", size_text(work.working_set));
  if (load.targets > 1) text += fmt::format(" of each of {} targets", load.targets);
  if (load.only) text += fmt::format(" of {} alone", target_name(run, *load.only));
  return text + " [µs]";
}

std::string cell(const series& of, double fraction) {
  for (const percentile& each : of.latency.percentiles)
    if (each.fraction == fraction && each.value) return microseconds(each.value->value);
  return "n/a";
}

std::string device_operations(const verification& facts) {
  if (!facts.device_operations || facts.application_operations == 0) return "n/a";
  return fmt::format("{:.3f}",
                     static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations));
}

// Nothing is known of latencies where the clock was not read.
std::string worst(const series& of) { return of.latency.bins.empty() ? "n/a" : microseconds(of.latency.max); }

struct column {
  std::string heading;
  std::size_t width;
  int rank;  // those of a higher one are left out first where the page is narrow
  std::function<std::string(const series&)> text;
};

std::vector<column> all_columns(const ladder& steps, const report& run) {
  std::vector<column> all = {{"IOPS", 9, 0, [](const series& of) { return fmt::format("{:.0f}", of.iops); }},
                             {"MB/s", 7, 1, [](const series& of) { return digits(of.bytes_per_second / 1e6); }}};
  const std::vector<double> usual = {0.5, 0.99, 0.999};
  for (const double each : run.settings.percentiles.empty() ? usual : run.settings.percentiles)
    all.push_back({percentile_name(each), 8, each == 0.5 || each == 0.99 ? 0 : 3,
                   [each](const series& of) { return cell(of, each); }});
  all.push_back({"max", 8, 2, worst});
  all.push_back({"CPU/op", 8, 2, [](const series& of) { return of.cpu_ns ? microseconds(*of.cpu_ns) : "n/a"; }});
  if (std::ranges::any_of(steps, [](const series* each) { return each->cycles.has_value(); }))
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

constexpr std::size_t step_width = 13;

std::vector<column> fitting_columns(std::vector<column> all) {
  const auto width = [&] {
    std::size_t sum = step_width;
    for (const column& each : all) sum += 1 + each.width;
    return sum;
  };
  while (width() > page_width() && all.size() > 1) all.erase(std::ranges::max_element(all, {}, &column::rank));
  return all;
}

std::string row(const series& of, const std::vector<column>& columns) {
  std::string text = fmt::format("{:>7} {:>5}", of.work.load.workers, of.work.load.depth);
  if (!of.measured()) return text + (of.invalid.empty() ? "  not available\n" : "  INVALID\n");
  for (const column& each : columns) text += fmt::format(" {:>{}}", each.text(of), each.width);
  return text + '\n';
}

std::string knee_text(const knee& from) {
  const load& at = from.at->work.load;
  std::string text = at.workers > 1 ? fmt::format("Knee of {} workers: ", at.workers) : "Knee: ";
  if (from.at == from.best) return wrapped(text + fmt::format("none up to depth {}, which has the most.", at.depth));
  text += fmt::format("depth {} has {:.0f} % of the most operations a second (those of depth {})", at.depth,
                      from.at->iops / from.best->iops * 100, from.best->work.load.depth);
  const std::string p99 = cell(*from.at, 0.99), beyond = cell(*from.best, 0.99);
  if (p99 != "n/a" && beyond != "n/a") text += fmt::format(", at a p99 of {} µs instead of {}", p99, beyond);
  return wrapped(text + ".");
}

// One line for all steps, or one for each that is not like the others.
std::string verification_text(const ladder& steps) {
  verification all;
  for (const series* each : steps) {
    const verification& one = each->verification;
    if (!each->measured() || one.result != verification::verdict::verified || !one.device_operations) return {};
    all.device_operations = all.device_operations.value_or(0) + *one.device_operations;
    all.application_operations += one.application_operations;
  }
  return wrapped(fmt::format("VERIFIED direct: device ops {} / app {}, all steps together",
                             grouped(*all.device_operations, ','), grouped(all.application_operations, ',')));
}

std::string served_text(const ladder& steps) {
  service all;
  for (const series* each : steps) {
    if (!each->service.engine.empty()) all.engine = engine_text(each->service);
    all.by_inline += each->service.by_inline;
    all.by_ring += each->service.by_ring;
    all.by_worker += each->service.by_worker;
  }
  if (all.engine.empty()) return {};
  return wrapped(fmt::format("Served by {}:{}", all.engine, path_text(all)));
}

std::string block(const ladder& steps, const report& run, const remark_counts& among) {
  const std::vector<column> columns = fitting_columns(all_columns(steps, run));
  std::string text = wrapped(heading(steps.front()->work, run)) + fmt::format("{:>7} {:>5}", "workers", "depth");
  for (const column& each : columns) text += fmt::format(" {:>{}}", each.heading, each.width);
  text += '\n';
  for (const series* each : steps) text += row(*each, columns);
  text += served_text(steps);
  for (const knee& each : knees_of(steps)) text += knee_text(each);
  const std::string verified = verification_text(steps);
  text += verified;
  for (const series* each : steps) {
    for (const std::string& line : own_remarks(*each, among)) text += wrapped(line);
    const bool tells = !traits(each->work.mode).keeps_pages && verified.empty() && each->measured();
    if (tells) text += wrapped(fmt::format("{}: {}", title(each->work), each->verification.text));
  }
  return text + '\n';
}

}  // namespace

std::string ladder_blocks(const report& report) {
  const remark_counts among = count_remarks(report);
  std::string text;
  for (const ladder& each : ladders_of(report)) text += block(each, report, among);
  text += wrapped(
      "busy: part of their time that the workers computed. dev/op: operations of the devices for each transfer.");
  return text;
}

}  // namespace qd1
