// SPDX-License-Identifier: BSL-1.0
// The names of the steps of qd1 memory, for code that prints or draws them.
#pragma once

#include "report.hpp"

#include <cstdint>
#include <string>

namespace qd1 {

/// The memory of its steps without ballast, in bytes.
std::uint64_t memory_without_ballast(const report& run);

/// ", cold", ", again, with ballast": what distinguishes a step of `run` from others with the same operation and
/// memory.
std::string circumstances(const work& work, const report& run);

}  // namespace qd1
