// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <cstdint>

namespace qd1::linux_system {

memory_facts find_memory(const tree& system, std::uint64_t page_bytes);

}  // namespace qd1::linux_system
