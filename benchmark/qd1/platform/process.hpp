// SPDX-License-Identifier: BSL-1.0
// What the operating system says about time and this process.
#pragma once

#include <cstdint>
#include <string>

namespace qd1::platform {

/// Nanoseconds since some time in the past; never set back.
std::uint64_t monotonic_ns() noexcept;

/// Why the system itself does not trust the processor's counter; empty if it does.
std::string why_no_cycles();

/// Processor time of this process, user and system, of all threads, in seconds.
double processor_seconds() noexcept;

/// Whether standard error is watched by a person.
bool progress_is_seen() noexcept;

}  // namespace qd1::platform
