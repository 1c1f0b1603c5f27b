// SPDX-License-Identifier: BSL-1.0
#include "output/table.hpp"

#include "depth/rungs.hpp"
#include "memory/steps.hpp"
#include "output/contributions.hpp"
#include "output/ladder.hpp"
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

constexpr int label_width = 10;

// Three modes beside each other on 100 columns; four, with a mapping that was told MADV_RANDOM, on 118.
int column_width(std::size_t columns) { return columns <= 3 ? 30 : 27; }

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

std::string cell(const estimate& ns) {
  std::string value = fmt::format("{:>8}", microseconds(ns.value));
  if (!ns.interval) return value;
  return fmt::format("{}  {} … {}", value, microseconds(ns.interval->low), microseconds(ns.interval->high));
}

std::string cell(const percentile& found) {
  if (found.value) return cell(*found.value);
  return fmt::format("{:>8} (needs {})", "n/a", grouped(found.samples_needed));
}

using describe = std::function<std::string(const series&)>;

// fmt counts the bytes of "…" as columns right, since it knows UTF-8.
std::string row(std::string_view label, const group& members, const describe& cell) {
  std::string line = fmt::format("{:<{}}", label, label_width);
  for (const series* each : members)
    line += fmt::format("{:<{}}", each->measured() ? cell(*each) : "", column_width(members.size()));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string heading(const work& work) {
  const bool reads = work.operation == operation::read;
  const std::string kind = reads ? std::string(name(work.temperature)) : std::string(name(work.durability));
  const std::string loop =
      work.rate ? fmt::format("open loop, {:g}/s{}", *work.rate, work.poisson ? " Poisson" : "") : "queue depth 1";
  return fmt::format("Random {} {}, {}, {}, {}, within {} [µs, 95 % interval]\n", size_text(work.block),
                     name(work.operation), kind, name(work.form), loop, size_text(work.working_set));
}

std::string column_name(const work& work) {
  return fmt::format("{:>8}{}", name(work.mode), work.advice == advice::random ? ", MADV_RANDOM" : "");
}

std::string block(const group& members) {
  std::string text = heading(members.front()->work);
  std::string columns = fmt::format("{:<{}}", "", label_width);
  for (const series* each : members)
    columns += fmt::format("{:<{}}", column_name(each->work), column_width(members.size()));
  columns.erase(columns.find_last_not_of(' ') + 1);
  text += columns + '\n';

  if (std::any_of(members.begin(), members.end(), [](const series* each) { return each->measured(); })) {
    const series* const first =
        *std::find_if(members.begin(), members.end(), [](auto* each) { return each->measured(); });
    for (std::size_t index = 0; index < first->latency.percentiles.size(); ++index)
      text += row(percentile_name(first->latency.percentiles[index].fraction), members,
                  [&](const series& each) { return cell(each.latency.percentiles[index]); });
    const auto number = [](double value) { return fmt::format("{:>8}", digits(value)); };
    text += row("min", members, [&](const series& each) { return number(each.latency.min / 1000); });
    text += row("max", members, [&](const series& each) { return number(each.latency.max / 1000); });
    text += row("mean", members, [](const series& each) { return cell(each.latency.mean); });
    if (std::any_of(members.begin(), members.end(), [](const series* each) { return each->batched_ns.has_value(); }))
      text += row("batched", members,
                  [&](const series& each) { return each.batched_ns ? number(*each.batched_ns / 1000) : ""; });
    text += row("IOPS", members, [](const series& each) { return fmt::format("{:>8.0f}", each.iops); });
    text += row("MB/s", members, [&](const series& each) { return number(each.bytes_per_second / 1e6); });
    text += row("samples", members, [](const series& each) { return fmt::format("{:>8}", each.latency.samples); });
    text += row("trust to", members, [](const series& each) { return fmt::format("{:>8}", trusted_percentile(each)); });
    text +=
        row("CPU/op", members, [&](const series& each) { return each.cpu_ns ? number(*each.cpu_ns / 1000) : "  n/a"; });
    text += row("engine", members, [](const series& each) { return "  " + each.service.engine; });
    if (first->work.form == form::asynchronous)
      text += row("path", members, [](const series& each) { return path_text(each.service); });
  }
  for (const series* each : members) {
    for (const std::string& line : remarks(*each)) text += wrapped(line);
    const bool tells = each->work.mode == mode::direct || each->work.temperature == temperature::cold;
    if (each->measured() && tells && !each->verification.text.empty())
      text += wrapped(fmt::format("{}: {}", name(each->work.mode), each->verification.text));
  }
  return text + '\n';
}

std::string noise_text(const report& report) {
  if (!report.noise_before || !report.noise_after) return "";
  return wrapped(
      fmt::format("Noise of the host: a program that only computes was held up for {:.0f} µs at most before the run, "
                  "{:.0f} µs after; \"trust to\" is up to which percentile that cannot be what was measured.",
                  report.noise_before->max_ns / 1000, report.noise_after->max_ns / 1000));
}

std::string memory_text(const report& report) {
  const memory_facts& before = report.machine.host.memory;
  if (!before.available_bytes || !report.memory_after.available_bytes) return "";
  const auto mebibytes = [](std::uint64_t bytes) { return grouped(bytes >> 20); };
  std::string text = fmt::format("Memory available: {} MiB before, {} MiB after", mebibytes(*before.available_bytes),
                                 mebibytes(*report.memory_after.available_bytes));
  if (before.dirty_background_limit_bytes && before.dirty_limit_bytes)
    text += fmt::format("; writing back begins at {} MiB of dirty memory, waiting at {}",
                        mebibytes(*before.dirty_background_limit_bytes), mebibytes(*before.dirty_limit_bytes));
  return wrapped(text + ".");
}

std::string footer(const report& report) {
  std::string text = fmt::format("Clock: {}, {:.3g} ns to read; latencies near that are not to be told apart.\n",
                                 report.clock.source, report.clock.floor_ns);
  if (!report.clock.reason.empty()) text += wrapped("Not the processor's counter: " + report.clock.reason);
  text += wrapped(
      has_loads(report)
          ? "Closed loop: so many transfers are in flight all the time, the next begins when one is over, and waits "
            "behind those beside it."
          : "Closed loop, unless it says open loop: a transfer begins when the one before it is over, so these are "
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
  if (has_short_memory(report))
    text = shortage_block(report);
  else if (has_loads(report))
    text = ladder_blocks(report);
  else
    for (const group& each : groups(report)) text += block(each);
  return text + contributions(report) + footer(report);
}

}  // namespace qd1
