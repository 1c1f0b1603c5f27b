// SPDX-License-Identifier: BSL-1.0
// What several files have in common that use one handle.
#pragma once

#include <qio/configuration.hpp>
#include <qio/request/blocking_syncs.hpp>
#include <qio/request/sync_failure.hpp>

#include <atomic>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Owned by all files that use the handle, on whatever threads.
class shared_handle {
 public:
  void join() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  /// True for the last one, which closes the handle.
  bool leave() noexcept { return users_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool has_others() const noexcept { return users_.load(std::memory_order_acquire) > 1; }

  sync_failures failures;
  blocking_syncs syncs;

 private:
  std::atomic<std::uint32_t> users_ = 1;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
