// SPDX-License-Identifier: BSL-1.0
// The devices under a volume, and what Windows counts for them.
#pragma once

#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>
#include <qd1/machine/windows/volume.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qd1::windows_system {

/// The volume, then its disks. Empty where Windows does not report them, as for a network share.
std::vector<device_facts> find_devices(const volume& on);

/// What IOCTL_DISK_PERFORMANCE reports, as far as it is used.
struct performance_counts {
  std::uint64_t reads, writes, read_bytes, write_bytes, in_flight;
};

/// None if all are zero: the device does not count, or counts only since it was asked, since IOCTL_DISK_PERFORMANCE
/// itself turns counting on (its documentation).
std::optional<device_counters> counters_of(const std::string& device, const performance_counts& counts);

/// None where the device does not count.
std::optional<device_counters> count_operations(const std::string& device);

/// The highest temperature in an answer to StorageDeviceTemperatureProperty (STORAGE_TEMPERATURE_DATA_DESCRIPTOR), in
/// degrees Celsius; none if a sensor reports none.
std::optional<double> temperature_in(std::span<const std::byte> answer);

/// The device's cache: "write back", for example, and whether Windows does not pass flushes on to it, as the box "Turn
/// off Windows write-cache buffer flushing" wants.
std::optional<std::string> name_of_cache(bool is_enabled, bool is_known, bool writes_through, bool writes_back,
                                         bool ignores_flushes);

/// "nvme" for a STORAGE_BUS_TYPE of 17; none for one that has no name here.
std::optional<std::string> name_of_bus(int type);

}  // namespace qd1::windows_system
