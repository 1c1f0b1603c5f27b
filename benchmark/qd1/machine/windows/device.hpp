// SPDX-License-Identifier: BSL-1.0
// The devices under a volume, and what Windows counts for them.
#pragma once

#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>
#include <qd1/machine/windows/volume.hpp>

#include <optional>
#include <string>
#include <vector>

namespace qd1::windows_system {

/// The volume, then its disks. Empty where Windows does not report them, as for a network share.
std::vector<device_facts> find_devices(const volume& on);

/// None where the device does not count.
std::optional<device_counters> count_operations(const std::string& device);

/// "nvme" for a STORAGE_BUS_TYPE of 17; none for one that has no name here.
std::optional<std::string> name_of_bus(int type);

}  // namespace qd1::windows_system
