// SPDX-License-Identifier: BSL-1.0
#include "selftest/calibration.hpp"

#include "figures.hpp"
#include "measure/interruption.hpp"
#include "measure/offsets.hpp"
#include "selftest/staged.hpp"
#include "statistics/order_statistics.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

namespace qd1 {
namespace {

// Lognormal: as latencies are skewed, and with percentiles that are known.
constexpr double known_median_ns = 20'000;
constexpr double known_deviation = 0.3;  // of the logarithm

struct known_place {
  double fraction;
  double deviations;  // of a normal distribution
};
constexpr std::array known_places = {known_place{0.5, 0}, known_place{0.99, 2.3263478740408408},
                                     known_place{0.999, 3.0902323061678132}};

double known_ns(double deviations) { return known_median_ns * std::exp(known_deviation * deviations); }

// Normal, by the method of Box and Muller.
double drawn_deviations(splitmix64& random) {
  const auto uniform = [&random] { return static_cast<double>((random() >> 11) + 1) * 0x1p-53; };  // in (0, 1]
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

known_run measured_run(const clock& clock, const calibration_plan& plan, std::uint64_t seed) {
  known_run found;
  splitmix64 random(seed);
  work reads;
  reads.mode = mode::cached;
  reads.working_set = reads.block;
  std::uint64_t wanted = 0;  // ticks; drawn between transfers
  found.measured = staged_transfers(
      clock, reads, {plan.samples, 3600}, plan.rounds,
      [&](std::uint64_t) {
        const std::uint64_t begin = clock.before();
        std::uint64_t now = begin;
        while (now - begin < wanted) now = clock.before();
        found.own.record(clock.picoseconds(now - begin));
      },
      [&] { wanted = clock.ticks(known_ns(drawn_deviations(random)) * 1e-9); });
  return found;
}

std::optional<double> median_of_empty(const clock& clock) {
  work reads;
  reads.mode = mode::cached;
  reads.working_set = reads.block;
  const auto found = median_of(staged_transfers(clock, reads, {100'000, 1}, 1, [](std::uint64_t) {}));
  return found ? std::optional(found->value) : std::nullopt;
}

bool holds(const interval& of, double ns) { return of.low <= ns && ns <= of.high; }

std::string hits(std::uint64_t hit, std::uint64_t of) { return fmt::format("{} of {}", hit, of); }

}  // namespace

calibration calibrate(const calibration_plan& plan, const std::function<void(std::uint64_t run)>& tell) {
  const clock clock = clock::calibrated();
  std::vector<known_run> runs;
  for (std::uint64_t run = 0; run < plan.runs; ++run) {
    if (tell) tell(run);
    known_run measured = measured_run(clock, plan, run + 1);
    if (interrupted()) break;
    runs.push_back(std::move(measured));
  }
  calibration found = judged(plan, runs);
  found.added_ns = median_of_empty(clock);
  return found;
}

calibration judged(const calibration_plan& plan, const std::vector<known_run>& runs) {
  calibration found{plan, {}, std::nullopt};
  found.plan.runs = runs.size();
  if (runs.empty()) return found;
  histogram own;
  for (const known_run& each : runs) own.merge(each.own);
  for (const known_place& place : known_places) {
    known_percentile of{place.fraction, known_ns(place.deviations)};
    of.own_ns = own.ranked_ns(percentile_rank(place.fraction, own.samples()));
    std::uint64_t measured = 0;
    for (const known_run& each : runs) {
      const auto value = percentile_of(each.measured, place.fraction);
      if (!value) continue;
      ++measured;
      of.measured_ns += value->value;
      if (!value->interval) continue;
      ++of.intervals;
      of.with_known += holds(*value->interval, of.known_ns);
      of.with_own += holds(*value->interval, of.own_ns);
    }
    if (measured != 0) of.measured_ns /= static_cast<double>(measured);
    found.percentiles.push_back(of);
  }
  return found;
}

std::string text(const calibration& of) {
  std::string text = fmt::format(
      "Transfers of known length, lognormal: {} runs of {} rounds\n"
      "of {} transfers [µs, 95 % within a run]\n"
      "{:>15}{:>10}{:>10}   intervals with\n"
      "{:>35}{:>11}{:>11}\n",
      of.plan.runs, of.plan.rounds, grouped(of.plan.samples, ','), "known", "took", "measured", "", "known", "took");
  for (const known_percentile& each : of.percentiles)
    text += fmt::format("{:<7}{:>8.2f}{:>10.2f}{:>10.2f}{:>11}{:>11}\n", percentile_name(each.fraction),
                        each.known_ns / 1000, each.own_ns / 1000, each.measured_ns / 1000,
                        hits(each.with_known, each.intervals), hits(each.with_own, each.intervals));
  if (of.added_ns) text += fmt::format("A transfer that does nothing is measured as {:.0f} ns.\n", *of.added_ns);
  return text +
         "known: of the distribution that lengths were drawn from.\n"
         "took: by the transfers' own clock readings, all runs\n"
         "together: longer where the host took the CPU away.\n"
         "This shows what the clock, the loop, percentiles and\n"
         "intervals are off. It does not show the way to a device,\n"
         "nor how runs differ.\n";
}

std::string json(const calibration& of) {
  auto list = nlohmann::json::array();
  for (const known_percentile& each : of.percentiles)
    list.push_back({{"fraction", each.fraction},
                    {"known_ns", each.known_ns},
                    {"measured_ns", each.measured_ns},
                    {"own_ns", each.own_ns},
                    {"intervals", each.intervals},
                    {"with_known", each.with_known},
                    {"with_own", each.with_own}});
  const nlohmann::json all{{"runs", of.plan.runs},
                           {"rounds", of.plan.rounds},
                           {"samples", of.plan.samples},
                           {"added_ns", of.added_ns ? nlohmann::json(*of.added_ns) : nlohmann::json()},
                           {"percentiles", std::move(list)}};
  return nlohmann::json{{"calibration", all}}.dump(2) + '\n';
}

}  // namespace qd1
