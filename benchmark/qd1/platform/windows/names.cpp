// SPDX-License-Identifier: BSL-1.0
#include "platform/names.hpp"

namespace qd1::platform {

const char* const own_engine_option = "iocp";
const char* const own_engine = "iocp";
const char* const system_clock = "QueryPerformanceCounter";
const char* const write_through = "FILE_FLAG_WRITE_THROUGH";
const char* const random_advice = "which Windows has no call for";

}  // namespace qd1::platform
