// SPDX-License-Identifier: BSL-1.0
// A series while it is measured, round by round.
#pragma once

#include "figures.hpp"
#include "measure/recorder.hpp"
#include "measure/verification.hpp"
#include "report.hpp"
#include "statistics/histogram.hpp"
#include "statistics/pooled_rounds.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qd1 {

/// What is known about a round besides the latencies of its transfers.
struct round_facts {
  double start = 0;  ///< seconds since the run began to measure
  std::optional<std::uint64_t> processor;
  double processor_seconds = 0;         ///< spent by this process
  std::optional<std::uint64_t> cycles;  ///< of the CPUs meanwhile
  qd1::testimony testimony;
};

class tally {
 public:
  explicit tally(const work& work, std::vector<double> percentiles = standard_percentiles());

  const work& subject() const noexcept { return found_.work; }
  /// Whether a further round makes sense: nothing has been refused so far.
  bool wants_more() const noexcept { return found_.not_available.empty() && found_.invalid.empty(); }
  const std::vector<round>& rounds() const noexcept { return found_.rounds; }
  bool has_begun() const noexcept { return !wants_more() || !found_.rounds.empty(); }

  void is_not_available(std::string reason) { found_.not_available = std::move(reason); }
  void is_invalid(std::string reason);
  void note(const std::string& text);  ///< once, however often it is said; nothing if it is empty
  void is_served_by(std::string engine, std::string reason);
  void add(const service& counts);
  void add_batched(double ns);
  void add(const recorder& round, const round_facts& facts);

  /// All rounds together.
  series finished() const;

 private:
  void add(const testimony& counts);

  series found_;
  std::vector<double> fractions_;
  histogram samples_;
  std::vector<sampled_round> rounds_;
  double processor_seconds_ = 0;
  std::optional<std::uint64_t> cycles_ = 0;  // none: a round has not counted them
  std::optional<evidence> evidence_;
  double busy_seconds_ = 0;
  double waiting_ = 0;  // after the last round
  double batched_sum_ = 0;
  int batched_rounds_ = 0;
};

/// How an open loop was carried out.
struct open_loop {
  double samples = 0;
  double seconds = 0;
  double busy = 0;     ///< seconds in which a transfer was in flight
  double waiting = 0;  ///< transfers that should have begun, but had not at the end
};

/// "RATE NOT REACHED: …", with the cause; empty if the rate was reached.
std::string missed_rate(const work& of, const open_loop& found);

/// A round, for summary().
sampled_round sampled(const histogram& round, std::optional<std::uint64_t> processor = std::nullopt);

/// The statistics of all samples, measured in those rounds.
latency summary(const histogram& samples, std::vector<sampled_round> rounds,
                const std::vector<double>& fractions = standard_percentiles());

/// Those of the percentiles for which a round has enough samples.
std::vector<round_percentile> quantiles(const histogram& samples,
                                        const std::vector<double>& fractions = standard_percentiles());

}  // namespace qd1
