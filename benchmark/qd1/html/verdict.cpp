// SPDX-License-Identifier: BSL-1.0
#include "verdict.hpp"

#include "quantity.hpp"

#include <fmt/format.h>
#include <qd1/compare/difference.hpp>

#include <algorithm>

namespace qd1::html {
namespace {

struct contender {
  const curve* shown;
  const estimate* value;  ///< at the percentile that is looked at

  const work& what() const { return shown->series->work; }
};

// The fastest first.
std::vector<contender> ranking(const panel& from, double fraction) {
  std::vector<contender> found;
  for (const curve& each : from.curves)
    if (each.measured())
      if (const estimate* value = percentile_in(*each.series, fraction)) found.push_back({&each, value});
  std::ranges::stable_sort(found, {}, [](const contender& each) { return each.value->value; });
  return found;
}

// The better form of each mode, so that modes are compared and not the ways to call them.
std::vector<contender> best_of_each_mode(const std::vector<contender>& ranked) {
  std::vector<contender> found;
  for (const contender& each : ranked)
    if (std::ranges::none_of(found, [&](const contender& other) { return other.what().mode == each.what().mode; }))
      found.push_back(each);
  return found;
}

// "mapped", or "mapped async": blocking is what one expects.
node mention(const contender& which) { return element("b", {{"class", which.shown->hue}}, {which.shown->short_name}); }

// The interval in the unit of excess_text(), or as a factor if there is no difference.
std::string sureness(const estimate& ratio) {
  const bool in_percent = is_known_to_differ(ratio) && ratio.interval->high < 1.45;
  const auto text = in_percent ? excess_text : ratio_text;
  const std::string low = text(ratio.interval->low), high = text(ratio.interval->high);
  if (low == high) return fmt::format("95\u00a0% sure of {}", low);
  return fmt::format("95\u00a0% sure: {} to {}", low, high);
}

// As near as compare calls no difference.
bool is_near_one(const estimate& ratio) {
  constexpr double margin = 0.1;
  return ratio.interval && ratio.interval->low >= 1 - margin && ratio.interval->high <= 1 + margin;
}

// What may be the host's noise has the mark of the tables.
std::string figure_of(const contender& which, double fraction = 0.5) {
  return duration_text(which.value->value) + (fraction > which.shown->trusted + 1e-12 ? "†" : "");
}

// "mapped is 2.1× faster than cached at the median"
nodes comparison(const contender& first, const contender& second) {
  const estimate by = ratio(*second.value, *first.value);
  if (is_too_variable(by))
    return {mention(first), " and ", mention(second),
            by.interval ? " are too variable to compare at the median"
                        : " are not compared, without intervals, at the median",
            fmt::format(" ({} vs {}).", figure_of(first), figure_of(second))};
  const std::string values = fmt::format(" ({} vs {}; {})", figure_of(first), figure_of(second), sureness(by));
  if (!is_known_to_differ(by))
    return {mention(first), " and ", mention(second),
            is_near_one(by) ? " do not differ at the median" : " cannot be told apart at the median", values + "."};
  return {mention(first), " is ",          element("b", {}, {excess_text(by.value) + " faster"}),
          " than ",       mention(second), " at the median",
          values + "."};
}

// What direct is in the picture for: how long the device itself takes.
std::string device_remark(const contender& which) {
  if (!traits(which.what().mode).is_direct) return "";
  switch (which.shown->series->verification.result) {
    case verification::verdict::verified: return " goes to the device: ";
    case verification::verdict::unknown: return ", not verified to go to the device: ";
    default: return "";
  }
}

void add_others(nodes& to, const std::vector<contender>& ranked) {
  for (std::size_t each = 2; each < ranked.size(); ++each) {
    const std::string remark = device_remark(ranked[each]);
    const estimate by = ratio(*ranked[each].value, *ranked[0].value);
    to.push_back(" ");
    to.push_back(mention(ranked[each]));
    to.push_back(fmt::format("{}{}, ", remark.empty() ? ": " : remark, figure_of(ranked[each])));
    if (is_too_variable(by)) {
      to.push_back(by.interval ? "which is too variable to compare." : "which is not compared, without an interval.");
      continue;
    }
    if (is_known_to_differ(by)) {
      to.push_back(ratio_text(by.value) + " slower.");
      continue;
    }
    to.push_back("which cannot be told apart from ");
    to.push_back(mention(ranked[0]));
    to.push_back(".");
  }
}

// The tail may have another winner than the middle: who chooses a mode has to know.
void add_tail(nodes& to, const panel& modes, const contender& winner) {
  for (const double fraction : {0.99999, 0.999, 0.99}) {
    const std::vector<contender> ranked = best_of_each_mode(ranking(modes, fraction));
    const auto noisy = [&](const contender& each) { return fraction > each.shown->trusted; };
    if (ranked.size() < 2 || std::ranges::any_of(ranked, noisy)) continue;
    if (ranked[0].what().mode == winner.what().mode || !is_known_to_differ(ratio(*ranked[1].value, *ranked[0].value)))
      return;
    to.push_back(fmt::format(" But in the tail, at {}, ", percentile_text(fraction)));
    to.push_back(mention(ranked[0]));
    to.push_back(fmt::format(" is the fastest ({}).", figure_of(ranked[0], fraction)));
    return;
  }
}

// "fast is 9.8 % faster than base at the median (…)"
node comparison_of_runs(const curve& base, const curve& other, const decision& found) {
  const estimate &first = *median(*base.series), &second = *median(*other.series);
  const bool is_known = !found.ratio || !is_too_variable(*found.ratio);
  nodes words = {element("b", {{"class", other.hue}}, {other.short_name}), " "};
  switch (found.verdict) {
    case difference::none:
      words.push_back(found.differs() ? "differs by less than 5\u00a0% from " : "does not differ from ");
      break;
    case difference::inconclusive:
      words.push_back(is_known ? "cannot be told apart from " : "is too variable to compare with ");
      break;
    case difference::faster:
    case difference::slower: {
      const bool slower = found.verdict == difference::slower;
      const double size = slower ? found.ratio->value : 1 / found.ratio->value;
      words.push_back("is ");
      words.push_back(element("b", {}, {excess_text(size) + (slower ? " slower" : " faster")}));
      words.push_back(" than ");
    }
  }
  words.push_back(element("b", {{"class", base.hue}}, {base.short_name}));
  words.push_back(fmt::format(" at the median ({} vs {}", duration_text(found.ratio ? found.now : second.value),
                              duration_text(found.ratio ? found.base : first.value)));
  if (found.ratio && is_known)
    words.push_back(fmt::format("; 95\u00a0% sure: {:.2f} to {:.2f} times", found.ratio->interval->low,
                                found.ratio->interval->high));
  if (found.ratio && found.base_runs == 0) words.push_back("; both are means over the rounds");
  std::string remark = found.remark;
  if (!remark.empty() && remark[0] >= 'a' && remark[0] <= 'z') remark[0] = static_cast<char>(remark[0] - 'a' + 'A');
  words.push_back(remark.empty() ? "). " : "). " + remark + ". ");
  return element("span", {}, std::move(words));
}

}  // namespace

estimate ratio(const estimate& slower, const estimate& faster) {
  estimate found{faster.value > 0 ? slower.value / faster.value : 0, {}};
  // The ends that are furthest apart: wider than need be where the two are independent, never narrower.
  if (slower.interval && faster.interval && faster.interval->low > 0)
    found.interval =
        interval{slower.interval->low / faster.interval->high, slower.interval->high / faster.interval->low};
  return found;
}

bool is_known_to_differ(const estimate& ratio) {
  return ratio.interval && (ratio.interval->low > 1 || ratio.interval->high < 1);
}

nodes verdict_of_modes(const panel& modes) {
  const std::vector<contender> all = ranking(modes, 0.5);
  const std::vector<contender> ranked = best_of_each_mode(all);
  if (ranked.empty()) return {"No figures: no valid series of this kind was measured."};
  if (ranked.size() == 1 && all.size() > 1) return comparison(all[0], all[1]);
  if (ranked.size() == 1)
    return {mention(ranked[0]), fmt::format(": {} at the median. There is nothing to compare it with.",
                                            duration_text(ranked[0].value->value))};
  nodes sentence = comparison(ranked[0], ranked[1]);
  add_others(sentence, ranked);
  add_tail(sentence, modes, ranked[0]);
  return sentence;
}

std::vector<series_decision> decisions_of(std::span<const named_report> runs) {
  std::vector<series_decision> found;
  for (const named_report& each : runs.subspan(1)) {
    if (!why_not_comparable(*runs.front().run, *each.run).empty()) continue;
    for (const series& now : each.run->series)
      for (const series& base : runs.front().run->series)
        if (base.work == now.work && why_not_comparable(base, now).empty())
          found.push_back({&base, &now, compare(base, now, "p50")});
  }
  std::vector<decision*> all;
  all.reserve(found.size());
  for (series_decision& each : found) all.push_back(&each.found);
  allow_for_many(all);
  return found;
}

nodes verdict_of_runs(const panel& runs, const std::vector<series_decision>& decisions) {
  nodes sentence;
  for (const curve& base : runs.curves) {
    if (base.hue != "run1" || !base.measured()) continue;
    for (const curve& other : runs.curves) {
      if (&other == &base || other.dashed != base.dashed || other.hue == base.hue || !other.measured()) continue;
      const auto found = std::ranges::find(decisions, other.series, &series_decision::now);
      if (found != decisions.end())
        sentence.push_back(comparison_of_runs(base, other, found->found));
      else if (other.series->verification.result != base.series->verification.result)
        sentence.push_back(element("span", {},
                                   {element("b", {{"class", other.hue}}, {other.short_name}),
                                    " is not compared: only one of the two is verified to be direct."}));
    }
  }
  if (sentence.empty()) return {"Nothing to compare: the same work was not measured in both."};
  return sentence;
}

node verdict_matrix(std::span<const named_report> runs, const std::vector<series_decision>& decisions) {
  node head =
      element("tr", {{"role", "row"}}, {element("th", {{"scope", "col"}, {"role", "columnheader"}}, {"Series"})});
  for (const named_report& each : runs.subspan(1))
    head.add(element("th", {{"scope", "col"}, {"role", "columnheader"}}, {each.name}));
  nodes rows;
  for (const series& base : runs.front().run->series) {
    node row = element("tr", {{"role", "row"}},
                       {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {qd1::title(base.work)})});
    for (const named_report& each : runs.subspan(1)) {
      const auto found = std::ranges::find_if(decisions, [&](const series_decision& of) {
        return of.base == &base && of.now >= each.run->series.data() &&
               of.now < each.run->series.data() + each.run->series.size();
      });
      if (found == decisions.end()) {
        row.add(element("td", {{"role", "cell"}}, {"–"}));
        continue;
      }
      const decision& of = found->found;
      std::string text = verdict_text(of);
      if (of.verdict == difference::faster || of.verdict == difference::slower)
        text += " by " + excess_text(of.ratio->value < 1 ? 1 / of.ratio->value : of.ratio->value);
      const std::string interval = of.ratio && is_too_variable(*of.ratio) ? ""
                                   : of.ratio ? fmt::format("{:.3f} ({:.3f} … {:.3f})", of.ratio->value,
                                                            of.ratio->interval->low, of.ratio->interval->high)
                                              : of.remark;
      row.add(element("td", {{"role", "cell"}, {"title", of.remark}}, {text, " ", element("small", {}, {interval})}));
    }
    rows.push_back(std::move(row));
  }
  return element("section", {{"class", "verdicts"}},
                 {element("h2", {}, {fmt::format("At the median, compared with {}", runs.front().name)}),
                  element("table", {{"role", "table"}},
                          {element("caption", {},
                                   {"The ratio of the medians, with its 95 % interval. FASTER and SLOWER are right in "
                                    "all cells together with 95 %."}),
                           element("thead", {{"role", "rowgroup"}}, {std::move(head)}),
                           element("tbody", {{"role", "rowgroup"}}, std::move(rows))})});
}

}  // namespace qd1::html
