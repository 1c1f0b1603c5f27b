// SPDX-License-Identifier: BSL-1.0
// Applies a ring's completion to its request.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cerrno>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Whether the kernel gave up a request that nobody has canceled. It does so with what its ring cannot do without
/// waiting (a sync, a durable write), if it can start no worker thread, for example at RLIMIT_NPROC. Such a request is
/// not finished.
inline bool lacks_kernel_worker(const request& r, int answer) noexcept {
  return answer == -ECANCELED && !r.cancel_requested.load(std::memory_order_relaxed);
}

/// Handles any result other than "all that was left". True if `r` is finished.
QIO_NOINLINE inline bool ends_otherwise(request& r, int answer) noexcept {
  if (answer == -ECANCELED) {
    if (lacks_kernel_worker(r, answer)) return false;
    r.fail_as_canceled();
    return true;
  }
  if (r.op == opcode::writeback) return take_writeback(r, answer);
  if (r.op != opcode::sync) return take_answer(r, answer);
  if (answer == -EINTR) {
    if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
    r.fail_as_canceled();
  } else if (answer < 0) {
    r.failure = platform::system_error(-answer);
    r.activity->sync_failure.note(r.failure);
  }
  return true;
}

/// Handles the result of the last entry of `r`. True if `r` is finished; if not, the rest must be submitted.
inline bool finishes(request& r, int answer) noexcept {
  QIO_CHECK(r.is_held(), "the kernel completed a request that is not in flight");
  return r.io.is_finished_by(answer) || ends_otherwise(r, answer);
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
