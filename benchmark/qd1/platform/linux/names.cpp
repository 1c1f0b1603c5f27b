// SPDX-License-Identifier: BSL-1.0
#include "platform/names.hpp"

#include <array>

namespace qd1::platform {
namespace {

constexpr std::array all_engines{engine{"uring", "io_uring", qio::engine_kind::any},
                                 engine{"aio", "aio", qio::engine_kind::aio},
                                 engine{"pool", "pool", qio::engine_kind::workers}};

}  // namespace

const std::span<const engine> engines = all_engines;
const char* const system_clock = "clock_gettime";
const char* const write_through = "O_DSYNC";
const char* const advice_calls = "posix_fadvise, madvise";

}  // namespace qd1::platform
