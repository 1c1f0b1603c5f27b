// SPDX-License-Identifier: BSL-1.0
// Whether the success of a sync may be believed: syncs of a file that overlap, and failures that must not be forgotten.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- Syncs that overlap ---

/// Counts syncs in progress by epoch, of which two are in use at a time. A grace period begins with a new epoch, and
/// has passed when all syncs of the old one have ended: everything that was in progress when it began. (So do
/// reclamation by epochs and RCU.) Not thread-safe.
class sync_epochs {
 public:
  using epoch = std::uint8_t;

  /// A sync begins. Returns what end() needs.
  epoch begin() noexcept {
    ++running_[current_];
    return current_;
  }

  void end(epoch begun_in) noexcept {
    QIO_CHECK(running_[begun_in] != 0, "a sync ended that had not begun");
    --running_[begun_in];
    while (in_grace_period_ && running_[1 - current_] == 0) {
      in_grace_period_ = false;
      ++passed_;
      if (!has_passed(wanted_)) begin_grace_period();
    }
  }

  /// The number of grace periods that will have passed when everything has ended that is in progress now.
  std::uint32_t end_of_all() noexcept {
    if (running_[0] == 0 && running_[1] == 0) return passed_;
    // The present one does not wait for what has begun since.
    const bool needs_another = in_grace_period_ && running_[current_] != 0;
    if (!in_grace_period_) begin_grace_period();
    const std::uint32_t needed = passed_ + (needs_another ? 2 : 1);
    if (has_passed(wanted_) || needs_another) wanted_ = needed;
    return needed;
  }

  /// Numbers wrap around; none is more than two ahead.
  bool has_passed(std::uint32_t number) const noexcept { return number - passed_ - 1 > 1; }

 private:
  void begin_grace_period() noexcept {
    current_ = static_cast<epoch>(1 - current_);
    in_grace_period_ = true;
  }

  std::uint32_t running_[2] = {0, 0};
  std::uint32_t passed_ = 0;
  std::uint32_t wanted_ = 0;  // this many are to pass
  epoch current_ = 0;
  bool in_grace_period_ = false;
};

// --- Failed syncs, which the system forgets ---

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

// --- Syncs by blocking calls, which several threads may make at once ---

/// See sync_failure: the success of a sync may be believed when all that overlapped it have ended. Thread-safe. What is
/// in progress in a process does not concern its child processes.
class blocking_syncs {
 public:
  /// Returns the result of `call`, a sync or a durable write, which has noted a failure of its own. After a success,
  /// every failure of a call that was in progress meanwhile has been noted.
  template <class Call>
  auto run(Call&& call) {
    const sync_epochs::epoch epoch = begin();
    auto answer = std::forward<Call>(call)();
    end(epoch, answer.has_value());
    return answer;
  }

 private:
  sync_epochs::epoch begin() noexcept {
    const std::lock_guard lock(mutex_);
    if (process_.has_changed()) epochs_ = {};
    return epochs_.begin();
  }

  void end(sync_epochs::epoch epoch, bool waits_for_others) noexcept {
    std::unique_lock lock(mutex_);
    epochs_.end(epoch);
    const std::uint32_t end_of_all = waits_for_others ? epochs_.end_of_all() : 0;
    ended_.fetch_add(1, std::memory_order_relaxed);
    wake_all(ended_);
    if (!waits_for_others) return;
    while (!epochs_.has_passed(end_of_all)) {
      const std::uint32_t seen = ended_.load(std::memory_order_relaxed);
      lock.unlock();
      wait_while(ended_, seen);
      lock.lock();
    }
  }

  process_mutex mutex_;
  last_process process_;
  sync_epochs epochs_;
  std::atomic<std::uint32_t> ended_ = 0;  // syncs: counted under the mutex, waited for without it
};

}  // namespace detail
QIO_END_NAMESPACE
