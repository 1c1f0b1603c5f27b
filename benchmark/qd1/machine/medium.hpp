// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>

#include <cstdint>

namespace qd1 {

/// Where the data end up.
enum class medium : std::uint8_t { unknown, memory, device, network };

medium medium_of(const machine_facts& machine);

/// What nothing lies under: the devices that do the work.
bool is_lowest(const device_facts& device);

}  // namespace qd1
