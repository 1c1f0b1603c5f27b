// SPDX-License-Identifier: BSL-1.0
// Memory made short, around whatever is measured.
#pragma once

#include "platform/memory_group.hpp"
#include "pressure/ballast.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace qd1 {

/// Makes memory short for what this process does from now on, until destroyed. Pages that are in memory already still
/// count in the old group, so data to measure under pressure must be dropped from the page cache first.
class memory_pressure {
 public:
  /// Leaves about `bytes` for the pages of this process's files and for its own memory: by a control group
  /// (needs root, or a group that is delegated to this user), else by touching memory until no more than that is
  /// available on the machine. Throws usage_error if neither is possible, or if the latter would leave the machine less
  /// than 256 MiB.
  explicit memory_pressure(std::uint64_t bytes);

  /// Throws what the constructor would throw for `bytes`, without making memory short.
  static void require(std::uint64_t bytes);

  /// "control group limit of 256 MiB", "1536 MiB of touched memory".
  const std::string& how() const noexcept { return how_; }

  /// Dirty memory, with what is being written back, of the control group if this has one of its own, else of the
  /// machine.
  std::optional<std::uint64_t> dirty_bytes() const;

  /// Adds to the facts of a series how memory is short now, and which limits of dirty memory apply.
  void describe(shortage& to) const;

 private:
  std::uint64_t bytes_;
  std::optional<platform::memory_group> group_;
  std::optional<ballast> ballast_;
  std::string how_;
};

}  // namespace qd1
