// SPDX-License-Identifier: BSL-1.0
// The engine of systems that have neither io_uring nor completion ports: blocking calls on worker threads.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/events.hpp>
#include <qio/engine/workers.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>

QIO_BEGIN_NAMESPACE

/// Worker threads that make blocking calls. One of them carries out a whole request. Costs two thread switches per
/// operation.
///
/// A system call that a worker has started is not interrupted: a deadline or a cancellation takes effect before it, or
/// between two pieces of a transfer that takes several calls.
class pool : detail::no_hook {
 public:
  using system = detail::operating_system;

  static result<std::unique_ptr<pool>> create(const context_options& options) {
    if (auto accepted = detail::workers::check(options.workers); !accepted) return accepted.error();
    if (options.engine == engine_kind::ring || options.engine == engine_kind::aio)
      return error(std::make_error_code(std::errc::function_not_supported));
    auto engine = std::make_unique<pool>(options);
    engine->was_chosen_ = options.engine == engine_kind::workers;
    return engine;
  }

  explicit pool(const context_options& options) : workers_(options.workers, &pool::finished, this) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool() { QIO_CHECK(in_flight_ == 0, "an engine was destroyed while requests were in flight"); }

  system files() const noexcept { return {}; }
  detail::clock::time_point now() const noexcept { return detail::clock::now(); }
  using no_hook::attach;
  using no_hook::begin;
  using no_hook::end;
  using no_hook::find_polling;
  using no_hook::gathers;
  void observe(detail::list<file_activity>&, detail::turn_watch& watch) noexcept {
    watch_ = &watch;
    workers_.observe(watch);
  }
  using no_hook::register_memory;
  using no_hook::release;
  using no_hook::serve_at_once;
  using no_hook::waits;

  void submit(request& r) noexcept {
    ++in_flight_;
    detail::take_over(r);
    workers_.submit(r);
  }

  void submit_all(request* first) noexcept { detail::submit_each(*this, first); }

  void cancel(request& r) noexcept {
    QIO_CHECK(r.is_held(), "a request was canceled that is not in flight");
    workers_.cancel(r);
  }

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (!arrivals_.empty())
      watch_->found_due();
    else if (limit.may_wait())
      woken_.wait(limit);
    completed_requests arrived;
    arrivals_.take(arrived);
    while (request* const r = arrived.pop()) {
      QIO_CHECK(in_flight_ != 0, "a worker completed a request that is not in flight");
      --in_flight_;
      ++r->activity->statistics.served_by_worker;
      r->place = detail::uring_place::workers;
      detail::complete(*r, completed);
    }
  }

  std::size_t in_flight() const noexcept { return in_flight_; }

  void wake() noexcept {
    woken_.set();
    ready_.set();
  }

  result<platform::native_handle> wake_handle() noexcept { return ready_.handle(); }

  bool prepare_to_wait(completed_requests& completed) noexcept {
    QIO_CHECK(ready_.exists(), "prepare_to_wait() was called before wake_handle()");
    ready_.reset();
    wait(completed, wait_limit::none());
    return completed.empty();
  }

  void explain(explanation& out) const {
    workers_.explain(out);
    if (QIO_LACKS_LIBURING && !was_chosen_) out.add("fallback", "from io_uring", "built without liburing");
  }

 private:
  static void finished(void* self, request& r) noexcept {
    auto& engine = *static_cast<pool*>(self);
    if (engine.arrivals_.push(r)) engine.wake();
  }

  detail::arrivals<request> arrivals_;  // completed by workers
  std::size_t in_flight_ = 0;
  detail::turn_watch* watch_ = nullptr;
  bool was_chosen_ = false;  // by engine_kind::workers
  detail::auto_reset_event woken_;
  detail::ready_event ready_;
  detail::workers workers_;  // last: its threads use all of the above
};

static_assert(engine<pool>);

QIO_END_NAMESPACE
