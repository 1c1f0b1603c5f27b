// SPDX-License-Identifier: BSL-1.0
// Latency over percentile: how slow the slowest are.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

node percentile_chart(const panel& from);

}  // namespace qd1::html
