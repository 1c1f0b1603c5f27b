// SPDX-License-Identifier: BSL-1.0
// One transfer per interval, until the user interrupts.
#pragma once

#include "watch/watched.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace qd1 {

struct watch_request {
  std::string path;  ///< empty: a temporary file in the current directory
  qd1::mode mode = mode::direct;
  qd1::operation operation = operation::read;
  temperature reads = temperature::warm;
  durability writes = durability::accepted;
  std::uint64_t block = 4096;
  std::optional<std::uint64_t> file_size;
  double interval = 1;                                              ///< seconds between the starts of two transfers
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();  ///< transfers, at most
  std::uint64_t seed = 1;
  bool overwrite = false;
};

struct watch_observer {
  std::function<void(const watch_subject&)> begins;
  std::function<void(const watched_transfer&)> sees;
};

/// Watches until `count` transfers are complete, one fails, or the user interrupts. One transfer before them is neither
/// shown nor counted. Throws usage_error where that cannot be done.
watched watch(const watch_request& request, const watch_observer& observer);

}  // namespace qd1
