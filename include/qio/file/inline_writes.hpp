// SPDX-License-Identifier: BSL-1.0
// Which writes of a file run inline although they may wait, and how to back off after one that waited.
#pragma once

#include <qio/base/clock.hpp>
#include <qio/configuration.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A write into the page cache normally copies and returns. It waits if the kernel throttles writers, if a page that is
/// written in part must be read first, if the file system commits its journal, or if another process holds the file's
/// lock. Only an attempt shows whether it waits: ext4 has no write that fails instead of waiting (RWF_NOWAIT), and on
/// XFS such a write also fails whenever the file's time changes (seastar issue 2974). So a write is attempted where it
/// rarely waits. After one that waited, the engine gets the writes of that file for sixteen times as long, so waiting
/// costs the context's thread at most a seventeenth of its time.
class inline_writes {
 public:
  /// Copying 128 KiB takes about 50 µs. A worker thread of the kernel costs about 5 µs, a tenth of that or less for
  /// longer writes.
  static constexpr std::size_t most_bytes = 128 * 1024;
  /// A longer write may have waited: see thread_waits.
  static constexpr clock::duration longest = std::chrono::microseconds(200);

  const char* refusal =
      "the file was opened without a context";  ///< why no write is attempted; null if writes are attempted

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

  /// A write that ended at `end` waited for `took`.
  void waited(clock::time_point end, clock::duration took) noexcept { resume_ = end + 16 * took; }

 private:
  /// Whether a page can be written in part without being read first. The page written last is assumed to be cached,
  /// which makes appending small records cheap.
  bool is_near(platform::native_handle handle, std::uint64_t page) const noexcept {
    return page == near_page_ || platform::page_needs_no_read(handle, page * platform::page_size());
  }

  clock::time_point resume_{};
  std::uint64_t near_page_ = ~std::uint64_t(0);
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
