// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <cstdint>

namespace qd1::linux_system {

/// What the kernel reports about the processors; frequency and sleep are those of the processor of thread `current`.
cpu_facts find_cpu(const tree& system, std::uint64_t current);

}  // namespace qd1::linux_system
