// SPDX-License-Identifier: BSL-1.0
// All facts that files contain; without the system calls, so that it works on a copy of another machine's files.
#pragma once

#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/location.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <cstdint>
#include <optional>

namespace qd1::linux_system {

machine_facts find_machine(const tree& system, const location& where, std::uint64_t current_cpu,
                           std::uint64_t page_bytes);

/// That of the calling thread.
std::optional<std::uint64_t> waited_ns(const tree& system);

machine_counters count(const tree& system, const machine_facts& machine);

}  // namespace qd1::linux_system
