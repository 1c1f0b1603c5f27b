// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/advice.hpp>
#include <qd1/machine/facts.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace qd1 {

constexpr std::size_t widest_description = 96;

/// What `qd1 env` prints: the facts in groups, then advice. No line has more than `width` columns, but for commands,
/// which users copy, and single words.
std::string describe(const machine_facts& machine, std::size_t width = widest_description);

/// The advice alone, one paragraph each; empty where there is none.
std::string describe(const std::vector<recommendation>& all, std::size_t width = widest_description);

}  // namespace qd1
