// SPDX-License-Identifier: BSL-1.0
// Second by second: throughput, the pages in memory, and the memory that was not yet written back.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

/// Operations a second over time. Empty where no series was measured without a break for some seconds.
node throughput_timeline(const panel& from);

/// The pages of the file in memory, and dirty memory, over the same time, where the system reports them.
nodes memory_timelines(const panel& from);

}  // namespace qd1::html
