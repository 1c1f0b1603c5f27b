// SPDX-License-Identifier: BSL-1.0
#include "platform/names.hpp"

namespace qd1::platform {

const char* const own_engine_option = "uring";
const char* const own_engine = "io_uring";
const char* const system_clock = "clock_gettime";
const char* const write_through = "O_DSYNC";
const char* const advice_calls = "posix_fadvise, madvise";

}  // namespace qd1::platform
