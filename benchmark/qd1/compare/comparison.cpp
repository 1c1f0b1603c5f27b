// SPDX-License-Identifier: BSL-1.0
#include "compare/comparison.hpp"

#include "compare/metric.hpp"
#include "machine/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace qd1 {
namespace {

constexpr double indifference = 1.05;

std::string_view word(difference found) {
  constexpr std::string_view words[] = {"no difference", "FASTER", "SLOWER"};
  return words[static_cast<int>(found)];
}

std::string ratios(const series& base, const series& now) {
  std::string text;
  for (const std::string_view figure : {"p50", "p99", "p99.9", "mean"}) {
    const auto before = metric(base, figure);
    const auto after = metric(now, figure);
    if (!before || !after) continue;
    const estimate found = ratio(*before, *after);
    text +=
        fmt::format("    {:<6} {:>10.3f} -> {:>10.3f} us   {:.3f}x ({:.3f} … {:.3f})\n", figure, before->value / 1000,
                    after->value / 1000, found.value, found.interval->low, found.interval->high);
  }
  return text;
}

std::string environment(const report& base, const report& now, bool& forbids) {
  std::string text;
  for (const machine_difference& each : differences(base.machine, now.machine)) {
    text += "  " + each.in_words() + (each.forbids ? " (no ratio means anything)" : "") + '\n';
    forbids = forbids || each.forbids;
  }
  const auto differs = [&](std::string_view what, const auto& a, const auto& b) {
    if (a != b) text += fmt::format("  {}: {} against {}\n", what, a, b);
  };
  differs("qd1", base.version, now.version);
  differs("engine asked for", base.settings.engine, now.settings.engine);
  differs("clock", base.clock.source, now.clock.source);
  return text.empty() ? "  none that is known\n" : text;
}

}  // namespace

std::string why_not_comparable(const series& base, const series& now) {
  for (const series* each : {&base, &now}) {
    if (!each->invalid.empty()) return "a run is invalid: " + each->invalid.front();
    if (!each->measured()) return "not measured: " + each->not_available;
  }
  if (base.verification.result != now.verification.result)
    return "direct was verified in one of the runs only: " + base.verification.text + " / " + now.verification.text;
  if (!metric(base, "p50") || !metric(now, "p50")) return "too few samples";
  return {};
}

difference compare(const series& base, const series& now) {
  const interval ends = *ratio(*metric(base, "p50"), *metric(now, "p50")).interval;
  if (ends.low > indifference) return difference::slower;
  return ends.high < 1 / indifference ? difference::faster : difference::none;
}

comparison compare(const report& base, const report& now) {
  comparison out;
  bool forbidden = false;
  out.text = "Differences of the surroundings:\n" + environment(base, now, forbidden) + '\n';
  std::size_t compared = 0;
  for (const series& each : now.series) {
    const auto same =
        std::find_if(base.series.begin(), base.series.end(), [&](auto& other) { return other.work == each.work; });
    const std::string reason = forbidden                   ? "the surroundings forbid it"
                               : same == base.series.end() ? "the other run has no series of the same work"
                                                           : why_not_comparable(*same, each);
    if (!reason.empty()) {
      out.text += fmt::format("{}: no verdict: {}\n", title(each.work), reason);
      continue;
    }
    ++compared;
    out.text += fmt::format("{}: {}\n{}", title(each.work), word(compare(*same, each)), ratios(*same, each));
    if (same->service.engine != each.service.engine)
      out.text += fmt::format("    served by {} against {}\n", same->service.engine, each.service.engine);
  }
  if (compared == 0) {
    out.status = exit_invalid;
    out.text += "The runs are not comparable.\n";
  }
  return out;
}

}  // namespace qd1
