// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

namespace compare {

inline constexpr std::size_t depth = 32;  // reads in flight

}  // namespace compare
