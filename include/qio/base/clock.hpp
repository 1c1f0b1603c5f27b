// SPDX-License-Identifier: BSL-1.0
// Durations, time points, steady_clock: the part of <chrono> that waiting needs. <chrono> itself brings calendars, time
// zones and, to print them, streams and locales, which take a tenth of the compile time of the whole library. Every
// implementation of <condition_variable> has what is needed, because wait_for() takes durations.
#pragma once

#include <qio/configuration.hpp>

#include <condition_variable>

namespace qio::inline QIO_CONFIGURATION::detail {

using clock = std::chrono::steady_clock;

}  // namespace qio::inline QIO_CONFIGURATION::detail
