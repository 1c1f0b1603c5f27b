// SPDX-License-Identifier: BSL-1.0
#include "output/ladder.hpp"

#include "findings/ladders.hpp"
#include "output/load_columns.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace qd1 {
namespace {

std::string heading(const work& work, const report& run) {
  const load& load = work.load;
  std::string text =
      fmt::format("{} {} {}s, {}", order_heading(load), size_text(work.block), name(work.operation), name(work.mode));
  if (work.operation == operation::read && traits(work.mode).keeps_pages)
    text += fmt::format(", {}", name(work.temperature));
  if (work.operation == operation::write) text += fmt::format(", {}", name(work.durability));
  if (load.share < 1) text += fmt::format(", {:.3g} % of a mix", load.share * 100);
  text += fmt::format(", within {}", size_text(work.working_set));
  if (load.targets > 1) text += fmt::format(" of each of {} targets", load.targets);
  if (load.only) text += fmt::format(" of {} alone", target_name(run, *load.only));
  return text + " [µs]";
}

constexpr std::size_t step_width = 13;

std::string row(const series& of, const std::vector<load_column>& columns) {
  std::string text = fmt::format("{:>7} {:>5}", of.work.load.workers, of.work.load.depth);
  if (!of.measured()) return text + (of.invalid.empty() ? "  not available\n" : "  INVALID\n");
  for (const load_column& each : columns) text += fmt::format(" {:>{}}", each.text(of), each.width);
  return text + '\n';
}

std::string knee_text(const knee& from) {
  const load& at = from.at->work.load;
  std::string text = at.workers > 1 ? fmt::format("Knee of {} workers: ", at.workers) : "Knee: ";
  if (from.at == from.best)
    return wrapped(text + fmt::format("none up to depth {}, which reaches the most.", at.depth));
  text += fmt::format("depth {} reaches {:.0f} % of the maximum throughput (depth {})", at.depth,
                      from.at->iops / from.best->iops * 100, from.best->work.load.depth);
  const std::string p99 = quantile_cell(*from.at, 0.99), beyond = quantile_cell(*from.best, 0.99);
  if (p99 != "n/a" && beyond != "n/a") text += fmt::format(", at a p99 of {} µs instead of {}", p99, beyond);
  return wrapped(text + ".");
}

std::string ladder_block(const ladder& steps, const report& run, const remark_counts& among) {
  const std::vector<load_column> columns = fitting_columns(load_columns(steps, run), step_width);
  std::string text = wrapped(heading(steps.front()->work, run)) + fmt::format("{:>7} {:>5}", "workers", "depth");
  for (const load_column& each : columns) text += fmt::format(" {:>{}}", each.heading, each.width);
  text += '\n';
  for (const series* each : steps) text += row(*each, columns);
  text += served_text(steps);
  for (const knee& each : knees_of(steps)) text += knee_text(each);
  const std::string verified = verification_text(steps, "all steps");
  text += verified;
  for (const series* each : steps) text += row_remarks(*each, run, among, !verified.empty());
  return text + '\n';
}

}  // namespace

std::string ladder_blocks(const report& report) {
  const remark_counts among = count_remarks(report);
  std::string text;
  for (const ladder& each : ladders_of(report)) text += ladder_block(each, report, among);
  text += wrapped(load_legend);
  return text;
}

}  // namespace qd1
