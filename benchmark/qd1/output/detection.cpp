// SPDX-License-Identifier: BSL-1.0
#include "output/detection.hpp"

#include "figures.hpp"
#include "findings/detections.hpp"
#include "output/wording.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

std::string lines_of(const detection& of) {
  std::string text = fmt::format("{}: {}", title(of.work), detection_verdict(of));
  if (!of.pairs.empty() && of.not_decidable.empty()) {
    const auto [base, now] = medians_of(of);
    text +=
        fmt::format("; p50 {} -> {} µs, {} -> {}; {} pairs of runs in {:.1f} s", figure_text(unit::nanoseconds, base),
                    figure_text(unit::nanoseconds, now), of.base, of.now, of.pairs.size(), of.seconds);
  }
  text = wrapped(text);
  for (const std::string& each : of.notes) text += wrapped(fmt::format("- {}: {}", of.now, each));
  return text;
}

}  // namespace

std::string detection_text(const report& report) {
  std::string text;
  for (const detection& each : report.detections) text += lines_of(each);
  const auto is_open = [](const detection& each) {
    return each.verdict == detected::undecided && each.not_decidable.empty();
  };
  text += wrapped(trust_in_detections);
  if (std::ranges::any_of(report.detections, is_open))
    text += wrapped("More pairs (--rounds), longer runs (--time), or fewer series (--modes, --ops) might decide.");
  return text;
}

}  // namespace qd1
