// SPDX-License-Identifier: BSL-1.0
// One load while it is measured, round by round: a number of workers and a depth, on these targets.
#pragma once

#include "depth/field.hpp"
#include "depth/ledger.hpp"
#include "depth/observer.hpp"
#include "depth/worker.hpp"
#include "measure/verification.hpp"
#include "report.hpp"
#include "statistics/pooled_rounds.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

struct planned_load {
  qd1::work work;    ///< what its transfers have in common, whether they read or write
  double reads = 1;  ///< part of the transfers that read
};

class step {
 public:
  /// `seconds`: of a round.
  step(const planned_load& load, const field& field, double seconds);

  const work& subject() const noexcept { return work_; }
  /// Of the series that it makes.
  std::vector<work> works() const;
  /// Whether a further round makes sense: nothing has been refused so far.
  bool wants_more() const noexcept { return not_available_.empty() && failure_.empty(); }

  /// Opens everything again. `start`: seconds since the run began to measure.
  void measure_round(std::uint64_t round, double start);

  /// The reads, the writes, or both.
  std::vector<series> finished() const;

 private:
  struct kind {
    series found;
    transfers all;
    std::vector<sampled_round> rounds;
    std::optional<qd1::evidence> evidence;
    bool is_counted = true;  // the operations of all devices are
  };
  /// The state when a round began, and its result.
  struct round_facts {
    double start;  ///< seconds since the run began to measure
    observation seen;
    std::vector<witness> before;
    std::optional<double> waited = {};  ///< part of the time that the workers waited for a CPU, on average
  };

  std::vector<std::unique_ptr<worker>> make_workers(window& window, std::uint64_t round) const;
  void prepare_pages();
  void leave_as_found();
  void note(const std::string& text);  // once; nothing if it is empty
  void collect(const std::vector<std::unique_ptr<worker>>& workers, const round_facts& facts);
  void add(kind& to, const transfers& counted, const round_facts& facts) const;
  void add_testimonies(kind& to, const transfers& counted, const round_facts& facts, round& into) const;
  series finished(const kind& each) const;

  work work_;
  double reads_;
  const field& field_;
  double seconds_;
  std::vector<const target*> targets_;
  std::vector<kind> kinds_;
  double processor_seconds_ = 0;
  std::optional<std::uint64_t> cycles_ = 0;  // none: a round has not counted them
  std::uint64_t counted_ = 0;
  std::vector<std::uint64_t> taken_;  // offsets of each worker, in the rounds so far
  std::string not_available_;
  std::string failure_;
};

}  // namespace qd1
