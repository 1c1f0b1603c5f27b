// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

namespace qd1 {

/// "512 B", "4 KiB", "23.5 GiB"
std::string bytes_in_words(std::uint64_t bytes);

}  // namespace qd1
