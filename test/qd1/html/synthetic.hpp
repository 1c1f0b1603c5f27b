// SPDX-License-Identifier: BSL-1.0
// Reports as they might have been measured: plausible shapes, the same each time.
#pragma once

#include <qd1/report.hpp>

#include <cstdint>
#include <string>

namespace qd1_test {

/// Latencies about `median` with the usual skew, and `tail_per_mille` of a thousand in a tail about `tail`; ns.
struct shape {
  double median;
  double spread;  ///< of the logarithm
  double tail;
  double tail_per_mille;
};

/// Percentiles, intervals and bins of samples of that shape.
qd1::latency synthetic_latency(const shape& of, std::uint64_t samples, std::uint32_t seed);

qd1::series synthetic_series(const qd1::work& what, const shape& of, std::uint64_t samples, std::uint32_t seed);

/// Warm reads and accepted writes in all modes and both forms; `slower`: all of it by this factor.
qd1::report synthetic_report(std::uint64_t samples = 200'000, double slower = 1, std::uint32_t seed = 1);

}  // namespace qd1_test
