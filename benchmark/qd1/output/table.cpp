// SPDX-License-Identifier: BSL-1.0
#include "output/table.hpp"

#include "figures.hpp"
#include "findings/ladders.hpp"
#include "findings/steps.hpp"
#include "output/closing.hpp"
#include "output/contributions.hpp"
#include "output/detection.hpp"
#include "output/ladder.hpp"
#include "output/profile.hpp"
#include "output/shortage.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace qd1 {
namespace {

constexpr std::size_t label_width = 10;

constexpr std::size_t column_width = 30;

// The series that differ in nothing but the mode stand side by side.
using group = std::vector<const series*>;

bool side_by_side(work a, work b) {
  a.mode = b.mode;
  a.advice = b.advice;
  return a == b;
}

std::vector<group> groups(const report& report) {
  std::vector<group> all;
  for (const series& each : report.series) {
    const auto belongs = [&](const group& other) { return side_by_side(each.work, other.front()->work); };
    const auto found = std::find_if(all.begin(), all.end(), belongs);
    if (found == all.end())
      all.push_back({&each});
    else
      found->push_back(&each);
  }
  return all;
}

// As many beside each other as the page is wide.
std::vector<group> fitting(const group& members) {
  const std::size_t most = std::max<std::size_t>((page_width() - label_width) / column_width, 1);
  std::vector<group> parts;
  for (std::size_t from = 0; from < members.size(); from += most)
    parts.emplace_back(members.begin() + static_cast<std::ptrdiff_t>(from),
                       members.begin() + static_cast<std::ptrdiff_t>(std::min(from + most, members.size())));
  return parts;
}

std::string cell(const estimate& ns) {
  std::string value = fmt::format("{:>8}", microseconds(ns.value));
  if (!ns.interval) return value;
  return fmt::format("{}  {} … {}", value, microseconds(ns.interval->low), microseconds(ns.interval->high));
}

std::string cell(const percentile& found) {
  if (found.value) return cell(*found.value);
  return fmt::format("{:>8} (needs {})", "n/a", grouped(found.samples_needed));
}

// Series of one run have the same percentiles; those of a report that somebody else wrote need not.
std::string percentile_cell(const series& of, double fraction) {
  const auto found = std::ranges::find(of.latency.percentiles, fraction, &percentile::fraction);
  return found == of.latency.percentiles.end() ? "  n/a" : cell(*found);
}

std::string cell(const figure& which, const series& of) {
  const auto found = which.of(of);
  if (!found) return which.in_runs == visibility::always ? "  n/a" : "";
  const auto text = [&](double value) { return figure_text(which.unit, value); };
  if (!found->interval) return fmt::format("{:>8}", text(found->value));
  return fmt::format("{:>8}  {} … {}", text(found->value), text(found->interval->low), text(found->interval->high));
}

using describe = std::function<std::string(const series&)>;

// fmt counts the bytes of "…" as columns right, since it knows UTF-8.
std::string row(std::string_view label, const group& members, const describe& cell) {
  std::string line = fmt::format("{:<{}}", label, label_width);
  for (const series* each : members) line += fmt::format("{:<{}}", each->measured() ? cell(*each) : "", column_width);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string heading(const work& work, std::string_view covered) {
  const bool reads = work.operation == operation::read;
  const std::string kind = reads ? std::string(name(work.temperature)) : std::string(name(work.durability));
  const std::string loop =
      work.rate ? fmt::format("open loop, {:g}/s{}", *work.rate, work.poisson ? " Poisson" : "") : "queue depth 1";
  return wrapped(fmt::format("{} {} {}, {}, {}, {}, within {} [µs, 95 % {}]", order_heading(work.load),
                             size_text(work.block), name(work.operation), kind, name(work.form), loop,
                             size_text(work.working_set), covered));
}

std::string column_name(const work& work) {
  const std::string advised = advice_text(work);
  return fmt::format("{:>8}{}{}", name(work.mode), advised.empty() ? "" : ", ", advised);
}

std::string block(const group& members, const report& run, const remark_counts& among) {
  const auto measured = std::ranges::find_if(members, [](const series* each) { return each->measured(); });
  std::string text =
      heading(members.front()->work, interval_scope(measured == members.end() ? *members.front() : **measured));
  std::string columns = fmt::format("{:<{}}", "", label_width);
  for (const series* each : members) columns += fmt::format("{:<{}}", column_name(each->work), column_width);
  columns.erase(columns.find_last_not_of(' ') + 1);
  text += columns + '\n';

  if (std::any_of(members.begin(), members.end(), [](const series* each) { return each->measured(); })) {
    const series* const first =
        *std::find_if(members.begin(), members.end(), [](auto* each) { return each->measured(); });
    for (const percentile& which : first->latency.percentiles)
      text += row(percentile_name(which.fraction), members,
                  [&](const series& each) { return percentile_cell(each, which.fraction); });
    for (const figure& each : figures_of_series()) {
      const auto has = [&](const series* of) { return of->measured() && each.of(*of).has_value(); };
      if (each.in_runs == visibility::always ||
          (each.in_runs == visibility::if_known && std::ranges::any_of(members, has)))
        text += row(each.label, members, [&](const series& of) { return cell(each, of); });
    }
    text += row("engine", members, [](const series& each) { return "  " + each.service.engine; });
    if (first->work.form == form::asynchronous)
      text += row("path", members, [](const series& each) { return path_text(each.service); });
  }
  for (const series* each : members) {
    for (const std::string& line : own_remarks(*each, run, among)) text += wrapped(line);
    if (const std::string stood = stall_text(each->service); each->measured() && !stood.empty())
      text += wrapped(fmt::format("{}: {}", name(each->work.mode), stood));
    const bool tells = !traits(each->work.mode).keeps_pages || each->work.temperature == temperature::cold ||
                       each->verification.text.find("VERIFIED durable") != std::string::npos;
    if (each->measured() && tells && !each->verification.text.empty())
      text += wrapped(fmt::format("{}: {}", name(each->work.mode), each->verification.text));
  }
  return text + '\n';
}

std::string blocks(const report& report) {
  const remark_counts among = count_remarks(report);
  std::string text;
  for (const group& each : groups(report))
    for (const group& part : fitting(each)) text += block(part, report, among);
  return text;
}

std::string noise_text(const report& report) {
  if (!report.noise_before || !report.noise_after) return "";
  return wrapped(
      fmt::format("Noise of the host: a program that only computes was held up for at most {:.0f} µs before the run, "
                  "{:.0f} µs after; \"trust to\" is the percentile up to which that cannot explain the figures.",
                  report.noise_before->max_ns / 1000, report.noise_after->max_ns / 1000));
}

// "3 000 MiB"; of several runs from the least to the most: "512 (rank 1) … 3 000 (rank 0) MiB". Empty: it is not known
// of each.
std::string mebibytes_of(const std::vector<run_memory>& runs, memory_facts run_memory::*when,
                         std::optional<std::uint64_t> memory_facts::*what) {
  const auto value = [&](const run_memory& of) { return of.*when.*what; };
  if (!std::ranges::all_of(runs, [&](const run_memory& each) { return value(each).has_value(); })) return "";
  const auto [least, most] = std::ranges::minmax_element(runs, {}, value);
  const auto mebibytes = [&](const run_memory& of) { return *value(of) >> 20; };
  if (mebibytes(*least) == mebibytes(*most)) return fmt::format("{} MiB", grouped(mebibytes(*least)));
  return fmt::format("{} ({}) … {} ({}) MiB", grouped(mebibytes(*least)), least->name, grouped(mebibytes(*most)),
                     most->name);
}

std::string memory_text(const report& report) {
  std::vector<run_memory> runs = report.memory;
  if (runs.empty()) runs.push_back({"", report.machine.host.memory, report.memory_after});
  const std::string before = mebibytes_of(runs, &run_memory::before, &memory_facts::available_bytes);
  const std::string after = mebibytes_of(runs, &run_memory::after, &memory_facts::available_bytes);
  if (before.empty() || after.empty()) return "";
  std::string text = fmt::format("Memory available: {} before, {} after", before, after);
  const std::string begins = mebibytes_of(runs, &run_memory::before, &memory_facts::dirty_background_limit_bytes);
  const std::string waits = mebibytes_of(runs, &run_memory::before, &memory_facts::dirty_limit_bytes);
  if (!begins.empty() && !waits.empty())
    text += fmt::format("; writeback begins at {} of dirty memory, writers wait at {}", begins, waits);
  return wrapped(text + ".");
}

std::string footer(const report& report) {
  std::string text = wrapped(fmt::format("Clock: {}, {:.3g} ns to read; latencies near that cannot be distinguished.",
                                         report.clock.source, report.clock.floor_ns));
  if (!report.clock.reason.empty()) text += wrapped("Not the processor's counter: " + report.clock.reason);
  text += wrapped(
      report.kind == report_kind::depth
          ? "Closed loop: that number of transfers is always in flight; the next begins when one completes, and waits "
            "behind the others."
          : "Closed loop, unless it says open loop: a transfer begins when the one before it completes, so these are "
            "service times; nothing waits in a queue.");
  text += noise_text(report) + memory_text(report);
  for (const std::string& note : report.notes) text += wrapped(note);
  for (const recommendation& each : report.advice)
    if (each.severity != severity::note)
      text += wrapped(fmt::format("{}: {}: {}{}", name(each.severity), each.finding, each.why,
                                  each.command ? " Change it with: " + *each.command : ""));
  if (!report.complete) text += "INCOMPLETE: interrupted.\n";
  if (!report.valid()) text += "INVALID: figures of the series named above are withheld.\n";
  return text;
}

}  // namespace

std::string table(const report& report) {
  std::string text;
  if (!report.detections.empty()) text = detection_text(report) + '\n';
  if (!report.settings.profile.empty()) {
    text += profile_block(report);
  } else {
    switch (report.kind) {
      case report_kind::memory: text += shortage_block(report); break;
      case report_kind::depth: text += ladder_blocks(report); break;
      case report_kind::run: text += blocks(report);
    }
  }
  return text + contributions(report) + shared_remarks(report) + footer(report) + '\n' + verdict_text(report);
}

}  // namespace qd1
