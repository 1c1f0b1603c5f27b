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

  bool exists() const noexcept { return code_->load(std::memory_order_relaxed) != 0; }
  error get() const noexcept {
    return std::error_code(code_->load(std::memory_order_relaxed), platform::system_category());
  }

  /// Remembers in `shared` from now on, like others that do. Not while another thread uses this one.
  void keep_in(std::atomic<int>& shared) noexcept {
    if (exists()) shared.store(code_->load(std::memory_order_relaxed), std::memory_order_relaxed);
    code_ = &shared;
  }

  void note(const error& failure) noexcept {
    if (loses_nothing(failure)) return;
    int none = 0;
    code_->compare_exchange_strong(none, failure.code().value(), std::memory_order_relaxed);
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
  // The sync was canceled or was invalid. Any other failure may mean that written data is lost.
  static bool loses_nothing(const error& failure) noexcept {
    if (failure.code().category() != platform::system_category()) return true;
    for (const std::errc harmless :
         {std::errc::interrupted, std::errc::operation_canceled, std::errc::bad_file_descriptor,
          std::errc::invalid_argument, std::errc::bad_address, std::errc::file_too_large, std::errc::permission_denied,
          std::errc::operation_not_permitted, std::errc::no_lock_available})
      if (failure == harmless) return true;
    return false;
  }

  std::atomic<int> own_ = 0;
  std::atomic<int>* code_ = &own_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
