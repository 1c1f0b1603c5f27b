// SPDX-License-Identifier: BSL-1.0
#include "table.hpp"

#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <vector>

namespace qd1 {
namespace {

constexpr int label_width = 10;
constexpr int column_width = 30;
constexpr std::size_t page_width = label_width + 3 * column_width;

// The series that differ in nothing but the mode stand side by side.
using group = std::vector<const series*>;

bool side_by_side(work a, work b) {
  a.mode = b.mode;
  a.temperature = b.temperature;
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

// Four digits that tell, at whatever magnitude.
std::string digits(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  if (value >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string microseconds(double ns) { return digits(ns / 1000); }

std::string cell(const estimate& ns) {
  const std::string value = fmt::format("{:>8}", microseconds(ns.value));
  if (!ns.interval) return value;
  return fmt::format("{}  {} … {}", value, microseconds(ns.interval->low), microseconds(ns.interval->high));
}

std::string cell(const percentile& found) {
  if (found.value) return cell(*found.value);
  return fmt::format("{:>8} (needs {})", "n/a", grouped(found.samples_needed));
}

std::string path_text(const service& service) {
  const std::uint64_t total = service.by_inline + service.by_ring + service.by_worker;
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view path) {
    if (count == 0) return;
    const double part = 100 * static_cast<double>(count) / static_cast<double>(total);
    text += fmt::format("  {} {:.3g}%", path, part);
  };
  add(service.by_inline, "inline");
  add(service.by_ring, "ring");
  add(service.by_worker, "worker");
  return text;
}

using describe = std::function<std::string(const series&)>;

// fmt counts the bytes of "…" as columns right, since it knows UTF-8.
std::string row(std::string_view label, const group& members, const describe& cell) {
  std::string line = fmt::format("{:<{}}", label, label_width);
  for (const series* each : members) line += fmt::format("{:<{}}", each->measured() ? cell(*each) : "", column_width);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string heading(const work& work) {
  return fmt::format("Random {} {}, {}, queue depth 1, {} working set [µs, 95 % interval beside]\n",
                     size_text(work.block), name(work.operation), name(work.form), size_text(work.working_set));
}

// Lines broken between words, those after the first indented.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string lines;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > page_width) {
      lines += line + '\n';
      line = "   ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + '\n';
}

std::string verdicts(const series& each) {
  std::string lines;
  const std::string who =
      fmt::format("{} {}, {}", name(each.work.mode), name(each.work.operation), name(each.work.form));
  if (!each.not_available.empty())
    lines += wrapped(fmt::format("{}: not available: {}", name(each.work.mode), each.not_available));
  for (const std::string& reason : each.invalid) lines += wrapped(fmt::format("INVALID: {}: {}", who, reason));
  for (const std::string& note : each.notes) lines += wrapped(fmt::format("{}: {}", who, note));
  if (!each.service.reason.empty()) lines += wrapped(fmt::format("{}: not io_uring: {}", who, each.service.reason));
  return lines;
}

std::string block(const group& members) {
  std::string text = heading(members.front()->work);
  std::string columns = fmt::format("{:<{}}", "", label_width);
  for (const series* each : members)
    columns += fmt::format("{:<{}}", fmt::format("{:>8}", name(each->work.mode)), column_width);
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
    text += row("IOPS", members, [](const series& each) { return fmt::format("{:>8.0f}", each.iops); });
    text += row("MB/s", members, [&](const series& each) { return number(each.bytes_per_second / 1e6); });
    text += row("samples", members, [](const series& each) { return fmt::format("{:>8}", each.latency.samples); });
    text += row("engine", members, [](const series& each) { return "  " + each.service.engine; });
    if (first->work.form == form::asynchronous)
      text += row("path", members, [](const series& each) { return path_text(each.service); });
  }
  for (const series* each : members) text += verdicts(*each);
  return text + '\n';
}

std::string footer(const report& report) {
  std::string text = fmt::format("Clock: {}, {:.3g} ns to read; latencies near that are not to be told apart.\n",
                                 report.clock.source, report.clock.floor_ns);
  if (!report.clock.reason.empty()) text += wrapped("Not the processor's counter: " + report.clock.reason);
  text += "Closed loop: one transfer after the other, so these are service times; nothing waits in a queue.\n";
  for (const std::string& note : report.notes) text += wrapped(note);
  if (!report.complete) text += "INCOMPLETE: interrupted.\n";
  if (!report.valid()) text += "INVALID: figures of the series named above are withheld.\n";
  return text;
}

}  // namespace

std::string table(const report& report) {
  std::string text;
  for (const group& each : groups(report)) text += block(each);
  return text + footer(report);
}

}  // namespace qd1
