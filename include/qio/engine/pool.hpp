// SPDX-License-Identifier: BSL-1.0
// The engine that works everywhere: blocking calls on worker threads.
#pragma once

#include <qio/detail/auto_reset_event.hpp>
#include <qio/detail/workers.hpp>
#include <qio/engine/engine.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace qio {

/// Each request is carried out whole by one worker. Costs two changes of thread an operation: it is what there is
/// where io_uring is not, and what serves best where operations block for long.
///
/// A request that a worker has begun is not interrupted: a deadline or a cancellation takes effect before it begins,
/// or between two pieces of a transfer that the system made in several.
class pool {
 public:
  static result<std::unique_ptr<pool>> create(const context_options& options) {
    return std::make_unique<pool>(options);
  }

  explicit pool(const context_options& options) : workers_(options.workers, &pool::finished, this) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  void submit(request& r) noexcept {
    ++in_flight_;
    detail::take_over(r);
    workers_.submit(r);
  }

  void cancel(request& r) noexcept { workers_.cancel(r); }

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (limit.may_wait() && arrivals_.empty()) woken_.wait(limit);
    completed_requests arrived;
    arrivals_.take(arrived);
    while (request* const r = arrived.pop()) {
      --in_flight_;
      ++r->activity->statistics.served_by_worker;
      detail::complete(*r, completed);
    }
  }

  std::size_t in_flight() const noexcept { return in_flight_; }

  void wake() noexcept { woken_.set(); }

  void explain(explanation& out) const {
    out.add("engine", "pool");
    out.add("workers", std::to_string(workers_.count()));
    out.add("waiting", "sleep", "workers need the processors that waiting awake would hold");
  }

 private:
  static void finished(void* self, request& r) noexcept {
    auto& engine = *static_cast<pool*>(self);
    if (engine.arrivals_.push(r)) engine.wake();
  }

  detail::arrivals<request> arrivals_;  // completed by workers
  std::size_t in_flight_ = 0;
  detail::auto_reset_event woken_;
  detail::workers workers_;  // last: its threads use all of the above
};

static_assert(engine<pool>);

}  // namespace qio
