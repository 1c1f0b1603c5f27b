// SPDX-License-Identifier: BSL-1.0
// What things are called on this system.
#pragma once

namespace qd1::platform {

/// The system's own engine, as --engine takes it, and as the library names it.
extern const char* const own_engine_option;
extern const char* const own_engine;

/// The system's clock.
extern const char* const system_clock;

/// The system's name for writing through, and those of its calls that take advice on the order of reads.
extern const char* const write_through;
extern const char* const advice_calls;

}  // namespace qd1::platform
