// SPDX-License-Identifier: BSL-1.0
// Threads that carry out requests by blocking calls: all of the pool engine's, and what a ring cannot do.
#pragma once

#include <qio/detail/bounds.hpp>
#include <qio/detail/exceptions.hpp>
#include <qio/engine/request.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace qio::detail {

class workers {
 public:
  /// Calls `finished(owner, r)` on the worker's thread when `r` is over.
  workers(unsigned count, void (*finished)(void* owner, request& r) noexcept, void* owner)
      : count_(count != 0 ? count : lesser_of(greater_of(2 * std::thread::hardware_concurrency(), 4u), 64u)),
        finished_(finished),
        owner_(owner) {
    threads_.reserve(count_);
  }

  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;

  ~workers() { stop(); }

  /// With nothing queued. When it returns, no worker runs, and none will call `finished` again.
  void stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_all();
    for (std::thread& each : threads_) each.join();
    threads_.clear();
  }

  unsigned count() const noexcept { return count_; }

  void submit(request& r) noexcept {
    bool refused = false;
    {
      const std::lock_guard lock(mutex_);
      queued_.push(r);
      r.queued = true;
      ++waiting_;
      if (waiting_ > idle_ && threads_.size() < count_) refused = !start_thread();
      if (refused) take_out(r);
    }
    if (!refused) return arrived_.notify_one();
    // Not one thread can be had: carrying it out here is slow for the loop, but loses nothing.
    perform(r);
    finished_(owner_, r);
  }

  /// One that has not been begun ends here; one that has, between two pieces of its transfer.
  void cancel(request& r) noexcept {
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    {
      const std::lock_guard lock(mutex_);
      if (!r.queued) return;
      take_out(r);
    }
    r.fail_as_cancelled();
    finished_(owner_, r);
  }

 private:
  void take_out(request& r) noexcept {
    queued_.remove(r);
    r.queued = false;
    --waiting_;
  }

  // False only where there is no thread at all to do the work.
  bool start_thread() noexcept {
    const platform::signals_blocked blocked;
    const bool started = succeeds([this] { threads_.emplace_back([this] { work(); }); });
    return started || !threads_.empty();
  }

  void work() noexcept {
    std::unique_lock lock(mutex_);
    ++idle_;
    for (;;) {
      arrived_.wait(lock, [this] { return stopping_ || !queued_.empty(); });
      request* const r = queued_.pop();
      if (r == nullptr) return;
      r->queued = false;
      --waiting_;
      --idle_;
      lock.unlock();
      perform(*r);
      // Idle before the loop learns of it: what is submitted next finds this thread, and starts no other.
      lock.lock();
      ++idle_;
      lock.unlock();
      finished_(owner_, *r);
      lock.lock();
    }
  }

  const unsigned count_;
  void (*const finished_)(void*, request&) noexcept;
  void* const owner_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  queue<request> queued_;
  unsigned waiting_ = 0;  // requests in queued_
  unsigned idle_ = 0;     // threads that wait for one, or are about to
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace qio::detail
