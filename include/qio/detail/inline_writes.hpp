// SPDX-License-Identifier: BSL-1.0
// Which writes of a file are carried out inline, though they may wait, and what is learned from those that did.
#pragma once

#include <qio/detail/clock.hpp>
#include <qio/detail/platform.hpp>
#include <qio/engine/request.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::detail {

/// A write into the page cache normally copies and returns. It waits if the kernel throttles whoever makes pages dirty,
/// if a page that is written in part must be read first, if the file system commits its journal, if another process
/// holds the file's lock. Nothing but the attempt tells: ext4 has no write that would rather fail (RWF_NOWAIT), and
/// that of XFS fails whenever the file's time changes, too (seastar issue 2974). So it is attempted where it seldom
/// waits, and where it did, the engine gets the writes of that file for sixteen times as long: what waits costs the
/// context's thread at most a seventeenth of its time.
class inline_writes {
 public:
  /// 128 KiB are copied in some 50 µs. The way through a kernel's worker costs about 5 µs, so that from here on it
  /// is a tenth or less.
  static constexpr std::size_t most_bytes = 128 * 1024;
  /// What takes longer is looked into: see thread_waits.
  static constexpr clock::duration longest = std::chrono::microseconds(200);

  const char* refusal = "the file was opened without a context";  ///< why none is attempted; null if they are

  bool may_be_attempted(const request& r, clock::time_point now) noexcept {
    if (now < resume_) return false;
    const std::uint64_t page = platform::page_size();
    const std::uint64_t begin = r.io.offset(), end = begin + r.io.total();
    if (begin % page != 0 && !is_near(r.handle, begin / page)) return false;
    const bool has_other_edge = end % page != 0 && (end / page != begin / page || begin % page == 0);
    if (has_other_edge && !is_near(r.handle, end / page)) return false;
    near_page_ = (end - 1) / page;
    return true;
  }

  /// A write that ended then has waited so long.
  void waited(clock::time_point end, clock::duration took) noexcept { resume_ = end + 16 * took; }

 private:
  /// Whether a page of which a part is written need not be read. The one that was written last is taken to be there
  /// still, which makes appending a small record cheap.
  bool is_near(platform::native_handle handle, std::uint64_t page) const noexcept {
    return page == near_page_ || platform::page_needs_no_read(handle, page * platform::page_size());
  }

  clock::time_point resume_{};
  std::uint64_t near_page_ = ~std::uint64_t(0);
};

}  // namespace qio::detail
