// SPDX-License-Identifier: BSL-1.0
// The cycles that processors spent on this process, by their own count. Not the time stamp counter (cycles.hpp), which
// runs at one rate whatever the processor does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::platform {

/// Counts the cycles of the thread that makes it, and of all threads that are begun by it, or by those, from then on:
/// in the program and in the kernel.
class hardware_cycles {
 public:
  hardware_cycles();
  hardware_cycles(const hardware_cycles&) = delete;
  hardware_cycles& operator=(const hardware_cycles&) = delete;
  ~hardware_cycles();

  /// So far. None where they cannot be counted, or if the counter was shared with others, so that it missed some.
  std::optional<std::uint64_t> counted() const noexcept;

  /// Why they cannot be counted; empty: they are.
  const std::string& why_not() const noexcept { return why_not_; }

 private:
  [[maybe_unused]] int counter_ = -1;
  std::string why_not_;
};

}  // namespace qd1::platform
