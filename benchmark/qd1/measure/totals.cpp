// SPDX-License-Identifier: BSL-1.0
#include "measure/totals.hpp"

#include "measure/steadiness.hpp"
#include "platform/process.hpp"
#include "statistics/settling.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qd1 {

namespace {

std::vector<round_median> medians(const std::vector<round>& rounds) {
  std::vector<round_median> found;
  for (const round& each : rounds)
    for (const round_percentile& which : each.quantiles)
      if (which.fraction == 0.5 && which.ns > 0) found.push_back({which.ns, each.processor});
  return found;
}

// By the medians of rounds, or by the means of slices if there are too few rounds; by slices also for writes, because a
// throttled device may serve most of them as before.
void judge_settling(series& of, std::span<const sampled_round> sampled) {
  const auto by_rounds = how_settled(medians(of.rounds));
  const auto by_slices =
      !by_rounds || of.work.operation == operation::write ? is_steady(of.slices) : std::optional<bool>();
  if (by_rounds) of.unsettled = by_rounds->text;
  if (by_slices == false && of.unsettled.empty()) of.unsettled = "its latency was still changing";
  if (const std::string text = why_weights_matter(of.latency, sampled); !text.empty())
    of.unsettled += (of.unsettled.empty() ? "" : "; ") + text;
  if (by_rounds || by_slices || !of.unsettled.empty()) of.steady = of.unsettled.empty();
}

// An open loop waits for the time of each transfer by spinning, which would be most of what is counted.
void add_costs(series& of, const totals& all) {
  if (of.work.rate) {
    of.notes.emplace_back("no CPU/op: an open loop spins until the next transfer should begin");
    return;
  }
  const auto operations = static_cast<double>(all.counted + all.counted_beside);
  constexpr int enough_steps = 10;
  if (all.processor_seconds >= enough_steps * platform::processor_seconds_step())
    of.cpu_ns = all.processor_seconds * 1e9 / operations;
  if (all.cycles) of.cycles = static_cast<double>(*all.cycles) / operations;
}

}  // namespace

std::string why_weights_matter(const latency& of, std::span<const sampled_round> rounds) {
  constexpr double common = 0.99;  // rarer ones differ by chance
  std::string figures;
  for (const percentile& each : of.percentiles) {
    if (!each.value || (each.fraction > common && !each.value->interval)) continue;
    const auto by_rounds = quantile_by_rounds(rounds, each.fraction);
    if (!by_rounds || std::abs(std::log(*by_rounds / each.value->value)) < std::log(1.1)) continue;
    if (const auto& within = each.value->interval; within && *by_rounds >= within->low && *by_rounds <= within->high)
      continue;
    figures += fmt::format("{}{} is {:.1f} µs of all operations and {:.1f} µs with each round counted once",
                           figures.empty() ? "" : ", ", percentile_name(each.fraction), each.value->value / 1000,
                           *by_rounds / 1000);
  }
  return figures.empty() ? "" : "its faster rounds have more operations: " + figures;
}

void complete(series& of, const totals& all, std::span<const sampled_round> sampled) {
  if (all.counted == 0 || of.seconds <= 0) return;
  of.iops = static_cast<double>(all.counted) / of.seconds;
  of.bytes_per_second = of.iops * static_cast<double>(of.work.block);
  add_costs(of, all);
  judge(of.verification, of.work, all.evidence);
  if (of.verification.result == verification::verdict::refuted) of.invalid.push_back(of.verification.text);
  if (std::string doubt = judge_flushes(of.verification, of.work, all.evidence); !doubt.empty())
    of.notes.push_back(std::move(doubt));
  judge_settling(of, sampled);
}

}  // namespace qd1
