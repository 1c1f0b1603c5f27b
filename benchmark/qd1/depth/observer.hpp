// SPDX-License-Identifier: BSL-1.0
// What can be observed from outside while workers transfer: memory, devices, processor time.
#pragma once

#include "depth/field.hpp"
#include "depth/window.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace qd1 {

/// A snapshot. What the system does not report is absent.
struct glance {
  std::optional<std::uint64_t> cached_pages;  ///< of these targets
  std::optional<std::uint64_t> dirty_bytes;   ///< with what is being written back: of the machine, or as the field says
  std::optional<std::uint64_t> device_in_flight;  ///< of the devices under all targets
};

struct observation {
  std::vector<glance> seconds;          ///< at the end of each second of the window, and at its end
  double measured = 0;                  ///< seconds; fewer than the window's if it was closed
  double processor = 0;                 ///< seconds that this process computed in the window
  std::optional<std::uint64_t> cycles;  ///< of the processors, in which it did
};

/// Observes until the window closes. An interrupt closes it.
observation observe(window& window, const field& field, const std::vector<const target*>& targets);

}  // namespace qd1
