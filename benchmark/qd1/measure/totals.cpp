// SPDX-License-Identifier: BSL-1.0
#include "measure/totals.hpp"

#include "measure/steadiness.hpp"
#include "platform/process.hpp"

namespace qd1 {

void complete(series& of, const totals& all) {
  if (all.counted == 0 || of.seconds <= 0) return;
  of.iops = static_cast<double>(all.counted) / of.seconds;
  of.bytes_per_second = of.iops * static_cast<double>(of.work.block);
  const auto operations = static_cast<double>(all.counted + all.counted_beside);
  constexpr int enough_steps = 10;
  if (all.processor_seconds >= enough_steps * platform::processor_seconds_step())
    of.cpu_ns = all.processor_seconds * 1e9 / operations;
  if (all.cycles) of.cycles = static_cast<double>(*all.cycles) / operations;
  judge(of.verification, of.work, all.below);
  if (of.verification.result == verification::verdict::refuted) of.invalid.push_back(of.verification.text);
  if (of.work.operation == operation::write) of.steady = is_steady(of.slices);
}

}  // namespace qd1
