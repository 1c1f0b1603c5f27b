// SPDX-License-Identifier: BSL-1.0
// How the latency went along while a series ran: drift, pauses, a device that becomes slower.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

/// Empty if no series was looked at over time.
node strips(const panel& from);

}  // namespace qd1::html
