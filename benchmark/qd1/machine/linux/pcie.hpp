// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <filesystem>
#include <optional>

namespace qd1::linux_system {

/// Where a device is attached to PCI. `device`: its directory under /sys/devices, without links.
std::optional<pcie_facts> find_pcie(const tree& system, const std::filesystem::path& device);

}  // namespace qd1::linux_system
