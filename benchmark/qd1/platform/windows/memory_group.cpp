// SPDX-License-Identifier: BSL-1.0
#include "platform/memory_group.hpp"

#include "failure.hpp"

namespace qd1::platform {

// A job object bounds what a process has committed; pages of files belong to the system.
memory_group::memory_group(std::uint64_t) {
  throw usage_error("Windows bounds no process's share of the memory that holds pages of files");
}

memory_group::~memory_group() {}

std::optional<std::uint64_t> memory_group::dirty_bytes() const { return std::nullopt; }

void end_this_process_first() noexcept {}

}  // namespace qd1::platform
