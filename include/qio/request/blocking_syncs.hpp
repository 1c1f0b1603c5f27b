// SPDX-License-Identifier: BSL-1.0
// Syncs by blocking calls, which several threads may make at once.
#pragma once

#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>
#include <qio/request/sync_epochs.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

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
    ended_.notify_all();
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

}  // namespace qio::inline QIO_CONFIGURATION::detail
