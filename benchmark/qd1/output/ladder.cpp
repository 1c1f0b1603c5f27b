// SPDX-License-Identifier: BSL-1.0
#include "output/ladder.hpp"

#include "depth/rungs.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace qd1 {
namespace {

std::string heading(const work& work, const report& run) {
  const load& load = work.load;
  std::string order(name(load.order));
  order[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(order[0])));
  std::string text = fmt::format("{} {} {}s, {}", order, size_text(work.block), name(work.operation), name(work.mode));
  if (work.operation == operation::read && work.mode != mode::direct)
    text += fmt::format(", {}", name(work.temperature));
  if (work.operation == operation::write) text += fmt::format(", {}", name(work.durability));
  if (load.share < 1) text += fmt::format(", {:.3g} % of a mix", load.share * 100);
  text += fmt::format(", within {}", size_text(work.working_set));
  if (load.targets > 1) text += fmt::format(" of each of {} targets", load.targets);
  if (load.only) text += fmt::format(" of {} alone", target_name(run, *load.only));
  return text + " [µs]\n";
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

// A column of their own, where the processors count any.
bool has_cycles(const rungs& steps) {
  return std::ranges::any_of(steps, [](const series* each) { return each->cycles.has_value(); });
}

std::string cycles_column(bool shown, const std::string& text) { return shown ? fmt::format(" {:>9}", text) : ""; }

std::string row(const series& of, bool with_cycles) {
  const load& load = of.work.load;
  const std::string step = fmt::format("{:>7} {:>5}", load.workers, load.depth);
  if (!of.measured()) return step + (of.invalid.empty() ? "  not available\n" : "  INVALID\n");
  const auto computing = busy(of);
  return step + fmt::format(" {:>9.0f} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}{} {:>6} {:>5} {:>7}\n", of.iops,
                            digits(of.bytes_per_second / 1e6), cell(of, 0.5), cell(of, 0.99), cell(of, 0.999),
                            worst(of), of.cpu_ns ? microseconds(*of.cpu_ns) : "n/a",
                            cycles_column(with_cycles, of.cycles ? fmt::format("{:.0f}", *of.cycles) : "n/a"),
                            computing ? fmt::format("{:.0f}%", *computing * 100) : "n/a",
                            device_operations(of.verification),
                            of.latency.bins.empty() ? "n/a" : trusted_percentile(of));
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
std::string verification_text(const rungs& steps) {
  verification all;
  for (const series* each : steps) {
    if (!each->measured() || each->verification.result != verification::verdict::verified) return {};
    all.device_operations = all.device_operations.value_or(0) + *each->verification.device_operations;
    all.application_operations += each->verification.application_operations;
  }
  return wrapped(fmt::format("VERIFIED direct: device ops {} / app {}, all steps together",
                             grouped(*all.device_operations, ','), grouped(all.application_operations, ',')));
}

std::string served_text(const rungs& steps) {
  service all;
  for (const series* each : steps) {
    if (!each->service.engine.empty()) all.engine = engine_text(each->service);
    all.by_inline += each->service.by_inline;
    all.by_ring += each->service.by_ring;
    all.by_worker += each->service.by_worker;
  }
  if (all.engine.empty()) return {};
  return fmt::format("Served by {}:{}\n", all.engine, path_text(all));
}

std::string block(const rungs& steps, const report& run) {
  const bool with_cycles = has_cycles(steps);
  std::string text = heading(steps.front()->work, run);
  text += fmt::format("{:>7} {:>5} {:>9} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}{} {:>6} {:>5} {:>7}\n", "workers", "depth",
                      "IOPS", "MB/s", "p50", "p99", "p99.9", "max", "CPU/op", cycles_column(with_cycles, "cycles/op"),
                      "busy", "dev/op", "trust to");
  for (const series* each : steps) text += row(*each, with_cycles);
  text += served_text(steps);
  for (const knee& each : knees_of(steps)) text += knee_text(each);
  const std::string verified = verification_text(steps);
  text += verified;
  for (const series* each : steps) {
    for (const std::string& line : remarks(*each)) text += wrapped(line);
    const bool tells = each->work.mode == mode::direct && verified.empty() && each->measured();
    if (tells) text += wrapped(fmt::format("{}: {}", title(each->work), each->verification.text));
  }
  return text + '\n';
}

}  // namespace

std::string ladder_blocks(const report& report) {
  std::string text;
  for (const rungs& each : rungs_of(report)) text += block(each, report);
  text += "busy: part of their time that the workers computed. dev/op: operations of the devices for each transfer.\n";
  return text;
}

}  // namespace qd1
