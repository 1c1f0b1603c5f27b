// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <optional>
#include <string_view>

namespace qd1::linux_system {

/// What the kernel and the firmware report; the processor itself knows more (cpuid).
virtual_facts find_virtualization(const tree& system);

/// The first line of /proc/stat.
std::optional<processor_time> parse_processor_time(std::string_view stat);

}  // namespace qd1::linux_system
