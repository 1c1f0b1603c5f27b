// SPDX-License-Identifier: BSL-1.0
// Remembers a failed sync, because the system forgets it.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <system_error>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// When pages cannot be written, Linux reports that to one fsync(2) of each handle, and marks the pages clean or drops
/// them. The next fsync finds nothing to write and succeeds, although data is lost. So the first failure is the result
/// of every later sync. Thread-safe.
class sync_failure {
 public:
  sync_failure() noexcept = default;
  sync_failure(const sync_failure&) = delete;
  sync_failure& operator=(const sync_failure&) = delete;

  bool exists() const noexcept { return code() != 0; }
  error get() const noexcept { return std::error_code(code(), platform::system_category()); }

  /// From now on, remembers in `shared`, too, as others do. A sync that is in progress meanwhile is noted in both:
  /// whoever comes second of this function and note() sees what the first one wrote.
  void keep_in(std::atomic<int>& shared) noexcept {
    shared_.store(&shared);
    if (const int own = own_.load(); own != 0) note_in(shared, own);
  }

  void note(const error& failure) noexcept {
    if (loses_nothing(failure)) return;
    note_in(own_, failure.code().value());
    if (std::atomic<int>* const shared = shared_.load()) note_in(*shared, failure.code().value());
  }

  /// The earlier failure, if there is one; otherwise the result of `call`, which syncs.
  template <class Call>
  result<void> answer_of(Call&& call) {
    if (exists()) return get();
    result<void> answer = std::forward<Call>(call)();
    if (!answer) note(answer.error());
    return answer;
  }

 private:
  static void note_in(std::atomic<int>& place, int code) noexcept {
    int none = 0;
    place.compare_exchange_strong(none, code);
  }

  int code() const noexcept {
    const std::atomic<int>* const shared = shared_.load(std::memory_order_acquire);
    return (shared != nullptr ? *shared : own_).load(std::memory_order_relaxed);
  }

  // The sync was canceled or was invalid. Any other failure may mean that written data is lost.
  static bool loses_nothing(const error& failure) noexcept {
    if (!identified_category::is_same(failure.code().category(), platform::system_category())) return true;
    for (const std::errc harmless :
         {std::errc::interrupted, std::errc::operation_canceled, std::errc::bad_file_descriptor,
          std::errc::invalid_argument, std::errc::bad_address, std::errc::file_too_large, std::errc::permission_denied,
          std::errc::operation_not_permitted, std::errc::no_lock_available})
      if (failure == harmless) return true;
    return false;
  }

  std::atomic<int> own_ = 0;
  std::atomic<std::atomic<int>*> shared_ = nullptr;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
