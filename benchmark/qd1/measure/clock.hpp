// SPDX-License-Identifier: BSL-1.0
// The clock that latencies are taken with.
#pragma once

#include "platform/cycles.hpp"
#include "platform/process.hpp"
#include "report.hpp"

#include <cstdint>
#include <string>

namespace qd1 {

/// What a clock may do wrong: qd1 selftest makes such clocks.
struct clock_flaw {
  std::uint64_t step_ns = 0;  ///< it moves in steps of so many; 0: it does not
  double speed = 1;           ///< it counts so many seconds in each
};

/// The processor's counter where it can be trusted, since reading it costs about 10 ns; else the system's clock.
class clock {
 public:
  /// Takes a tenth of a second, to calibrate the counter by the system's clock.
  static clock calibrated(const clock_flaw& flaw = {});

  std::uint64_t before() const noexcept { return by_cycles_ ? platform::cycles_before() : system_ns(); }
  std::uint64_t after() const noexcept { return by_cycles_ ? platform::cycles_after() : system_ns(); }

  std::uint64_t picoseconds(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(ticks) * ps_a_tick_);
  }
  /// By how much its readings differ at least, if they do: as measured. A counter may move in steps of many ticks.
  double step_ns() const noexcept { return step_ns_; }
  double seconds(std::uint64_t ticks) const noexcept { return static_cast<double>(ticks) * ps_a_tick_ * 1e-12; }
  std::uint64_t ticks(double seconds) const noexcept { return static_cast<std::uint64_t>(seconds * 1e12 / ps_a_tick_); }

  /// What it is, what reading it costs, and by how much it has differed from the system's clock since calibration.
  timer_facts facts() const;

 private:
  clock() = default;

  std::uint64_t system_ns() const noexcept {
    const std::uint64_t now = platform::monotonic_ns();
    return flaw_step_ns_ == 0 ? now : now - now % flaw_step_ns_;
  }

  bool by_cycles_ = false;
  std::uint64_t flaw_step_ns_ = 0;
  std::string why_not_cycles_;
  double ps_a_tick_ = 1000;
  double floor_ns_ = 0;
  double step_ns_ = 0;
  std::uint64_t first_tick_ = 0;
  std::uint64_t first_ns_ = 0;
};

}  // namespace qd1
