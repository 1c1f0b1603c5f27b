// SPDX-License-Identifier: BSL-1.0
// Which syncs of a file overlap.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Counts syncs in progress by epoch, of which two are in use at a time. A grace period begins with a new epoch, and
/// has passed when all syncs of the old one have ended: everything that was in progress when it began. (So do
/// reclamation by epochs and RCU.) Not thread-safe.
class sync_epochs {
 public:
  using epoch = std::uint8_t;

  /// A sync begins. Returns what end() needs.
  epoch begin() noexcept {
    ++running_[current_];
    return current_;
  }

  void end(epoch begun_in) noexcept {
    QIO_CHECK(running_[begun_in] != 0, "a sync ended that had not begun");
    --running_[begun_in];
    while (in_grace_period_ && running_[1 - current_] == 0) {
      in_grace_period_ = false;
      ++passed_;
      if (!has_passed(wanted_)) begin_grace_period();
    }
  }

  /// The number of grace periods that will have passed when everything has ended that is in progress now.
  std::uint32_t end_of_all() noexcept {
    if (running_[0] == 0 && running_[1] == 0) return passed_;
    // The present one does not wait for what has begun since.
    const bool needs_another = in_grace_period_ && running_[current_] != 0;
    if (!in_grace_period_) begin_grace_period();
    const std::uint32_t needed = passed_ + (needs_another ? 2 : 1);
    if (has_passed(wanted_) || needs_another) wanted_ = needed;
    return needed;
  }

  /// Numbers wrap around; none is more than two ahead.
  bool has_passed(std::uint32_t number) const noexcept { return number - passed_ - 1 > 1; }

 private:
  void begin_grace_period() noexcept {
    current_ = static_cast<epoch>(1 - current_);
    in_grace_period_ = true;
  }

  std::uint32_t running_[2] = {0, 0};
  std::uint32_t passed_ = 0;
  std::uint32_t wanted_ = 0;  // this many are to pass
  epoch current_ = 0;
  bool in_grace_period_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
