// Sizes that several tests use.
#pragma once

#include <cstddef>

inline constexpr std::size_t block_size = 4096;
