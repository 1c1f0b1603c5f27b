// SPDX-License-Identifier: BSL-1.0
// What several files have in common that use one handle.
#pragma once

#include <qio/base/intrusive.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>
#include <qio/request/syncs.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <system_error>

namespace qio::inline QIO_CONFIGURATION::detail {

/// What keeps the file open besides the handle: a mapping. `release` is called once, by any thread.
struct kept_by_mapping : list_hook {
  void (*release)(kept_by_mapping&) noexcept = nullptr;
};

/// Owned by all files that use the handle, on whatever threads.
class shared_handle {
 public:
  /// `ends_at_once`: the file belongs to a shared_file, which closes it for all.
  explicit shared_handle(bool ends_at_once = false) noexcept : ends_at_once_(ends_at_once) {}

  void join() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  /// True for the last one, which closes the handle.
  bool leave() noexcept { return users_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool has_others() const noexcept { return users_.load(std::memory_order_acquire) > 1; }

  bool ends_at_once() const noexcept { return ends_at_once_; }
  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }

  /// The same, after an end() that has begun in another thread.
  bool has_surely_ended() noexcept {
    const std::lock_guard lock(mutex_);
    return has_ended();
  }

  /// Closes the file for all who use the handle. From any thread, also of several.
  result<void> end(platform::native_handle handle) noexcept {
    const std::lock_guard lock(mutex_);
    if (has_ended()) return error(std::make_error_code(std::errc::bad_file_descriptor));
    const auto closed = platform::close_and_keep_number(handle);
    if (!closed.has_ended) return closed.failure;
    has_ended_.store(true, std::memory_order_release);
    mappings_.for_each([](kept_by_mapping& each) { each.release(each); });
    if (closed.failure.exists()) return closed.failure;
    return success();
  }

  /// From now on, end() ends this, too; at once if the file is closed already.
  void add(kept_by_mapping& mapping) noexcept {
    const std::lock_guard lock(mutex_);
    mappings_.insert(mapping);
    if (has_ended()) mapping.release(mapping);
  }
  void remove(kept_by_mapping& mapping) noexcept {
    const std::lock_guard lock(mutex_);
    mapping.unlink();
  }

  sync_failures failures;
  blocking_syncs syncs;

 private:
  std::atomic<std::uint32_t> users_ = 1;
  const bool ends_at_once_;
  std::atomic<bool> has_ended_ = false;
  process_mutex mutex_;  // guards the list, which may be walked after each store
  list<kept_by_mapping> mappings_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
