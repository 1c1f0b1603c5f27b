// SPDX-License-Identifier: BSL-1.0
#include "output/watched.hpp"

#include "figures.hpp"
#include "output/wording.hpp"
#include "statistics/order_statistics.hpp"
#include "units.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace qd1 {
namespace {

// "direct read of 4 KiB", "cached read of 4 KiB, cold", "mapped write of 4 KiB, flushed"
std::string what(const work& of) {
  std::string text = fmt::format("{} {} of {}", name(of.mode), name(of.operation), size_text(of.block));
  if (of.operation == operation::write) return fmt::format("{}, {}", text, name(of.durability));
  return traits(of.mode).keeps_pages ? fmt::format("{}, {}", text, name(of.temperature)) : text;
}

std::string devices(const machine_facts& machine) {
  std::vector<std::string> parts;
  if (machine.filesystem.type) parts.push_back(*machine.filesystem.type);
  for (const device_facts& each : machine.devices) parts.push_back(each.name);
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, " on "));
}

// Drives that may save power between two transfers.
std::string sleepers(const watch_subject& of) {
  std::string text;
  for (const device_facts& each : of.machine.devices)
    if (each.wake_up_limit && each.wake_up_limit != "0")
      text +=
          wrapped(fmt::format("{} may save power between transfers: waking it up {}", each.name,
                              each.wake_up_limit == "any" ? "may take any time"
                                                          : fmt::format("may take up to {} µs", *each.wake_up_limit)));
  return text;
}

std::string percentile_text(const histogram& of, double fraction) {
  const std::uint64_t needed = samples_needed(fraction);
  const std::string name = percentile_name(fraction);
  if (of.samples() < needed) return fmt::format("{} n/a (needs {})", name, grouped(needed));
  return fmt::format("{} {} µs", name, microseconds(of.ranked_ns(percentile_rank(fraction, of.samples()))));
}

std::string plural(std::uint64_t count, const char* of) {
  return fmt::format("{} {}{}", grouped(count), of, count == 1 ? "" : "s");
}

}  // namespace

std::string heading(const watch_subject& of) {
  std::string text = wrapped(fmt::format("{} every {:g} s, at random offsets within {} of {}{}", what(of.work),
                                         of.interval, size_text(of.work.working_set), of.target, devices(of.machine)));
  text += sleepers(of);
  for (const std::string& each : of.warnings) text += wrapped("warning: " + each);
  return text;
}

std::string line_of(const watched_transfer& of, std::int64_t at_ms, double interval) {
  const std::string fraction = interval < 1 ? fmt::format(".{:03}", at_ms % 1000) : "";
  std::string text = fmt::format("{:>5}  {:%H:%M:%S}{}Z  {:>10} µs", of.number,
                                 fmt::gmtime(static_cast<std::time_t>(at_ms / 1000)), fraction, microseconds(of.ns));
  if (of.times_usual) text += fmt::format("  outlier: {:.3g} x median", *of.times_usual);
  return text + '\n';
}

std::string summary_text(const watched& of) {
  const histogram& all = of.latencies;
  std::string text =
      fmt::format("\n{}: {} in {} s\n", what(of.subject.work), plural(all.samples(), "transfer"),
                  of.seconds < 10 ? fmt::format("{:.3g}", of.seconds) : fmt::format("{:.0f}", of.seconds));
  if (all.samples() != 0) {
    const double mean = all.mean_ns();
    text += wrapped(fmt::format("min {} µs, {}, mean {} µs, {}, max {} µs", microseconds(all.minimum_ns()),
                                percentile_text(all, 0.5), microseconds(mean), percentile_text(all, 0.99),
                                microseconds(all.maximum_ns())));
    if (mean > 0)
      text += wrapped(fmt::format("Back to back, each as long as the mean: {:.0f} IOPS, {} MB/s", 1e9 / mean,
                                  digits(static_cast<double>(of.subject.work.block) * 1e3 / mean)));
  }
  if (of.outliers != 0)
    text += wrapped(
        fmt::format("{}: longer than {:g} x the median before it", plural(of.outliers, "outlier"), outlier_factor));
  if (of.missed != 0)
    text +=
        wrapped(fmt::format("{} without a transfer: the previous one was not complete", plural(of.missed, "interval")));
  if (traits(of.subject.work.mode).is_direct && all.samples() != 0) text += wrapped(of.verification.text);
  if (!of.invalid.empty()) text += wrapped(fmt::format("INVALID: {}", fmt::join(of.invalid, "; ")));
  return text;
}

}  // namespace qd1
