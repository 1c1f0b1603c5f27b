// SPDX-License-Identifier: BSL-1.0
// How much work one turn of the loop may do inline, without the engine.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/file_size_limit.hpp>
#include <qio/loop/inline_pause.hpp>
#include <qio/loop/thread_waits.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Counts the time that a turn has spent on inline transfers. Up to the first limit, the coroutine that started a
/// transfer continues immediately. Up to the second, transfers still complete inline, but the coroutine continues only
/// after the others have run.
class inline_turn {
 public:
  using duration = std::chrono::nanoseconds;

  void renew() noexcept { spent_ = duration::zero(); }
  void spend(duration time) noexcept { spent_ += time; }

  bool may_go_on() const noexcept { return spent_ < without_a_pause; }
  bool has_time() const noexcept { return spent_ < altogether; }

  /// For a batch, whose transfers have no coroutine to continue between them: they may use the time up to the second
  /// limit. What they have spent counts when the share ends.
  class long_share {
   public:
    explicit long_share(inline_turn& turn) noexcept : turn_(turn) {}
    long_share(const long_share&) = delete;
    long_share& operator=(const long_share&) = delete;
    ~long_share() { turn_.spent_ += spent_; }

    /// Before each transfer: whether there is time left.
    bool begin_next() noexcept {
      spent_ += std::exchange(turn_.spent_, duration::zero());
      return spent_ < altogether;
    }

   private:
    inline_turn& turn_;
    duration spent_{};
  };

  /// About how long a system call takes that copies this many bytes between buffers.
  static constexpr duration time_of_copy(std::size_t bytes) noexcept { return duration(512 + bytes / 8); }
  /// A transfer that should only copy, but took longer, may have waited for a device.
  static constexpr duration longest_copy(std::size_t bytes) noexcept {
    return std::chrono::microseconds(20) + 2 * time_of_copy(bytes);
  }

  /// The same for opening or closing a file.
  static constexpr duration longest_opening = std::chrono::microseconds(200);

  /// Long enough to make a turn cheap (some 60 transfers of 4 KiB) ...
  static constexpr duration without_a_pause = std::chrono::microseconds(64);

  /// The pause of a file system, by its device number. Two file systems may share one.
  static constexpr unsigned pauses = 16;
  inline_pause& pause_of(unsigned number) noexcept { return pauses_[number % pauses]; }

  thread_waits waits;  ///< of the loop's thread
  file_size_limit limit;
  platform::known_file_systems file_systems;  ///< of files that were opened asynchronously

 private:
  // ... and short enough for operations that the engine has completed meanwhile.
  static constexpr duration altogether = std::chrono::milliseconds(1);

  duration spent_{};
  inline_pause pauses_[pauses];
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
