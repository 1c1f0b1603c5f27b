// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>

#include <cstdint>
#include <string>

namespace qd1 {

/// Where the data end up.
enum class medium : std::uint8_t { unknown, memory, device, network };

/// What lies at the bottom of the stack under a file.
struct storage_bottom {
  qd1::medium medium = medium::device;
  std::string why = {};  ///< it is no device, or not known: "zram0 keeps its data in memory"; empty for a device
};

/// A device only if all that lie at the bottom are known to be devices.
storage_bottom bottom_of(const machine_facts& machine);

inline medium medium_of(const machine_facts& machine) { return bottom_of(machine).medium; }

/// What nothing lies under: the devices that do the work.
bool is_lowest(const device_facts& device);

/// The loop device in the stack that keeps its file in the page cache; null if there is none.
const device_facts* caching_loop(const machine_facts& machine);

}  // namespace qd1
