// SPDX-License-Identifier: BSL-1.0
// Percentile over latency: where most operations lie.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

node cdf_chart(const panel& from);

}  // namespace qd1::html
