// SPDX-License-Identifier: BSL-1.0
// A bound to the memory of this process that includes the pages of its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::platform {

/// A control group of this process's own, as long as it exists. What the process has in memory already counts where it
/// came there, so only what comes from now on is bounded.
class memory_group {
 public:
  /// Enters the group. Removes groups that ended processes left behind. Throws usage_error, with the reason, if such a
  /// group is unavailable.
  explicit memory_group(std::uint64_t bytes);
  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;
  /// Goes back to the group it came from, and removes this one.
  ~memory_group();

  /// Whether the kernel also makes those wait who have too much dirty memory in this group, whatever the machine has
  /// (version 2). Where it does not, who needs memory in a full group waits until dirty pages have been written.
  bool limits_dirty_memory() const noexcept { return unified_; }

  /// Dirty memory that counts here, with what is being written back.
  std::optional<std::uint64_t> dirty_bytes() const;

 private:
  std::string try_to_enter(const std::string& above, std::uint64_t bytes);

  std::string before_;  // directories of groups
  std::string own_;
  bool unified_ = false;
};

/// If memory runs out, the system ends this process, and not another one, where it can be told so.
void end_this_process_first() noexcept;

}  // namespace qd1::platform
