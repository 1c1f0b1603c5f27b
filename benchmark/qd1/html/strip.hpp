// SPDX-License-Identifier: BSL-1.0
// How the latency changed while a series ran: drift, pauses, a device that becomes slower.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

/// Empty if no series has slices of time.
node strips(const panel& from);

}  // namespace qd1::html
