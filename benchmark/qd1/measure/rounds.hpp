// SPDX-License-Identifier: BSL-1.0
// The loop over the rounds of a run, whatever is measured in them: one transfer at a time, or many in flight.
#pragma once

#include "measure/clock.hpp"
#include "measure/interruption.hpp"
#include "measure/progress.hpp"
#include "measure/turns.hpp"
#include "report.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace qd1 {

/// What is measured a round at a time.
template <class Driver>
concept round_driver = requires(Driver driver, const Driver known, std::uint64_t round, double start) {
  { known.subject() } -> std::convertible_to<const work&>;
  { known.wants_more() } -> std::convertible_to<bool>;
  driver.measure_round(round, start);
  { known.finished() } -> std::convertible_to<std::vector<series>>;  ///< what has been measured so far
};

/// Called after a round that is worth showing, with how many are done, of how many, and what is known by then.
using round_observer = std::function<void(std::uint64_t done, std::uint64_t of, const std::vector<series>& found)>;

/// When provisional results are shown: ten seconds after the run began, even within the first round, unless that was
/// complete before; and after 1, 2, 4, 8 … rounds.
class showing {
 public:
  /// After a turn of the round that is the `round`-th, counted from 0.
  bool is_due_within(std::uint64_t round, double elapsed) noexcept {
    constexpr double soon = 10;
    if (has_shown_ || round != 0 || elapsed < soon) return false;
    return has_shown_ = true;
  }
  bool is_due_after(std::uint64_t rounds_done) noexcept {
    if (rounds_done != next_) return false;
    next_ *= 2;
    return has_shown_ = true;
  }

 private:
  std::uint64_t next_ = 1;
  bool has_shown_ = false;
};

template <round_driver Driver>
std::vector<series> finished(const std::vector<Driver>& all) {
  std::vector<series> found;
  for (const Driver& each : all)
    for (series& one : each.finished())
      if (one.latency.samples != 0 || !one.not_available.empty() || !one.invalid.empty())
        found.push_back(std::move(one));
  return found;
}

/// Round after round, each time beginning with another driver. So whatever changes while the run goes on affects all
/// series, and differs between the rounds of each. But where other runs take turns, what precedes a series has to be
/// the same in all of them: reads over a ring took 6 % longer right after blocking ones than after their like.
template <round_driver Driver>
std::vector<series> measure_rounds(std::vector<Driver>& all, const clock& clock, std::uint64_t rounds,
                                   double seconds_of_all, const round_observer& after_round,
                                   std::optional<turns>& turns) {
  const std::uint64_t began = clock.after();
  const auto elapsed = [&] { return clock.seconds(clock.after() - began); };
  showing showing;
  const auto show = [&](std::uint64_t done) {
    progress::clear();
    after_round(done, rounds, finished(all));
  };
  for (std::uint64_t round = 0; round < rounds && !interrupted(); ++round) {
    if (turns) turns->pass();
    const std::size_t first = turns ? 0 : static_cast<std::size_t>(round);
    for (std::size_t turn = 0; turn < all.size() && !interrupted(); ++turn) {
      Driver& next = all[(first + turn) % all.size()];
      if (!next.wants_more()) continue;
      progress::show_round({round, rounds, turn, all.size(), elapsed(), seconds_of_all}, title(next.subject()));
      next.measure_round(round, elapsed());
      const bool is_last = turn + 1 == all.size();
      if (after_round && !is_last && !interrupted() && showing.is_due_within(round, progress::seconds_of_program()))
        show(round);
    }
    if (!after_round || round + 1 == rounds || interrupted()) continue;
    if (showing.is_due_after(round + 1)) show(round + 1);
  }
  return finished(all);
}

}  // namespace qd1
