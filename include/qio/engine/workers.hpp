// SPDX-License-Identifier: BSL-1.0
// Threads that carry out requests by blocking calls: all requests where there is no ring, and what a ring cannot do.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/explanation.hpp>
#include <qio/request/probes.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

class workers {
 public:
  /// The most workers that one context may request: space for all of them is reserved in advance.
  static constexpr unsigned most = 4096;

  /// Fails if `count` exceeds `most`.
  static result<void> check(unsigned count) noexcept {
    if (count > most) return error(errc::too_many_workers, count, most);
    return success();
  }

  /// Calls `finished(owner, r)` on the worker's thread when `r` is complete. `count` has passed check(); 0 chooses.
  workers(unsigned count, void (*finished)(void* owner, request& r) noexcept, void* owner)
      : count_(count != 0 ? count : lesser_of(greater_of(2 * std::thread::hardware_concurrency(), 4u), 64u)),
        finished_(finished),
        owner_(owner) {
    QIO_CHECK(count_ <= most, "an engine was created with more workers than workers::check() accepts");
    threads_.reserve(count_);
  }

  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;

  ~workers() { stop(); }

  /// Nothing may be queued. When it returns, no worker runs, and none will call `finished` again.
  void stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      QIO_CHECK(queued_.empty(), "the workers of an engine were stopped while requests waited for them");
      stopping_ = true;
    }
    arrived_.notify_all();
    for (std::thread& each : threads_) each.join();
    threads_.clear();
  }

  unsigned count() const noexcept { return count_; }

  /// Before anything is submitted: of the loop whose requests these are.
  void observe(const turn_watch& watch) noexcept { watch_ = &watch; }

  /// The facts about an engine that has only workers.
  void explain(explanation& out) const {
    out.add("engine", "pool");
    out.add("workers", std::to_string(count_));
    out.add("waiting", "sleep", "spinning would occupy a CPU that the workers need");
  }

  void submit(request& r) noexcept {
    bool refused = false;
    {
      const std::lock_guard lock(mutex_);
      QIO_CHECK(!r.queued, "a request was submitted to the workers twice");
      QIO_CHECK(!stopping_, "a request was submitted to workers that have been stopped");
      queued_.push(r);
      r.queued = true;
      ++waiting_;
      if (waiting_ > idle_ && threads_.size() < count_) refused = !start_thread();
      if (refused) take_out(r);
    }
    if (!refused) return arrived_.notify_one();
    // No thread could be started: carrying it out here delays the loop, but loses nothing.
    note_hand_over(r);
    QIO_PROBE_SUBMIT(r, 2);
    perform(r);
    finished_(owner_, r);
  }

  /// A request that no worker has started ends here; one that is in progress ends between two pieces of its transfer.
  void cancel(request& r) noexcept {
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    {
      const std::lock_guard lock(mutex_);
      if (!r.queued) return;
      take_out(r);
    }
    note_hand_over(r);
    r.fail_as_canceled();
    finished_(owner_, r);
  }

 private:
  void note_hand_over(request& r) const noexcept {
    if (watch_ != nullptr) watch_->note_hand_over(r);
  }

  void take_out(request& r) noexcept {
    QIO_CHECK(waiting_ != 0, "the workers lost count of the requests that wait for them");
    queued_.remove(r);
    r.queued = false;
    --waiting_;
  }

  // False only if there is no thread to do the work.
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
      note_hand_over(*r);
      QIO_PROBE_SUBMIT(*r, 2);
      perform(*r);
      // Marked idle before the loop sees the completion, so that the next submission uses this thread and starts no
      // other.
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
  const turn_watch* watch_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace detail
QIO_END_NAMESPACE
