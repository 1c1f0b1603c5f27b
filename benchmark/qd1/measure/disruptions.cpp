// SPDX-License-Identifier: BSL-1.0
#include "measure/disruptions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace qd1 {
namespace {

void note_stops(report& run) {
  for (series& each : run.series) {
    const auto stops =
        std::accumulate(each.rounds.begin(), each.rounds.end(), std::uint64_t(0),
                        [](std::uint64_t sum, const round& of) { return sum + of.disturbance.stops.value_or(0); });
    if (stops != 0)
      each.notes.push_back(fmt::format(
          "this process was stopped and continued {} times meanwhile (SIGSTOP, SIGCONT): transfers in flight took that "
          "much longer",
          stops));
  }
}

}  // namespace

std::string clock_complaint(double own, double real, double apart) {
  constexpr double granularity = 0.02;  // of the system's clock, twice
  constexpr double tolerance = 0.01;
  if (std::abs(own - real) <= granularity + apart + tolerance * real) return {};
  return fmt::format(
      "the clock counted {:.2f} s while the system ran for {:.2f} s: something makes it run at another speed", own,
      real);
}

disruptions::disruptions(const clock& clock, std::function<double()> seconds_suspended)
    : clock_(clock),
      begin_(both_clocks()),
      seconds_suspended_(std::move(seconds_suspended)),
      suspended_(seconds_suspended_()),
      processors_(platform::allowed_processors()) {}

// Of several attempts the one that was interrupted least.
disruptions::reading disruptions::both_clocks() const {
  constexpr int attempts = 10;
  reading best;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::uint64_t before = clock_.after();
    const auto since_boot = platform::seconds_since_boot();
    const double apart = clock_.seconds(clock_.after() - before);
    if (attempt == 0 || apart < best.apart) best = {before, since_boot, apart};
  }
  return best;
}

void disruptions::judge_clock(report& run) const {
  const double suspended = seconds_suspended_() - suspended_;
  constexpr double noticeable = 0.1;
  if (suspended > noticeable) {
    run.notes.push_back(fmt::format(
        "the machine was suspended for {:.1f} s during the run: caches, devices and clocks were restarted", suspended));
    return;  // whether the clock went on meanwhile depends on the processor
  }
  const reading end = both_clocks();
  if (!end.since_boot || !begin_.since_boot) return;
  const std::string complaint = clock_complaint(clock_.seconds(end.tick - begin_.tick),
                                                *end.since_boot - *begin_.since_boot, begin_.apart + end.apart);
  if (complaint.empty()) return;
  for (series& each : run.series)
    if (each.not_available.empty()) each.invalid.push_back(complaint);
}

void disruptions::judge(report& run) const {
  judge_clock(run);
  note_stops(run);
  if (const auto now = platform::allowed_processors(); now != processors_)
    run.notes.push_back(
        fmt::format("the CPUs that this process may use were changed during the run: {} before, {} after",
                    fmt::join(processors_, ","), fmt::join(now, ",")));
}

}  // namespace qd1
