// SPDX-License-Identifier: BSL-1.0
#include "figures.hpp"
#include "measure/measure.hpp"
#include "platform/process.hpp"
#include "selftest/attack.hpp"
#include "selftest/staged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace qd1 {
namespace {

using placed = const std::string&;  // the directory

constexpr double usual_seconds = 100e-6;  // of a staged transfer
constexpr double stall_seconds = 0.1;

work cached_reads() {
  work made;
  made.mode = mode::cached;
  made.working_set = made.block;
  return made;
}

report transfers_of(placed directory, const clock& clock, const limits& most, const staged_transfer& transfer,
                    const std::function<void()>& between = {}) {
  return staged(directory, clock, [&](report& out, const run_setup&) {
    out.series = {staged_transfers(clock, cached_reads(), most, 1, transfer, between)};
  });
}

std::string ms(double ns) { return fmt::format("{:.3g} ms", ns / 1e6); }

// Three transfers of a thousand take most of the time. No percentile but the highest may show that, and the mean must.
finding stall(placed directory) {
  const clock clock = clock::calibrated();
  const report found = transfers_of(directory, clock, {1'500, 10}, [&](std::uint64_t number) {
    spin_for(clock, number % 500 == 250 ? stall_seconds : usual_seconds);
  });
  finding noted = named(found, "stall");
  if (noted.result != attack_result::noticed) return noted;
  const series& reads = found.series.front();
  const auto median = median_of(reads);
  const double known_mean = (stall_seconds * 3 + usual_seconds * 1'497) / 1'500 * 1e9;
  if (!median || median->value > 2 * usual_seconds * 1e9 || reads.latency.max < stall_seconds * 1e9 ||
      mean_of_all(reads) < known_mean)
    return {attack_result::missed,
            fmt::format("the figures do not show it: p50 {}, mean {}, maximum {}", ms(median ? median->value : 0),
                        ms(mean_of_all(reads)), ms(reads.latency.max))};
  return noted;
}

// Four fifths of the time, so that no pause of the host in a transfer hides it.
finding lose_time_between(placed directory) {
  const clock clock = clock::calibrated();
  return named(transfers_of(
                   directory, clock, {500, 5}, [&](std::uint64_t) { spin_for(clock, usual_seconds); },
                   [&] { spin_for(clock, 4 * usual_seconds); }),
               "of the time passed between transfers");
}

// One of a thousand that arrive in half a second takes 0.1 s. A fifth of all have to wait for it.
finding omit_waiting(placed) {
  const clock clock = clock::calibrated();
  work reads = cached_reads();
  reads.rate = 2'000;
  const series found = staged_transfers(clock, reads, {1'000, 0.5, 5}, 1, [&](std::uint64_t number) {
    spin_for(clock, number == 500 ? stall_seconds : usual_seconds / 5);
  });
  const auto late = percentile_of(found, 0.9);
  const double least = stall_seconds / 4 * 1e9;
  if (!late || late->value < least)
    return {attack_result::missed, fmt::format("p90 is {}: their wait was left out", ms(late ? late->value : 0))};
  return {attack_result::noticed, fmt::format("p90 is {}, with the time that they waited", ms(late->value))};
}

finding use_coarse_clock(placed directory) {
  const clock coarse = clock::calibrated({.step_ns = 1'000'000}), fine = clock::calibrated();
  return refused(transfers_of(directory, coarse, {2'000, 0.3}, [&](std::uint64_t) { spin_for(fine, usual_seconds); }),
                 "the clock moves in steps of");
}

finding use_slow_clock(placed directory) {
  const clock clock = clock::calibrated({.speed = 0.5});
  return refused(transfers_of(directory, clock, {1'000, 0.3}, [&](std::uint64_t) { spin_for(clock, usual_seconds); }),
                 "something makes it run at another speed");
}

// As reads of a file do while a cache below fills.
finding warm_up_slowly(placed) {
  const clock clock = clock::calibrated();
  constexpr std::uint64_t rounds = 20;
  constexpr std::uint64_t samples = 50;
  const series found = staged_transfers(clock, cached_reads(), {samples, 10}, rounds, [&](std::uint64_t number) {
    const auto round = static_cast<double>(number / samples);
    spin_for(clock, usual_seconds * (5 - 4 * round / static_cast<double>(rounds)));
  });
  if (found.steady == false) return {attack_result::noticed, "not steady: " + found.unsettled};
  return {attack_result::missed, "it was called steady"};
}

finding ask_for_too_much(placed) {
  const clock clock = clock::calibrated();
  const series found =
      staged_transfers(clock, cached_reads(), {300, 5}, 1, [&](std::uint64_t) { spin_for(clock, usual_seconds / 10); });
  for (const percentile& each : found.latency.percentiles)
    if (each.fraction > 0.99)
      return each.value ? finding{attack_result::missed, "it was printed"}
                        : finding{attack_result::noticed, fmt::format("n/a (needs {})", each.samples_needed)};
  return {attack_result::untried, "it was not asked for"};
}

// A thread that computes on the CPU of the one that measures.
class rival {
 public:
  rival() {
    const std::vector<std::uint64_t> all = platform::allowed_processors();
    if (all.empty()) return;
    platform::go_to_processor(all.front());
    pinned_.emplace();
    thread_ = std::thread([this, where = all.front()] {
      platform::go_to_processor(where);
      const platform::pinned_to_this_processor pinned;
      while (!ends_.load(std::memory_order_relaxed)) {}
    });
  }
  rival(const rival&) = delete;
  rival& operator=(const rival&) = delete;
  ~rival() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }

  bool runs() const { return thread_.joinable(); }

 private:
  std::atomic<bool> ends_ = false;
  std::optional<platform::pinned_to_this_processor> pinned_;
  std::thread thread_;
};

finding take_the_processor(placed directory) {
  const clock clock = clock::calibrated();
  const rival rival;
  if (!rival.runs()) return {attack_result::untried, "the system does not report which CPUs may be used"};
  const report found = staged(directory, clock, [&](report& out, const run_setup& setup) {
    out.series = {
        staged_reads(setup, mode::cached, temperature::warm, {1'000'000, 0.5}, [] { return std::uint64_t(0); })};
  });
  const series& reads = found.series.front();
  if (!reads.measured()) return {attack_result::untried, reads.not_available};
  const double waited = reads.rounds.empty() ? 0 : reads.rounds.front().disturbance.waited.value_or(0);
  const double gap = found.noise_before ? found.noise_before->max_ns : 0;
  const std::string figures =
      fmt::format("waited for the CPU {:.0f} % of the time; gaps of up to {}; trust to {}", waited * 100, ms(gap),
                  reads.trusted_fraction ? fmt::format("p{:.4g}", *reads.trusted_fraction * 100) : "nothing");
  const bool is_seen = waited >= 0.1 || gap >= 1e6;
  return {is_seen && reads.trusted_fraction.value_or(0) < 0.9999 ? attack_result::noticed : attack_result::missed,
          figures};
}

}  // namespace

std::vector<attack> attacks_on_time() {
  return {{"3 stalls of 0.1 s in 1,500 transfers", "a note, and no trace in p50", stall},
          {"time that passes between transfers", "a note", lose_time_between},
          {"an open loop that leaves out who waits", "p90 of at least 25 ms", omit_waiting},
          {"a clock in steps of 1 ms", "INVALID", use_coarse_clock},
          {"a clock of half the speed", "INVALID", use_slow_clock},
          {"latencies that fall from round to round", "not steady", warm_up_slowly},
          {"p99.9 of 300 samples", "n/a", ask_for_too_much},
          {"a thread that computes on the same CPU", "less to trust, and time that was waited", take_the_processor}};
}

}  // namespace qd1
