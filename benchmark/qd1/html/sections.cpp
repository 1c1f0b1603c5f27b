// SPDX-License-Identifier: BSL-1.0
#include "sections.hpp"

#include "cdf_chart.hpp"
#include "depth_chart.hpp"
#include "load_panel.hpp"
#include "memory_panel.hpp"
#include "overview.hpp"
#include "percentile_chart.hpp"
#include "profile_panel.hpp"
#include "strip.hpp"
#include "table.hpp"
#include "timeline_chart.hpp"
#include "validity.hpp"
#include "verdict.hpp"

#include <utility>

namespace qd1::html {
namespace {

// Runs that are compared show each step by itself.
bool shows_loads(std::span<const named_report> runs) {
  return runs.size() == 1 && runs.front().run->kind == report_kind::depth && !shows_profile(runs);
}

bool shows_memory(std::span<const named_report> runs) {
  return runs.size() == 1 && runs.front().run->kind == report_kind::memory;
}

// A sentence for each pair of many runs would be too many.
bool shows_matrix(std::span<const named_report> runs) { return runs.size() > 2 && comparable(runs); }

nodes verdict(const panel& from, std::span<const named_report> runs, const std::vector<series_decision>& decisions) {
  if (shows_memory(runs)) return {verdict_of_memory(from)};
  if (shows_profile(runs)) return {verdict_of_profile(from)};
  if (shows_loads(runs)) return {verdict_of_load(from)};
  if (runs.size() == 1) return verdict_of_modes(from);
  if (!comparable(runs)) return {"No verdict: the runs did not measure the same thing."};
  return verdict_of_runs(from, decisions);
}

// The modes beside each other; of loads, what depth brings; of short memory, how it went along; of a profile, its
// table.
node picture(const panel& from, std::span<const named_report> runs) {
  if (shows_profile(runs)) return profile_table(from, *runs.front().run);
  node throughput = shows_memory(runs) ? throughput_timeline(from) : shows_loads(runs) ? throughput_chart(from) : "";
  return throughput.empty() ? overview(from, runs.size() == 1) : throughput;
}

// The answer: a sentence and a picture for each kind of work.
node answer(const panel& from, std::span<const named_report> runs, const std::vector<series_decision>& decisions) {
  node found =
      element("article", {}, {element("h2", {}, {from.title}), element("p", {{"class", "detail"}}, {from.detail})});
  if (!shows_matrix(runs)) found.add(element("p", {{"class", "verdict"}}, verdict(from, runs, decisions)));
  return found.add(picture(from, runs));
}

}  // namespace

std::vector<panel> panels_to_show(const report& run) {
  if (!run.settings.profile.empty()) return panels_of_profile(run);
  switch (run.kind) {
    case report_kind::memory: return panels_of_memory(run);
    case report_kind::depth: return panels_of_loads(run);
    case report_kind::run: break;
  }
  return panels_of(run);
}

node answers(const std::vector<panel>& panels, std::span<const named_report> runs) {
  node found = element("section", {{"class", "answers"}});
  const std::vector<series_decision> decisions = runs.size() > 1 ? decisions_of(runs) : std::vector<series_decision>();
  if (shows_matrix(runs)) found.add(verdict_matrix(runs, decisions));
  for (const panel& each : panels) found.add(answer(each, runs, decisions));
  if (shows_loads(runs) || shows_memory(runs) || shows_profile(runs)) return found;
  found.add(element("p", {{"class", "how"}},
                    {"Dot: median, with its 95 % interval. Thick bar: up to p99. Thin line: up to p99.9. The axis is "
                     "logarithmic: equal steps are equal factors."}));
  return found;
}

node details(const panel& from, std::span<const named_report> runs) {
  node found = element(
      "section", {{"class", "details"}},
      {element("h2", {}, {from.title}), element("p", {{"class", "detail"}}, {from.detail}), figures_table(from)});
  if (shows_loads(runs))
    if (node timeline = throughput_timeline(from); !timeline.empty())
      found.add(element("div", {{"class", "timeline"}}, {std::move(timeline)}));
  if (nodes timelines = memory_timelines(from); !timelines.empty())
    found.add(element("div", {{"class", "charts"}}, std::move(timelines)));
  node latency = shows_loads(runs) ? latency_chart(from) : "";
  if (from.any_drawable())
    found.add(element("div", {{"class", "charts"}},
                      {percentile_chart(from), latency.empty() ? cdf_chart(from) : std::move(latency)}));
  found.add(runs_table(from));
  found.add(strips(from));
  found.add(evidence_table(from));
  return found;
}

node notes(std::span<const named_report> runs) {
  node list = element("ul");
  bool any = false;
  for (const named_report& each : runs)
    for (const std::string& note : each.run->notes) {
      list.add(element("li", {}, {runs.size() > 1 ? each.name + ": " + note : note}));
      any = true;
    }
  if (!any) return "";
  return element("section", {{"class", "notes"}}, {element("h2", {}, {"Worth knowing"}), std::move(list)});
}

}  // namespace qd1::html
