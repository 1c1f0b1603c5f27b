// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/advice.hpp>
#include <qd1/machine/facts.hpp>

#include <string>
#include <vector>

namespace qd1 {

/// What `qd1 env` prints: the facts in groups, then advice. No line is wider than 96 columns.
std::string describe(const machine_facts& machine);

/// The advice alone, one paragraph each; empty where there is none.
std::string describe(const std::vector<recommendation>& all);

}  // namespace qd1
