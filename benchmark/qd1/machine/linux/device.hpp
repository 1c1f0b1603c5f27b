// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/stack.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace qd1::linux_system {

device_facts find_device(const tree& system, const stacked_device& device);

/// /sys/class/block/<name>/stat.
std::optional<device_counters> parse_device_counters(std::string_view stat);

}  // namespace qd1::linux_system
