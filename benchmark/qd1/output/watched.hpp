// SPDX-License-Identifier: BSL-1.0
// What qd1 watch prints.
#pragma once

#include "watch/watched.hpp"

#include <cstdint>
#include <string>

namespace qd1 {

/// What is watched, and warnings.
std::string heading(const watch_subject& of);

/// A line for a transfer that was complete at this time, in milliseconds since 1970, which is printed in UTC, as
/// reports have it; with the milliseconds where several may start within a second.
std::string line_of(const watched_transfer& of, std::int64_t at_ms, double interval);

/// All transfers together.
std::string summary_text(const watched& of);

}  // namespace qd1
