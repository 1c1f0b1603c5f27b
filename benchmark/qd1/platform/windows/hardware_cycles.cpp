// SPDX-License-Identifier: BSL-1.0
#include "platform/hardware_cycles.hpp"

namespace qd1::platform {

// QueryProcessCycleTime counts by the time stamp counter, if by anything that is documented.
hardware_cycles::hardware_cycles() : why_not_("Windows does not let a process count the processor's cycles") {}
hardware_cycles::~hardware_cycles() = default;
std::optional<std::uint64_t> hardware_cycles::counted() const noexcept { return std::nullopt; }

}  // namespace qd1::platform
