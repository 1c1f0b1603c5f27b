// SPDX-License-Identifier: BSL-1.0
// What things are called on this system.
#pragma once

namespace qd1::platform {

/// The system's own engine, as --engine takes it, and as the library names it.
extern const char* const own_engine_option;
extern const char* const own_engine;

/// The system's clock.
extern const char* const system_clock;

/// The system's names for writing through, and for advising that a mapping will be used at random.
extern const char* const write_through;
extern const char* const random_advice;

}  // namespace qd1::platform
