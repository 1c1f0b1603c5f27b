// SPDX-License-Identifier: BSL-1.0
// What guards this Windows and takes time from each operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::windows_system {

/// "Microsoft Defender", if its service runs and does not leave files alone. None: unknown, or another one.
std::optional<std::string> find_virus_scanner();

/// Whether memory integrity is turned on; none where Windows does not say.
std::optional<bool> find_memory_integrity();

/// The name of a scanner, by whether Defender's service runs, and the values of its policies and settings that turn the
/// scanning of files off as they are opened (DisableRealtimeMonitoring).
std::optional<std::string> name_of_scanner(bool service_runs, std::uint32_t disabled_by_policy,
                                           std::uint32_t disabled_by_setting);

}  // namespace qd1::windows_system
