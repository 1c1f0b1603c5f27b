// SPDX-License-Identifier: BSL-1.0
// Syncs by blocking calls, which several threads may make at once.
#pragma once

#include <qio/configuration.hpp>
#include <qio/request/sync_epochs.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// See sync_failure: the success of a sync may be believed when all that overlapped it have ended. Thread-safe.
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
    return epochs_.begin();
  }

  void end(sync_epochs::epoch epoch, bool waits_for_others) noexcept {
    std::unique_lock lock(mutex_);
    epochs_.end(epoch);
    changed_.notify_all();
    if (!waits_for_others) return;
    const std::uint32_t end_of_all = epochs_.end_of_all();
    changed_.wait(lock, [&] { return epochs_.has_passed(end_of_all); });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  sync_epochs epochs_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
