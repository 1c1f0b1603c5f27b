// SPDX-License-Identifier: BSL-1.0
// The names of ARM64 cores. Their /proc/cpuinfo has numbers, where that of x86 has a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace qd1::linux_system {

/// "Arm Cortex-A55, Arm Cortex-A76": each kind of core that /proc/cpuinfo lists, in its order; "Arm, part 0xd99" for
/// one without a known name. Nothing if it lists no implementer.
std::optional<std::string> arm_models(std::string_view cpuinfo);

}  // namespace qd1::linux_system
