// SPDX-License-Identifier: BSL-1.0
// What qd1 watch prints.
#pragma once

#include "watch/watched.hpp"

#include <ctime>
#include <string>

namespace qd1 {

/// What is watched, and warnings.
std::string heading(const watch_subject& of);

/// A line for a transfer that was complete at this time, which is printed in UTC, as reports have it.
std::string line_of(const watched_transfer& of, std::time_t at);

/// All transfers together.
std::string summary_text(const watched& of);

}  // namespace qd1
