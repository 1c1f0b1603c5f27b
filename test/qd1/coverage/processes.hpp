// SPDX-License-Identifier: BSL-1.0
// Latencies as devices and hosts produce them, with known percentiles.
#pragma once

#include "random.hpp"
#include "statistics/pooled_rounds.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace qd1_test {

/// Counts samples by the logarithm of their latency. Its bins are as wide as those of qd1::histogram on average, and
/// are cheaper to empty.
class round_counter {
 public:
  void record(double logarithm) noexcept;
  /// What has been recorded since the last call.
  qd1::sampled_round take();

 private:
  static constexpr double first = 4.6;  // the logarithm of 100 ns
  static constexpr double width = 1. / 512;
  static constexpr std::size_t bins = 9'500;  // up to 11 s

  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(bins);
  std::vector<double> ns_ = {};
  std::size_t lowest_ = bins;
  std::size_t highest_ = 0;
};

/// When a round ends.
struct round_length {
  std::size_t samples = 1'000;
  double seconds = 0;  ///< not 0: it ends by time instead, with the sample that reaches it
};

/// Goes on from round to round.
class process {
 public:
  virtual ~process() = default;
  void add_round(random_source& random, const round_length& length, round_counter& to);
  /// The fraction of samples whose logarithm is at most this, in the long run.
  virtual double below(double logarithm) const = 0;
  /// The mean latency in the long run.
  virtual double mean() const = 0;

  double quantile(double fraction) const;

 private:
  virtual void begin_round(random_source&) {}
  /// The logarithm of the next latency, in nanoseconds.
  virtual double next(random_source& random) = 0;
};

enum class expected : std::uint8_t {
  given,   ///< intervals of percentiles, in all repetitions
  open,    ///< they may be withheld
  lasting  ///< what changes lasts for several rounds, so they should be withheld; eight rounds cannot show that
};

struct process_kind {
  std::string name;
  expected interval;
  std::unique_ptr<process> (*start)(random_source&);
  round_length round = {};
};

const std::vector<process_kind>& process_kinds();

}  // namespace qd1_test
