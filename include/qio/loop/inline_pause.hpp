// SPDX-License-Identifier: BSL-1.0
// How to back off from inline transfers after one that waited.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

/// After a transfer that waited, the engine gets the transfers of that file system for sixteen times as long. So
/// waiting for a file system costs the context's thread at most a seventeenth of its time, however many of its files
/// are open.
class inline_pause {
 public:
  bool is_over(clock::time_point now) const noexcept { return now >= resume_; }

  /// A transfer that ended at `end` waited for `took`.
  void begin(clock::time_point end, clock::duration took) noexcept { resume_ = end + 16 * took; }

 private:
  clock::time_point resume_{};
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
