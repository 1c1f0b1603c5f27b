// SPDX-License-Identifier: BSL-1.0
// Whether a write on this thread might exceed the process's limit on the size of files.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/platform.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Watches RLIMIT_FSIZE, which may change at any time. A write past the limit raises SIGXFSZ on the thread that makes
/// it, so a limited process leaves its writes to the engine. A system call per write would make small writes a tenth
/// slower, so a change is noticed within a millisecond.
class file_size_limit {
 public:
  bool exists(clock::time_point now) noexcept {
    if (now - asked_at_ >= std::chrono::milliseconds(1)) {
      asked_at_ = now;
      exists_ = platform::has_file_size_limit();
    }
    return exists_;
  }

 private:
  clock::time_point asked_at_{};
  bool exists_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
