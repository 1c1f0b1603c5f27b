// SPDX-License-Identifier: BSL-1.0
// Durations, time points, steady_clock: as much of <chrono> as waiting needs. The header of that name brings calendars,
// time zones and, to print them, streams and locales: a tenth of what this whole library takes to compile. Every
// implementation of <condition_variable> has what is needed, since wait_for() takes durations.
#pragma once

#include <condition_variable>

namespace qio::detail {

using clock = std::chrono::steady_clock;

}  // namespace qio::detail
