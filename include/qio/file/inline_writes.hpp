// SPDX-License-Identifier: BSL-1.0
// Which writes of a file run inline although they may wait.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/loop.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A write into the page cache normally copies and returns. It waits if the kernel throttles writers, if a page that is
/// written in part must be read first, if the file system commits its journal, or if another process holds the file's
/// lock. Only an attempt shows whether it waits: ext4 has no write that fails instead of waiting (RWF_NOWAIT), and on
/// XFS such a write also fails whenever the file's time changes (seastar issue 2974). So a write is attempted where it
/// rarely waits.
class inline_writes {
 public:
  bool may_be_attempted(const request& r) noexcept {
    is_guess_ = false;
    return is_short(r.io.total()) && needs_no_page_read(r);
  }

  /// An attempt of `bytes` bytes took `took`. True if it took so long that it may have waited: see thread_waits.
  bool is_slow(clock::duration took, std::size_t bytes) noexcept {
    if (bytes > always_short) learn(took / pages_of(bytes));
    return took > (is_guess_ ? inline_turn::longest_copy(bytes) : slow);
  }

  /// It did wait.
  void waited() noexcept { successes_ = 0; }

 private:
  using duration = clock::duration;

  // A kernel worker costs a short write several times as much as the copy takes.
  static constexpr std::size_t always_short = 128 * 1024;
  static constexpr std::size_t never_short = 1024 * 1024;
  static constexpr duration slow = std::chrono::microseconds(200);
  static constexpr duration longest_copy = std::chrono::microseconds(320);  // a third of a turn
  static constexpr unsigned enough_successes = 16;

  // A single value counts little, however large it is: the thread may have been preempted.
  void learn(duration per_page) noexcept {
    const duration most = time_per_page_ / 4;
    time_per_page_ += greater_of(-most, lesser_of(most, (per_page - time_per_page_) / 4));
  }

  static duration::rep pages_of(std::size_t bytes) noexcept { return static_cast<duration::rep>(bytes / 4096); }

  // Whether copying `bytes` bytes takes no longer than 320 us, by what longer writes to this file took so far. The
  // estimate shrinks with each write that is not attempted, so that one is attempted again some dozen writes later.
  bool is_short(std::size_t bytes) noexcept {
    if (bytes <= always_short) return true;
    if (bytes > never_short) return false;
    if (time_per_page_ * pages_of(bytes) <= longest_copy) return true;
    time_per_page_ -= time_per_page_ / 256 + duration(1);
    return false;
  }

  bool needs_no_page_read(const request& r) noexcept {
    const std::uint64_t page = platform::page_size();
    const std::uint64_t begin = r.io.offset(), end = begin + r.io.total();
    if (r.flags != 0) return begin % page == 0 && end % page == 0;  // uncached: the rest of a page is elsewhere
    if (begin % page != 0 && !is_at_hand(r.handle, begin / page)) return false;
    const bool has_other_edge = end % page != 0 && (end / page != begin / page || begin % page == 0);
    if (has_other_edge && !is_at_hand(r.handle, end / page)) return false;
    last_page_ = (end - 1) / page;
    return true;
  }

  // Whether a page can be written in part without being read first. The page written last is assumed to be cached,
  // which makes appending small records cheap. Asking costs as much as the write itself. So if the last sixteen pages
  // were cached, only every sixteenth is asked for until one is not, or until a write waits. Where the file system
  // cannot tell, none is.
  bool is_at_hand(platform::native_handle handle, std::uint64_t page) noexcept {
    if (page == last_page_) return true;
    if (cannot_tell_ || (successes_ >= enough_successes && ++guesses_ % 16 != 0)) return is_guess_ = true;
    const platform::page_state found = platform::state_of_page(handle, page * platform::page_size());
    if (found == platform::page_state::unknown) return cannot_tell_ = is_guess_ = true;
    successes_ = found == platform::page_state::at_hand ? successes_ + 1 : 0;
    return found == platform::page_state::at_hand;
  }

  duration time_per_page_ = std::chrono::nanoseconds(128);  // of writes that are not always short; a low guess
  std::uint64_t last_page_ = ~std::uint64_t(0);
  unsigned successes_ = 0;  // pages in a row that were cached
  unsigned guesses_ = 0;
  bool cannot_tell_ = false;
  bool is_guess_ = false;  // the current attempt writes a part of a page that is only assumed to be cached
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
