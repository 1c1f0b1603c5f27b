// SPDX-License-Identifier: BSL-1.0
#include "compare/comparison.hpp"

#include "compare/difference.hpp"
#include "figures.hpp"
#include "machine/differences.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace qd1 {
namespace {

// A figure of two series, and whether it differs.
struct judged {
  std::string figure;
  double base;  // of the runs as a whole
  double now;
  decision found;
};

struct judged_series {
  const series* base;
  const series* now;
  std::vector<judged> figures;

  const decision& median() const { return std::ranges::find(figures, "p50", &judged::figure)->found; }
};

judged_series judged_in_all(const series& base, const series& now) {
  judged_series made{&base, &now, {}};
  const auto add = [&](const std::string& figure) {
    const auto before = metric(base, figure);
    const auto after = metric(now, figure);
    if (before && after) made.figures.push_back({figure, before->value, after->value, compare(base, now, figure)});
  };
  for (const percentile& each : now.latency.percentiles) add(percentile_name(each.fraction));
  for (const figure& each : figures_of_series())
    if (each.is_compared) add(std::string(each.name));
  return made;
}

// The medians are the verdicts. The other figures have their own chance to be wrong.
void allow_for_all(std::vector<judged_series>& all) {
  std::vector<decision*> medians;
  std::vector<decision*> others;
  for (judged_series& of : all)
    for (judged& each : of.figures) (each.figure == "p50" ? medians : others).push_back(&each.found);
  allow_for_many(medians);
  allow_for_many(others);
}

// "SLOWER by 9.8 % (8.1 … 11.6)", "no difference"
std::string in_words(const decision& found) {
  std::string text = verdict_text(found);
  if (!found.ratio) return text;
  const bool slower = found.ratio->value >= 1;
  const auto per_cent = [&](double ratio) { return (slower ? ratio - 1 : 1 - ratio) * 100; };
  const auto [low, high] = *found.ratio->interval;
  if (found.verdict == difference::faster || found.verdict == difference::slower)
    text += fmt::format(" by {:.1f} % ({:.1f} … {:.1f})", per_cent(found.ratio->value), per_cent(slower ? low : high),
                        per_cent(slower ? high : low));
  return text;
}

// The figures beside a ratio are those that it was computed from: of each round, within its CPU.
std::string line(const judged& of) {
  const decision& found = of.found;
  const auto [factor, unit] = unit_of(of.figure);
  const auto text_of = [&, scale = factor](double value) {
    return figure_named(of.figure) != nullptr && scale == 1 ? figure_text(figure_named(of.figure)->unit, value)
                                                            : fmt::format("{:.3f}", value * scale);
  };
  std::string text =
      fmt::format("    {:<7} {:>10} -> {:>10} {:<6}", of.figure, text_of(found.ratio ? found.base : of.base),
                  text_of(found.ratio ? found.now : of.now), unit);
  if (found.ratio && !is_too_variable(*found.ratio))
    text += fmt::format("{:.3f}x ({:.3f} … {:.3f})  ", found.ratio->value, found.ratio->interval->low,
                        found.ratio->interval->high);
  return text + verdict_text(found) + (found.missing.empty() ? "" : ": " + found.missing) + '\n';
}

std::string lines(const judged_series& of) {
  const decision& found = of.median();
  std::string text = fmt::format("{}: {}\n", title(of.now->work), in_words(found));
  for (const judged& each : of.figures) text += line(each);
  if (found.base_runs != 0)
    text += fmt::format("    decided by runs: {} -> {} runs\n", found.base_runs, found.now_runs);
  if (!found.remark.empty()) text += fmt::format("    {}\n", found.remark);
  if (engine_text(of.base->service) != engine_text(of.now->service))
    text += fmt::format("    served by {} against {}\n", engine_text(of.base->service), engine_text(of.now->service));
  return text;
}

// That served the first series for which one was needed.
std::string engine(const report& run) {
  for (const series& each : run.series)
    if (each.work.form == form::asynchronous && each.measured()) return each.service.engine;
  return "none";
}

std::string environment(const report& base, const report& now, bool& forbids) {
  std::string text;
  for (const machine_difference& each : differences(base.machine, now.machine)) {
    text += "  " + each.in_words() + (each.forbids ? " (makes ratios meaningless)" : "") + '\n';
    forbids = forbids || each.forbids;
  }
  const auto differs = [&](std::string_view what, const auto& a, const auto& b) {
    if (a != b) text += fmt::format("  {}: {} against {}\n", what, a, b);
  };
  differs("qd1", base.version, now.version);
  differs("requested engine", base.settings.engine, now.settings.engine);
  differs("engine of asynchronous operations", engine(base), engine(now));
  differs("clock", base.clock.source, now.clock.source);
  return text.empty() ? "  none known\n" : text;
}

// The base may have the same work with offsets in another order.
std::string why_without_counterpart(const report& base, const series& now) {
  for (const series& each : base.series) {
    work same = each.work;
    same.load.order = now.work.load.order;
    same.load.theta = now.work.load.theta;
    if (same == now.work)
      return fmt::format("the order of the offsets differs: {} against {}", order_text(each.work.load),
                         order_text(now.work.load));
  }
  return "the other run has no series of the same work";
}

// How many series were decided in which way.
struct decided {
  std::size_t by_runs = 0, by_rounds = 0, in_turn = 0;

