// SPDX-License-Identifier: BSL-1.0
// A limit on the memory of this process that includes the pages of its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::platform {

/// A control group for this process alone, which ends with this object. What the process has in memory already still
/// counts in its old group, so the limit applies only to what comes from now on.
class memory_group {
 public:
  /// Enters the group. Removes groups that ended processes left behind. Throws usage_error, with the reason, if such a
  /// group is unavailable.
  explicit memory_group(std::uint64_t bytes);
  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;
  /// Returns to the group it came from, and removes this one.
  ~memory_group();

  /// Whether the kernel also throttles writers by the dirty memory of this group, whatever the machine has (version 2).
  /// If not, allocations in a full group wait until dirty pages have been written.
  bool limits_dirty_memory() const noexcept { return unified_; }

  /// Dirty memory that counts here, with what is being written back.
  std::optional<std::uint64_t> dirty_bytes() const;

 private:
  std::string try_to_enter(const std::string& above, std::uint64_t bytes);

  std::string before_;  // directories of groups
  std::string own_;
  bool unified_ = false;
};

/// If memory runs out, the system ends this process rather than another one, where it supports that.
void end_this_process_first() noexcept;

}  // namespace qd1::platform
