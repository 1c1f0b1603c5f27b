// SPDX-License-Identifier: BSL-1.0
#include "platform/memory_group.hpp"

#include "failure.hpp"

namespace qd1::platform {

// A job object bounds what a process has committed; pages of files belong to the system.
memory_group::memory_group(std::uint64_t) {
  throw usage_error("Windows cannot limit how much memory holds pages of files for one process");
}

memory_group::~memory_group() {}

std::optional<std::uint64_t> memory_group::dirty_bytes() const { return std::nullopt; }

void end_this_process_first() noexcept {}

}  // namespace qd1::platform