  void add(const decision& found) {
    if (found.base_runs != 0)
      ++by_runs;
    else if (found.spread == run_spread_in_turns)
      ++in_turn;
    else
      ++by_rounds;
  }
  bool any() const { return by_runs + by_rounds + in_turn != 0; }
};

// How their verdicts come about.
std::string explanation(const decided& series) {
  const auto [by_runs, by_rounds, in_turn] = series;
  std::string text =
      "\nVerdicts are on the median, with 95 % intervals. FASTER and SLOWER are right in all series together with 95 "
      "%, and so are those of all other figures.\n";
  if (by_rounds != 0)
    text += fmt::format(
        "By rounds: based on how the rounds of each run differ, and on an assumed spread of {:.0f} % between runs "
        "of the same thing ({:.0f} % of p95, mean and IOPS, {:.0f} % of p99, {:.0f} % of rarer ones). "
        "The figures are means over the rounds.\n",
        run_spread * 100, run_spread * spread_factor("p95") * 100, run_spread * spread_factor("p99") * 100,
        run_spread * spread_factor("p99.9") * 100);
  if (in_turn != 0)
    text += fmt::format(
        "In turn: based on how the ratios of paired rounds differ, and on an assumed spread of {:.0f} % between runs "
        "of the same thing ({:.0f} % of p95, mean and IOPS, {:.0f} % of p99, {:.0f} % of rarer ones). "
        "The figures are means over the rounds.\n",
        run_spread_in_turns * 100, run_spread_in_turns * spread_factor("p95") * 100,
        run_spread_in_turns * spread_factor("p99") * 100, run_spread_in_turns * spread_factor("p99.9") * 100);
  if (by_runs != 0)
    text +=
        "By runs: based on how the runs of each report differ. The figures are geometric means over the runs. "
        "FASTER and SLOWER need an interval of 99 %.\n";
  return text +
         fmt::format("FASTER, SLOWER: by at least {:.0f} %. No difference: one of {:.0f} % would have been seen.\n",
                     (negligible - 1) * 100, (notable - 1) * 100);
}

}  // namespace

comparison compare(const report& base, const report& now) {
  comparison out;
  bool forbidden = false;
  out.text = "Differences between the environments:\n" + environment(base, now, forbidden) + '\n';
  struct outcome {
    const series* now;
    std::string reason;  // for no verdict
  };
  std::vector<outcome> outcomes;
  std::vector<judged_series> judged;
  for (const series& each : now.series) {
    const auto same =
        std::find_if(base.series.begin(), base.series.end(), [&](auto& other) { return other.work == each.work; });
    outcomes.push_back({&each, forbidden                   ? "the environments differ too much"
                               : same == base.series.end() ? why_without_counterpart(base, each)
                                                           : why_not_comparable(*same, each)});
    if (outcomes.back().reason.empty()) judged.push_back(judged_in_all(*same, each));
  }
  allow_for_all(judged);
  decided all;
  auto next = judged.begin();
  for (const auto& [of, reason] : outcomes) {
    if (!reason.empty()) {
      out.text += fmt::format("{}: no verdict: {}\n", title(of->work), reason);
      continue;
    }
    all.add(next->median());
    out.text += lines(*next++);
  }
  if (all.any()) {
    out.text += explanation(all);
  } else {
    out.status = exit_invalid;
    out.text += "The runs are not comparable.\n";
  }
  return out;
}

}  // namespace qd1
