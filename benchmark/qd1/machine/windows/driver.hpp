// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::windows_system {

/// The name of the driver that serves the controller of PhysicalDrive<number>: "stornvme".
std::optional<std::string> find_driver(std::uint32_t number);

}  // namespace qd1::windows_system
