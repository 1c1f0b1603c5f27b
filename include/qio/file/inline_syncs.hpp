// SPDX-License-Identifier: BSL-1.0
// Which syncs of a file run inline.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/platform.hpp>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A sync of a file that has not changed since the last sync has nothing to write, and some file systems return at once
/// (btrfs: 1 us). No sync is skipped. The change time of the file only tells which rarely waits: others may have
/// changed the file, and its time shows that, too. File systems that still flush the cache of the device (ext4, XFS)
/// make the sync wait; then further ones go to the engine, twice as many each time.
///
/// A sync behind a write of the file itself never asks for the change time. It has something to write, and the answer
/// would make the next write store a finer time, and the sync behind that one slower (Linux 6.13 and later).
class inline_syncs {
 public:
  /// Called once, when the file is opened. `always`: a sync never has anything to do (tmpfs).
  void allow(bool always) noexcept { kind_ = always ? kind::always : kind::if_clean; }

  /// Called for each write that the file makes of itself.
  void note_write() noexcept { has_written_ = true; }

  /// Called for each sync that could be attempted, before it begins. If false, an engine carries it out.
  bool may_be_attempted(platform::native_handle handle) noexcept {
    if (kind_ != kind::if_clean) return kind_ == kind::always;
    if (has_written_) {
      has_written_ = false;
      changed_at_ = 0;
      return false;
    }
    if (left_out_ != 0) {
      --left_out_;
      return false;
    }
    const std::int64_t before = changed_at_;
    changed_at_ = platform::settled_change_time(handle);
    return changed_at_ != 0 && changed_at_ == before;
  }

  /// An attempted sync has returned.
  void done(bool has_waited) noexcept {
    if (!has_waited) return;
    left_out_ = leave_out_;
    leave_out_ = lesser_of(2 * leave_out_, most_left_out);
  }

 private:
  enum class kind : std::uint8_t { never, if_clean, always };
  static constexpr std::uint32_t most_left_out = 4096;

  std::int64_t changed_at_ = 0;  // before the last sync; see settled_change_time()
  std::uint32_t left_out_ = 0;
  std::uint32_t leave_out_ = 16;
  kind kind_ = kind::never;
  bool has_written_ = false;  // since the last sync
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
