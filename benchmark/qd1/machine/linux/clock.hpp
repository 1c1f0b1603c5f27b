// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/tree.hpp>

namespace qd1::linux_system {

/// What clock_gettime reads.
clock_facts find_clock(const tree& system);

}  // namespace qd1::linux_system
