// SPDX-License-Identifier: BSL-1.0
// How much may be done inline, before an engine is asked, in one turn of the loop.
#pragma once

#include <qio/detail/clock.hpp>
#include <qio/detail/thread_waits.hpp>

#include <cstddef>

namespace qio::detail {

/// Time spent on transfers that were carried out at once. Up to one limit they are free to go on without a pause, as
/// fast as they can; up to the other they may still be carried out, but whoever waits for one goes on only when the
/// others have had their turn.
class inline_turn {
 public:
  using duration = std::chrono::nanoseconds;

  void renew() noexcept { spent_ = duration::zero(); }
  void spend(duration time) noexcept { spent_ += time; }

  bool may_go_on() const noexcept { return spent_ < without_a_pause; }
  bool has_time() const noexcept { return spent_ < altogether; }

  /// About what a system call takes that copies so many bytes from memory to memory.
  static constexpr duration time_of_copy(std::size_t bytes) noexcept { return duration(512 + bytes / 8); }

  thread_waits waits;  ///< of the loop's thread

 private:
  // Long enough to make a look at the others cheap (some 60 transfers of 4 KiB) …
  static constexpr duration without_a_pause = std::chrono::microseconds(64);
  // … and short enough for what an engine has completed meanwhile.
  static constexpr duration altogether = std::chrono::milliseconds(1);

  duration spent_{};
};

}  // namespace qio::detail
