// SPDX-License-Identifier: BSL-1.0
#include "measure/memory_notes.hpp"

#include "machine/find.hpp"
#include "units.hpp"

#include <fmt/format.h>

namespace qd1 {

std::string throttling_note() {
  const memory_facts memory = find_memory();
  if (!memory.dirty_bytes || !memory.dirty_background_limit_bytes) return {};
  const std::uint64_t waiting = *memory.dirty_bytes + memory.writeback_bytes.value_or(0);
  if (waiting <= *memory.dirty_background_limit_bytes) return {};
  return fmt::format(
      "more memory was dirty at the end of a round than the background limit of {} bytes: the kernel was "
      "writing back, and may have made this wait",
      grouped(*memory.dirty_background_limit_bytes));
}

std::string memory_limit_note(std::optional<std::uint64_t> before) {
  const auto hits = memory_limit_hits();
  if (!hits || !before || *hits <= *before) return {};
  return "its control group reached its memory limit meanwhile: this waited until pages were evicted and written back";
}

}  // namespace qd1
