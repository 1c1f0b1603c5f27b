// SPDX-License-Identifier: BSL-1.0
// Throughput and latency over depth: what each further transfer in flight gains, and what it costs.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

/// A curve for each number of workers. Empty with fewer than two depths.
node throughput_chart(const panel& from);

/// Median and p99, a pair of curves for each number of workers. Empty with fewer than two depths, and where no latency
/// was measured.
node latency_chart(const panel& from);

}  // namespace qd1::html
