// SPDX-License-Identifier: BSL-1.0
#include "measure/disruptions.hpp"

#include "platform/process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>
#include <string>

namespace qd1 {
namespace {

void note_stops(report& run) {
  for (series& each : run.series) {
    const auto stops =
        std::accumulate(each.rounds.begin(), each.rounds.end(), std::uint64_t(0),
                        [](std::uint64_t sum, const round& of) { return sum + of.disturbance.stops.value_or(0); });
    if (stops != 0)
      each.notes.push_back(fmt::format(
          "this process was stopped and continued {} times meanwhile (SIGSTOP, SIGCONT): what was under way took so "
          "much longer",
          stops));
  }
}

}  // namespace

std::string clock_complaint(double own, double real) {
  constexpr double granularity = 0.05;  // of the system's clock, twice, and of looking at both
  constexpr double tolerance = 0.01;
  if (std::abs(own - real) <= granularity + tolerance * real) return {};
  return fmt::format(
      "the clock counted {:.2f} s while the system ran for {:.2f} s: something makes it go at another speed", own,
      real);
}

disruptions::disruptions(const clock& clock)
    : clock_(clock),
      tick_(clock.after()),
      since_boot_(platform::seconds_since_boot()),
      suspended_(platform::seconds_suspended()),
      processors_(platform::allowed_processors()) {}

void disruptions::judge_clock(report& run) const {
  const double suspended = platform::seconds_suspended() - suspended_;
  constexpr double noticeable = 0.1;
  if (suspended > noticeable) {
    run.notes.push_back(fmt::format(
        "the machine was suspended for {:.1f} s during the run: caches, devices and clocks started anew", suspended));
    return;  // whether the clock went on meanwhile depends on the processor
  }
  const auto now = platform::seconds_since_boot();
  if (!now || !since_boot_) return;
  const std::string complaint = clock_complaint(clock_.seconds(clock_.after() - tick_), *now - *since_boot_);
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
