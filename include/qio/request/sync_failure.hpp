// SPDX-License-Identifier: BSL-1.0
// Remembers a failed sync, because the system forgets it.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The failures of syncs of one handle. Thread-safe.
struct sync_failures {
  std::atomic<int> first = 0;            ///< the system's code; 0 if none has failed
  std::atomic<std::uint32_t> count = 0;  ///< raised after `first` is set

  void add(int code) noexcept {
    int none = 0;
    first.compare_exchange_strong(none, code);
    count.fetch_add(1, std::memory_order_release);
  }
};

/// When pages cannot be written, Linux reports that to one fsync(2) of each open file, and marks the pages clean or
/// drops them. The next fsync finds nothing to write and succeeds, although data is lost. So the first failure is the
/// result of every later sync. The same goes for syncs that overlap, and for durable writes: the success of one may be
/// believed when those that overlap it have ended, and none of them has failed. Thread-safe.
class sync_failure {
 public:
  sync_failure() noexcept = default;
  sync_failure(const sync_failure&) = delete;
  sync_failure& operator=(const sync_failure&) = delete;

  bool exists() const noexcept { return known().first.load(std::memory_order_relaxed) != 0; }
  /// How many syncs have failed so far.
  std::uint32_t count() const noexcept { return known().count.load(std::memory_order_acquire); }
  /// The first failure.
  error get() const noexcept { return system_error(known().first.load(std::memory_order_relaxed)); }

  /// From now on, remembers in `shared`, too, as others do. A sync that is in progress meanwhile is noted in both:
  /// whoever comes second of this function and note() sees what the first one wrote.
  void keep_in(sync_failures& shared) noexcept {
    shared_.store(&shared);
    if (const int own = own_.first.load(); own != 0) shared.add(own);
  }

  /// Whether written data may be lost after a sync has failed so: it was not canceled. Errors of any other kind may be
  /// those of writing back (on NFS and FUSE, what the server answers), which the system reports once.
  static bool loses_data_in_sync(const error& failure) noexcept {
    return is_of_system(failure) &&
           !is_one_of(failure, {std::errc::interrupted, std::errc::operation_canceled, std::errc::bad_file_descriptor});
  }

  /// The same of a durable write: it was not refused before the system accepted it.
  static bool loses_data_in_write(const error& failure) noexcept {
    return loses_data_in_sync(failure) &&
           !is_one_of(failure,
                      {std::errc::invalid_argument, std::errc::bad_address, std::errc::file_too_large,
                       std::errc::permission_denied, std::errc::operation_not_permitted, std::errc::no_lock_available});
  }

  /// A sync failed.
  void note(const error& failure) noexcept {
    if (loses_data_in_sync(failure)) add(failure);
  }
  /// A durable write failed.
  void note_write(const error& failure) noexcept {
    if (loses_data_in_write(failure)) add(failure);
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
  static bool is_of_system(const error& failure) noexcept {
    return identified_category::is_same(failure.code().category(), platform::system_category());
  }
  static bool is_one_of(const error& failure, std::initializer_list<std::errc> codes) noexcept {
    for (const std::errc each : codes)
      if (failure == each) return true;
    return false;
  }

  void add(const error& failure) noexcept {
    own_.add(failure.code().value());
    if (sync_failures* const shared = shared_.load()) shared->add(failure.code().value());
  }

  static error system_error(int code) noexcept { return std::error_code(code, platform::system_category()); }

  const sync_failures& known() const noexcept {
    const sync_failures* const shared = shared_.load(std::memory_order_acquire);
    return shared != nullptr ? *shared : own_;
  }

  sync_failures own_;
  std::atomic<sync_failures*> shared_ = nullptr;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
