// SPDX-License-Identifier: BSL-1.0
#include "load_panel.hpp"

#include "quantity.hpp"

#include <fmt/format.h>
#include <qd1/findings/ladders.hpp>

namespace qd1::html {
namespace {

std::string title_of(const work& what) {
  std::string text = what.operation == operation::read ? "reads" : "writes";
  if (traits(what.mode).keeps_pages && what.operation == operation::read)
    text = fmt::format("{} {}", name(what.temperature), text);
  if (what.durability == durability::written_through && what.operation == operation::write) text += ", written through";
  text = fmt::format("{} {} {}", order_heading(what.load), name(what.mode), text);
  if (what.load.share < 1) text += fmt::format(", {:.3g} % of a mix", what.load.share * 100);
  return text;
}

std::string detail_of(const work& what, const report& run) {
  std::string text = fmt::format("{} blocks within {}", size_text(what.block), size_text(what.working_set));
  if (what.load.targets > 1) text += fmt::format(" of each of {} targets", what.load.targets);
  if (what.load.only) text += fmt::format(" of {} alone", target_name(run, *what.load.only));
  return text;
}

std::string name_of(const load& step) {
  if (step.workers == 1) return fmt::format("depth {}", step.depth);
  return fmt::format("{} workers, depth {}", step.workers, step.depth);
}

std::string short_name_of(const load& step) {
  return step.workers == 1 ? fmt::format("{}", step.depth) : fmt::format("{}×{}", step.workers, step.depth);
}

std::string sentence(const knee& from) {
  const load& at = from.at->work.load;
  const std::string throughput = fmt::format("{} a second", rate_text(from.best->iops));
  std::string text = at.workers > 1 ? fmt::format("With {} workers: ", at.workers) : "";
  if (from.at == from.best) return text + fmt::format("throughput grows up to depth {}: {}.", at.depth, throughput);
  text += fmt::format("depth {} reaches {:.0f} % of the maximum, {} at depth {}", at.depth,
                      from.at->iops / from.best->iops * 100, throughput, from.best->work.load.depth);
  const estimate* const p99 = percentile_in(*from.at, 0.99);
  const estimate* const beyond = percentile_in(*from.best, 0.99);
  if (p99 && beyond)
    text += fmt::format(", with a p99 of {} instead of {}", duration_text(p99->value), duration_text(beyond->value));
  return text + '.';
}

}  // namespace

std::vector<panel> panels_of_loads(const report& run) {
  std::vector<panel> found;
  for (const ladder& steps : ladders_of(run)) {
    const work& first = steps.front()->work;
    panel next{title_of(first), detail_of(first, run), {}, run.clock.floor_ns};
    for (std::size_t each = 0; each < steps.size(); ++each) {
      const load& step = steps[each]->work.load;
      next.curves.push_back({steps[each], name_of(step), short_name_of(step), fmt::format("run{}", each % 6 + 1), false,
                             steps[each]->trusted_fraction.value_or(1)});
    }
    found.push_back(std::move(next));
  }
  return found;
}

std::string verdict_of_load(const panel& from) {
  ladder steps;
  for (const curve& each : from.curves) steps.push_back(each.series);
  std::string text;
  for (const knee& each : knees_of(steps)) text += (text.empty() ? "" : " ") + sentence(each);
  if (!text.empty()) text[0] = text[0] == 'd' ? 'D' : text[0] == 't' ? 'T' : text[0];
  return text;
}

}  // namespace qd1::html
