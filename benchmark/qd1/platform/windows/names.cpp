// SPDX-License-Identifier: BSL-1.0
#include "platform/names.hpp"

#include <array>

namespace qd1::platform {
namespace {

constexpr std::array all_engines{engine{"iocp", "iocp", qio::engine_kind::any},
                                 engine{"pool", "pool", qio::engine_kind::workers}};

}  // namespace

const std::span<const engine> engines = all_engines;
const char* const system_clock = "QueryPerformanceCounter";
const char* const write_through = "FILE_FLAG_WRITE_THROUGH";
const char* const advice_calls = "FILE_FLAG_RANDOM_ACCESS, FILE_FLAG_SEQUENTIAL_SCAN; not of mappings";

}  // namespace qd1::platform
