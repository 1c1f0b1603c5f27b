// SPDX-License-Identifier: BSL-1.0
#include "platform/names.hpp"

namespace qd1::platform {

const char* const own_engine_option = "iocp";
const char* const own_engine = "iocp";
const char* const system_clock = "QueryPerformanceCounter";
const char* const write_through = "FILE_FLAG_WRITE_THROUGH";
const char* const advice_calls = "FILE_FLAG_RANDOM_ACCESS, FILE_FLAG_SEQUENTIAL_SCAN; not of mappings";

}  // namespace qd1::platform
