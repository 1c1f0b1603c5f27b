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

// "SLOWER by 9.8 % (8.1 … 11.6)", "no difference (of more than 5 %)".
std::string in_words(const decision& found) {
  std::string text(name(found.verdict));
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
std::string line(const series& base, const series& now, std::string_view figure) {
  const auto before = metric(base, figure);
  const auto after = metric(now, figure);
  if (!before || !after) return {};
  const decision found = compare(base, now, figure);
  const auto [factor, unit] = unit_of(figure);
  const auto text_of = [&, scale = factor](double value) {
    return figure_named(figure) != nullptr && scale == 1 ? figure_text(figure_named(figure)->unit, value)
                                                         : fmt::format("{:.3f}", value * scale);
  };
  std::string text =
      fmt::format("    {:<7} {:>10} -> {:>10} {:<6}", figure, text_of(found.ratio ? found.base : before->value),
                  text_of(found.ratio ? found.now : after->value), unit);
  if (found.ratio)
    text += fmt::format("{:.3f}x ({:.3f} … {:.3f})  ", found.ratio->value, found.ratio->interval->low,
                        found.ratio->interval->high);
  return text + std::string(name(found.verdict)) + (found.missing.empty() ? "" : ": " + found.missing) + '\n';
}

std::string lines(const series& base, const series& now) {
  const decision found = compare(base, now, "p50");
  std::string text = fmt::format("{}: {}\n", title(now.work), in_words(found));
  for (const percentile& each : now.latency.percentiles) text += line(base, now, percentile_name(each.fraction));
  for (const figure& each : figures_of_series())
    if (each.is_compared) text += line(base, now, each.name);
  if (found.base_runs != 0)
    text += fmt::format("    decided by runs: {} -> {} runs\n", found.base_runs, found.now_runs);
  if (!found.remark.empty()) text += fmt::format("    {}\n", found.remark);
  if (engine_text(base.service) != engine_text(now.service))
    text += fmt::format("    served by {} against {}\n", engine_text(base.service), engine_text(now.service));
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
  std::string text = "\nVerdicts are on the median, with 95 % intervals.\n";
  if (by_rounds != 0)
    text += fmt::format(
        "By rounds: based on how the rounds of each run differ, and on an assumed spread of {:.0f} % between runs\n"
        "of the same thing. The figures are means over the rounds.\n",
        run_spread * 100);
  if (in_turn != 0)
    text += fmt::format(
        "In turn: based on how the ratios of paired rounds differ, and on an assumed spread of {:.0f} % between runs\n"
        "of the same thing. The figures are means over the rounds.\n",
        run_spread_in_turns * 100);
  if (by_runs != 0)
    text +=
        "By runs: based on how the runs of each report differ. The figures are geometric means over the\nruns. "
        "FASTER and SLOWER need an interval of 99 %.\n";
  return text +
         fmt::format("FASTER, SLOWER: by at least {:.0f} %. No difference: one of {:.0f} % would have been seen.\n",
                     (negligible - 1) * 100, (notable - 1) * 100);
}

}  // namespace

std::string why_not_comparable(const series& base, const series& now) {
  for (const series* each : {&base, &now}) {
    if (!each->invalid.empty()) return "a run is invalid: " + each->invalid.front();
    if (!each->measured()) return "not measured: " + each->not_available;
  }
  if (base.verification.result != now.verification.result)
    return "direct was verified in only one of the runs: " + base.verification.text + " / " + now.verification.text;
  if (!metric(base, "p50") || !metric(now, "p50")) return "too few samples";
  return {};
}

std::string why_not_comparable(const report& base, const report& now) {
  for (const machine_difference& each : differences(base.machine, now.machine))
    if (each.forbids) return "the environments differ too much: " + each.in_words();
  return {};
}

comparison compare(const report& base, const report& now) {
  comparison out;
  bool forbidden = false;
  out.text = "Differences between the environments:\n" + environment(base, now, forbidden) + '\n';
  decided all;
  for (const series& each : now.series) {
    const auto same =
        std::find_if(base.series.begin(), base.series.end(), [&](auto& other) { return other.work == each.work; });
    const std::string reason = forbidden                   ? "the environments differ too much"
                               : same == base.series.end() ? why_without_counterpart(base, each)
                                                           : why_not_comparable(*same, each);
    if (!reason.empty()) {
      out.text += fmt::format("{}: no verdict: {}\n", title(each.work), reason);
      continue;
    }
    all.add(compare(*same, each, "p50"));
    out.text += lines(*same, each);
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
