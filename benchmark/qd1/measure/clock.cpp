// SPDX-License-Identifier: BSL-1.0
#include "measure/clock.hpp"

#include "platform/names.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qd1 {
namespace {

struct reading {
  std::uint64_t ticks;
  std::uint64_t ns;
};

// Both clocks at the same moment: of several attempts the one that was interrupted least.
reading both_clocks(const clock& clock) {
  reading best{};
  std::uint64_t best_gap = ~std::uint64_t(0);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::uint64_t before = clock.before();
    const std::uint64_t ns = platform::monotonic_ns();
    const std::uint64_t gap = clock.after() - before;
    if (gap >= best_gap) continue;
    best_gap = gap;
    best = {before + gap / 2, ns};
  }
  return best;
}

double median_of_nothing(const clock& clock) {
  std::vector<std::uint64_t> gaps(10'001);
  for (std::uint64_t& gap : gaps) {
    const std::uint64_t before = clock.before();
    gap = clock.after() - before;
  }
  std::nth_element(gaps.begin(), gaps.begin() + 5'000, gaps.end());
  return static_cast<double>(clock.picoseconds(gaps[5'000])) / 1000;
}

// The step of a clock that often reads the same twice is how far it then moves. One that never does so moves in steps
// that are no larger than the time between readings: by as much as those times differ.
double measured_step(const clock& clock) {
  constexpr std::size_t enough = 50;
  constexpr std::size_t most_readings = 20'000'000;  // a second or less
  std::vector<std::uint64_t> gaps;
  std::size_t readings = 0;
  for (std::uint64_t last = clock.after(); gaps.size() < enough && readings < most_readings; ++readings) {
    const std::uint64_t now = clock.after();
    if (now > last) gaps.push_back(now - last);
    last = now;
  }
  if (gaps.empty()) return 0;
  std::ranges::sort(gaps);
  std::uint64_t step = gaps[gaps.size() / 2];
  if (2 * gaps.size() > readings)
    for (std::size_t each = 1; each < gaps.size(); ++each)
      if (gaps[each] != gaps[each - 1]) step = std::min(step, gaps[each] - gaps[each - 1]);
  return static_cast<double>(clock.picoseconds(step)) / 1000;
}

}  // namespace

clock clock::calibrated(const clock_flaw& flaw) {
  clock made;
  made.flaw_step_ns_ = flaw.step_ns;
  made.why_not_cycles_ = flaw.step_ns != 0                  ? "it has to move in steps"
                         : platform::cycles_are_invariant() ? platform::why_no_cycles()
                                                            : "the processor has no invariant counter";
  made.by_cycles_ = made.why_not_cycles_.empty();
  const reading first = both_clocks(made);
  if (made.by_cycles_) {
    constexpr std::uint64_t calibration_ns = 100'000'000;
    while (platform::monotonic_ns() - first.ns < calibration_ns) {}
    const reading last = both_clocks(made);
    made.ps_a_tick_ = static_cast<double>(last.ns - first.ns) * 1000 / static_cast<double>(last.ticks - first.ticks);
  }
  made.ps_a_tick_ *= flaw.speed;
  made.first_tick_ = first.ticks;
  made.first_ns_ = first.ns;
  made.floor_ns_ = median_of_nothing(made);
  made.step_ns_ = measured_step(made);
  return made;
}

timer_facts clock::facts() const {
  const reading now = both_clocks(*this);
  const double own = seconds(now.ticks - first_tick_);
  const double system = static_cast<double>(now.ns - first_ns_) * 1e-9;
  return {std::string(by_cycles_ ? platform::cycle_counter : platform::system_clock),
          why_not_cycles_,
          ps_a_tick_ / 1000,
          step_ns_,
          floor_ns_,
          std::abs(own / system - 1)};
}

}  // namespace qd1
