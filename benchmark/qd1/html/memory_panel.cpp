// SPDX-License-Identifier: BSL-1.0
#include "memory_panel.hpp"

#include "quantity.hpp"

#include <fmt/format.h>
#include <qd1/findings/steps.hpp>

#include <set>
#include <string_view>

namespace qd1::html {
namespace {

bool has_ballast(const work& what, const report& run) { return what.memory.value_or(0) < memory_without_ballast(run); }

// Those that are compared with each other share a hue: a read cold and again, a write without ballast and with it.
std::string hue_of(const work& what, const report& run) {
  const std::uint64_t memory = memory_without_ballast(run);
  if (what.operation == operation::write) return what.working_set * 4 > memory ? "run2" : "run3";
  if (has_ballast(what, run)) return "run4";
  return what.working_set > memory ? "run3" : "run2";
}

curve curve_of_step(const series& step, const report& run) {
  const work& what = step.work;
  const std::string size = size_text(what.working_set);
  const bool reads = what.operation == operation::read, ballast = has_ballast(what, run);
  const bool cold = reads && what.temperature == temperature::cold;
  std::string brief = ballast && reads ? "ballast" : size;
  if (reads) brief += cold ? " cold" : " again";
  if (ballast && !reads) brief += " ballast";
  return {&step,
          size + circumstances(what, run),
          brief,
          hue_of(what, run),
          reads ? cold : ballast,
          step.trusted_fraction.value_or(1)};
}

// What distinguishes the members of a pair.
std::string_view condition(const curve& which) {
  const work& what = which.series->work;
  if (what.operation == operation::write) return which.dashed ? "with ballast" : "without";
  return what.temperature == temperature::cold ? "cold" : "again";
}

// "256 MiB: 12.8 k a second cold (latency bound), 118 k again (served from memory)."
std::string sentence(const std::vector<const curve*>& pair) {
  const curve& first = *pair.front();
  std::string text;
  for (const curve* each : pair) {
    text += text.empty() ? fmt::format("{}: {} a second", first.name.substr(0, first.name.find(',')),
                                       rate_text(each->series->iops))
                         : ", " + rate_text(each->series->iops);
    text += fmt::format(" {}", condition(*each));
    if (each->series->shortage && each->series->shortage->bound != bound::unknown)
      text += fmt::format(" ({})", name(each->series->shortage->bound));
  }
  if (first.series->work.operation == operation::read && first.short_name.starts_with("ballast"))
    text = "With ballast, " + text;
  return text + '.';
}

}  // namespace

std::vector<panel> panels_of_memory(const report& run) {
  std::vector<panel> found;
  for (const operation what : {operation::read, operation::write}) {
    panel next{what == operation::read ? "Reads" : "Writes", "", {}, run.clock.floor_ns};
    for (const series& each : run.series)
      if (each.work.operation == what) next.curves.push_back(curve_of_step(each, run));
    if (next.curves.empty()) continue;
    const work& first = next.curves.front().series->work;
    next.detail = fmt::format("Random {} blocks, cached, one operation after the other, with {} of memory",
                              size_text(first.block), size_text(memory_without_ballast(run)));
    next.strokes = what == operation::read ? "Dashed cold, solid again" : "Solid without ballast, dashed with it";
    found.push_back(std::move(next));
  }
  return found;
}

std::string verdict_of_memory(const panel& from) {
  std::string text;
  std::set<std::string> told;
  for (const curve& first : from.curves) {
    if (!told.insert(first.hue).second) continue;
    std::vector<const curve*> pair;
    for (const curve& each : from.curves)
      if (each.hue == first.hue && each.measured()) pair.push_back(&each);
    if (!pair.empty()) text += (text.empty() ? "" : " ") + sentence(pair);
  }
  return text.empty() ? "No figures: no valid step was measured." : text;
}

}  // namespace qd1::html
