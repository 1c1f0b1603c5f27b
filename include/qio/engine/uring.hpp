// SPDX-License-Identifier: BSL-1.0
// The engine over Linux's io_uring. Its parts are in uring/.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/ready_event.hpp>
#include <qio/engine/uring/completion.hpp>
#include <qio/engine/uring/entry.hpp>
#include <qio/engine/uring/gate.hpp>
#include <qio/engine/uring/lost_ring.hpp>
#include <qio/engine/uring/places.hpp>
#include <qio/engine/uring/polled_path.hpp>
#include <qio/engine/uring/polling_support.hpp>
#include <qio/engine/uring/registered_files.hpp>
#include <qio/engine/uring/registered_memory.hpp>
#include <qio/engine/uring/setup.hpp>
#include <qio/engine/uring/submission.hpp>
#include <qio/engine/uring/waiter.hpp>
#include <qio/engine/uring/wake_event.hpp>
#include <qio/engine/workers.hpp>
#include <qio/system/linux/ring.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace qio::inline QIO_CONFIGURATION {

/// io_uring: one ring, for one thread, which is the one that calls begin() (IORING_SETUP_SINGLE_ISSUER, if the kernel
/// supports it).
///
/// submit() only writes to the submission queue; wait() hands all of it to the kernel and waits, in one system call.
/// Direct transfers are handed over four at a time. If a device got all at once, it would be idle while this thread
/// processes its completions, and this thread would be idle while the device works. Worker threads do what the ring
/// cannot (a missing opcode, opcode::call, what the kernel has no thread for); these requests complete through the same
/// wait().
///
/// If io_uring_enter(2) starts to fail (a seccomp filter was installed after create()), the engine gives up its ring,
/// and worker threads do everything from then on, including the requests that the kernel had not yet taken. The
/// requests that it had taken are canceled and fail with the system's error, but only after the kernel has stopped
/// using their memory; whether such a transfer took place is unknown. If io_uring_register(2) fails, too, while the
/// kernel holds requests, the program ends with a message, because nothing can then report how long the kernel still
/// uses their memory.
class uring : detail::no_hook {
 public:
  using system = detail::operating_system;

  static result<std::unique_ptr<uring>> create(const context_options& options) {
    if (auto accepted = detail::workers::check(options.workers); !accepted) return accepted.error();
    auto engine = std::unique_ptr<uring>(new uring(options));
    if (auto set_up = detail::set_up_ring(engine->ring_, options.queue_depth); set_up)
      engine->setup_ = std::move(set_up).value();
    else
      return set_up.error();
    engine->submission_.files.set_up(engine->ring_);
    engine->polled_.ring().set_up(options.polling, options.queue_depth);
    engine->is_plain_ = !engine->polled_.is_open() && !engine->waiter_.may_be_awake();
    if (!engine->wake_event_.open()) return platform::last_error();
    return engine;
  }

  uring(const uring&) = delete;
  uring& operator=(const uring&) = delete;

  ~uring() {
    QIO_CHECK(in_flight() == 0, "an engine was destroyed while requests were in flight");
    workers_.stop();  // they may still be about to call wake()
    end();
  }

  system files() const noexcept { return {}; }
  detail::clock::time_point now() const noexcept { return detail::clock::now(); }
  using no_hook::attach;
  void observe(detail::list<file_activity>& activities) noexcept { activities_ = &activities; }

  bool gathers() const noexcept { return ring_.is_open() && setup_.has(opcode::read); }

  void submit(request& r) noexcept {
    detail::take_over(r);
    if (!is_plain_) [[unlikely]]
      return submit_specially(r);
    if (!submission_.try_straight(r, ring_, places_)) [[unlikely]]
      return submit_later(r);
    gather(r);
  }

  /// As many as possible by a loop that looks only at what differs between them.
  void submit_all(request* first) noexcept {
    if (is_plain_ && !first->activity->is_direct)
      first = submission_.try_straight_all(first, ring_, places_, detail::take_over);
    detail::submit_each(*this, first);
  }

  void cancel(request& r) noexcept {
    QIO_CHECK(r.is_held(), "a request was canceled that is not in flight");
    if (!can_do(r) || r.place == detail::uring_place::workers) return workers_.cancel(r);
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    if (r.place == detail::uring_place::polled_ring) return;  // which cannot cancel
    if (!r.queued) return submission_.push_cancel(r);
    submission_.remove_from_backlog(r);
    r.fail_as_canceled();
    cancelled_.push(r);
    submission_.call_attention();
  }

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (submission_.needs_attention()) [[unlikely]] {
      if (!begun_) return wait_without_ring(completed, limit);
      if (attend(completed)) limit = wait_limit::none();
      if (!ring_.is_open()) return wait_without_ring(completed, limit);
    }
    require_own_thread();
    if (polled_.in_flight() != 0) [[unlikely]]
      limit = poll(completed, limit);
    if (waiter_.may_be_awake()) [[unlikely]]
      return wait_awake(completed, limit);
    if (limit.may_wait())
      waiter_.sleep(ring_, gate_, limit);
    else
      pass_if_needed();
    take_completions<false>(completed);
  }

  wait_statistics waits() const noexcept { return waiter_.statistics(); }

  std::size_t in_flight() const noexcept { return places_.in_flight(); }

  // In this order: when another event loop sees the second, a turn sees the first.
  void wake() noexcept {
    wake_event_.set();
    ready_.set();
  }

  /// The kernel sets the event for each completion (IORING_REGISTER_EVENTFD), also for one that still waits for its
  /// deferred part, which the next wait() runs. The ring's own descriptor would not become readable then. wake() sets
  /// the event, too: the ring notices a wake() within a write to an eventfd, where the kernel sets no other at once.
  result<platform::native_handle> wake_handle() noexcept {
    if (polled_.is_open()) return error(errc::no_wake_handle);
    auto handle = ready_.handle();
    if (!handle || sets_ready_ || !ring_.is_open()) return handle;
    const int answer = ring_.configure(IORING_REGISTER_EVENTFD, &handle.value(), 1);
    if (answer < 0) return platform::system_error(-answer);
    sets_ready_ = true;
    return handle;
  }

  /// What completes after the reset sets the event again; wait() takes what has completed before.
  bool prepare_to_wait(completed_requests& completed) noexcept {
    QIO_CHECK(ready_.exists(), "prepare_to_wait() was called before wake_handle()");
    ready_.reset();
    wait(completed, wait_limit::none());
    const bool all_is_handed_over = !ring_.is_open() || (ring_.pending() == 0 && gate_.refusal() == 0);
    return completed.empty() && all_is_handed_over;
  }

  polling_support find_polling(platform::native_handle handle, const alignment& needed) const {
    if (!polled_.is_open()) return {false, false, "the context does not poll"};
    return detail::find_polling_support(handle, needed);
  }

  std::string register_memory(std::span<std::byte> memory) {
    if (const int answer = detail::registered_memory::register_with(ring_, memory); answer < 0)
      return detail::why_not_registered(-answer);
    if (const int answer = polled_.ring().register_memory(memory); answer < 0) {
      detail::registered_memory::unregister_from(ring_);
      return detail::why_not_registered(-answer);
    }
    if (const int set = submission_.memory.set(memory); set < 0) {
      detail::registered_memory::unregister_from(ring_);
      polled_.ring().forget_memory();
      return "child processes would inherit the memory: " + platform::system_error(-set).message();
    }
    return {};
  }

  /// The ring binds itself to the thread that enables it.
  void begin() noexcept {
    QIO_CHECK(!begun_, "an engine was begun twice");
    begun_ = true;
    owner_ = detail::this_thread_number();
    places_.set_up(ring_.completion_capacity());
    if (ring_.has(IORING_SETUP_R_DISABLED)) detail::enable_ring(ring_);
    ring_.register_descriptor();
    polled_.ring().bind_to_this_thread();
    if (polled_.is_open()) poll_backlog();
  }

  void release(file_activity& file) noexcept {
    QIO_CHECK(file.in_flight == 0, "a file was closed while its requests were in flight");
    if (detail::registered_files::has(file) && is_own_thread()) submission_.files.remove(ring_, file);
  }

  void end() noexcept {
    if (!ring_.is_open()) return;
    // Fails if another thread owns the ring; then closing the ring releases everything.
    if (submission_.memory.exists()) {
      detail::registered_memory::unregister_from(ring_);
      polled_.ring().forget_memory();
    }
    detail::registered_files::remove_all(ring_);
    if (!is_own_thread()) {
      ring_.forget_descriptor();
      polled_.ring().forget_descriptor();
    }
    ring_.close();
    polled_.ring().close();
  }

  void explain(explanation& out) const {
    out.add("engine", "io_uring");
    if (gate_.refusal() != 0)
      return out.add("ring", "off",
                     "the kernel started to refuse io_uring_enter after the context was created (a seccomp filter?): " +
                         platform::system_error(gate_.refusal()).message() + "; workers carry out everything");
    out.add("ring",
            std::to_string(ring_.submission_capacity()) + " submissions, " +
                std::to_string(ring_.completion_capacity()) + " completions",
            setup_.reduced);
    for (const detail::ring_feature& each : detail::ring_features)
      out.add(each.name, ring_.has(each.flags) ? "on" : "off",
              ring_.has(each.flags) ? "" : "this kernel lacks it; it needs Linux " + std::string(each.since));
    submission_.files.explain(out);
    polled_.ring().explain(out);
    out.add("waiting", std::string(name_of(waiter_.policy())));
    if (has_lacked_kernel_worker_)
      out.add(
          "kernel workers", "off",
          "the kernel could not start a thread for an operation that waits (RLIMIT_NPROC, or the limit of a control "
          "group); the context's workers carried it out");
    for (const auto& [name, op] :
         {std::pair{"ring reads", opcode::read}, {"ring writes", opcode::write}, {"ring syncs", opcode::sync}})
      if (!setup_.has(op)) out.add(name, "off", "this kernel's io_uring lacks the operation; workers carry it out");
  }

 private:
  // Entries to gather before they go to the device. At a depth of 32, a virtual drive did 17 to 20 % more transfers
  // with four at a time than with all at once, for the same CPU time (docs/benchmarks.md).
  static constexpr unsigned most_gathered = 4;

  explicit uring(const context_options& options)
      : waiter_(options.waiting), workers_(options.workers, &uring::finished_by_worker, this) {}

  bool can_do(const request& r) const noexcept { return setup_.has(r.op); }

  // --- the thread that the ring is bound to ---

  bool is_own_thread() const noexcept { return owner_ == detail::this_thread_number(); }

  // On another thread, the kernel would mistake the registered descriptor for that of a ring of that thread.
  void require_own_thread() const noexcept {
    if (!detail::is_this_thread(owner_)) [[unlikely]]
      detail::fail_ring("a context was used by another thread than the one that first ran it");
  }

  // --- to the kernel ---

  // `r` is in the ring: hands it to the device if that many are.
  void gather(const request& r) noexcept {
    if (!r.activity->is_direct || ring_.pending() < most_gathered) return;
    require_own_thread();
    gate_.pass(ring_);
  }

  // submit() where the ring is not plain.
  QIO_NOINLINE void submit_specially(request& r) noexcept {
    if (polled_.is_open() && submit_polled(r)) return;
    if (!submission_.try_straight(r, ring_, places_)) return submit_later(r);
    if (waiter_.may_be_awake()) waiter_.handed_over(r);
    gather(r);
  }

  QIO_COLD void submit_later(request& r) noexcept {
    places_.enter_elsewhere();
    if (!can_do(r)) return workers_.submit(r);
    submission_.push_to_backlog(r);
  }

  QIO_NOINLINE bool submit_polled(request& r) noexcept {
    if (!begun_ || !polled_.submit(r, submission_.memory)) return false;
    places_.enter_elsewhere();
    return true;
  }

  /// Does all the work that a normal turn skips. True if a request is already complete.
  QIO_NOINLINE bool attend(completed_requests& completed) noexcept {
    const bool any_completed = finish_cancelled(completed);
    if (gate_.refusal() != 0) [[unlikely]]
      return give_up_ring(completed) || any_completed;
    hand_over_cancels();
    hand_over_backlog();
    if (!wake_event_.is_listened_to())
      if (io_uring_sqe* const entry = next_entry()) wake_event_.listen(*entry);
    if (wake_event_.is_listened_to()) submission_.open_straight_way(setup_.opcodes);
    return any_completed;
  }

  /// Completes requests that were canceled in the backlog. True if there were any.
  bool finish_cancelled(completed_requests& completed) noexcept {
    const bool any = !cancelled_.empty();
    while (request* const r = cancelled_.pop()) {
      r->queued = false;
      finish_elsewhere(*r, completed);
    }
    return any;
  }

  /// Moves what was submitted before begin() to the polled ring, where possible.
  QIO_COLD void poll_backlog() noexcept {
    detail::queue<request> early;
    while (request* const r = submission_.pop_from_backlog()) early.push(*r);
    while (request* const r = early.pop()) {
      places_.leave_elsewhere();
      if (!submit_polled(*r)) submit_later(*r);
    }
  }

  void hand_over_cancels() noexcept {
    while (submission_.has_cancels() && places_.has_free_for_cancel()) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) return;
      submission_.hand_over_first_cancel(*entry, places_);
    }
  }

  void hand_over_backlog() noexcept {
    while (submission_.has_backlog() && places_.has_free()) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) return;
      const request& r = submission_.hand_over_first(*entry, ring_, places_);
      if (waiter_.may_be_awake()) waiter_.handed_over(r);
    }
  }

  io_uring_sqe* next_entry() noexcept {
    io_uring_sqe* entry = ring_.next_entry();
    if (entry == nullptr) {
      ring_.enter(0);
      entry = ring_.next_entry();
    }
    return entry;
  }

  // --- from the kernel ---

  /// Polled requests complete only when they are polled. While there are any, the thread must not sleep in the ordinary
  /// ring, so the two rings take turns. If nothing else can complete, the kernel polls until something does.
  QIO_NOINLINE wait_limit poll(completed_requests& completed, wait_limit limit) noexcept {
    QIO_CHECK(polled_.in_flight() <= places_.elsewhere(), "more requests are polled than are in flight");
    const bool alone = places_.taken() == 0 && places_.elsewhere() == polled_.in_flight();
    gate_.check(polled_.ring().ask(alone && limit.is_unlimited()));
    take_polled(completed);
    return wait_limit::none();
  }

  void take_polled(completed_requests& completed) noexcept {
    polled_.take_completions([&](request& r, detail::polled_path::outcome outcome) {
      if (outcome == detail::polled_path::outcome::unfinished) return submission_.push_to_backlog(r);
      ++r.activity->statistics.served_by_ring;
      r.activity->statistics.polled += outcome == detail::polled_path::outcome::finished;
      finish_elsewhere(r, completed);
    });
  }

  QIO_NOINLINE void wait_awake(completed_requests& completed, wait_limit limit) noexcept {
    if (limit.may_wait()) return waiter_.wait(ring_, gate_, places_, limit, [&] { return reap(completed); });
    pass_if_needed();
    take_completions<true>(completed);
  }

  /// True if anything other than the end of a nap has arrived.
  bool reap(completed_requests& completed) noexcept {
    const std::size_t free = places_.free();
    take_completions<true>(completed);
    return places_.free() != free || submission_.needs_attention();
  }

  void pass_if_needed() noexcept {
    if (ring_.has_deferred() || ring_.pending() != 0) gate_.pass(ring_);
  }

  template <bool may_be_awake>
  void take_completions(completed_requests& completed) noexcept {
    bool woken = false;
    ring_.take_completions([&](const io_uring_cqe& completion) {
      if (detail::is_of_request(completion.user_data))
        take<may_be_awake>(detail::request_of(completion.user_data), completion.res, completed);
      else
        woken |= take_other(completion.user_data);
    });
    if (woken) [[unlikely]]
      was_woken(completed);
  }

  template <bool may_be_awake>
  void take(request& r, int answer, completed_requests& completed) noexcept {
    places_.give_back();
    if constexpr (may_be_awake) waiter_.completed(r);
    if (!detail::finishes(r, answer)) [[unlikely]]
      return resume_later(r, answer);
    if (r.queued) [[unlikely]]
      submission_.withdraw_cancel(r);
    ++r.activity->statistics.served_by_ring;
    detail::complete(r, completed);
  }

  /// Part of `r` is done. The rest waits in the backlog, or goes to a worker if the kernel has none for it.
  QIO_COLD void resume_later(request& r, int answer) noexcept {
    places_.enter_elsewhere();
    if (!detail::lacks_kernel_worker(r, answer)) return submission_.push_to_backlog(r);
    has_lacked_kernel_worker_ = true;
    r.place = detail::uring_place::workers;
    workers_.submit(r);
  }

  /// Handles the completion of an entry without a request. True if that entry listened for wake().
  QIO_NOINLINE bool take_other(std::uint64_t tag) noexcept {
    if (tag == detail::cancel_tag) places_.give_back_cancel();
    if (tag == detail::nap_tag) waiter_.nap_ended();
    return tag == detail::wake_tag;
  }

  QIO_COLD void was_woken(completed_requests& completed) noexcept {
    wake_event_.heard();
    submission_.call_attention();
    take_arrivals(completed);
  }

  // --- without a ring ---

  /// True if a request is complete.
  QIO_COLD bool give_up_ring(completed_requests& completed) noexcept {
    if (!ring_.is_open()) return false;
    const std::size_t before = in_flight();
    if (waiter_.may_be_awake())
      take_completions<true>(completed);
    else
      take_completions<false>(completed);
    if (polled_.is_open()) take_polled(completed);
    detail::lost_ring lost{ring_, polled_, submission_, places_, waiter_, wake_event_};
    lost.take_back_untaken();
    if (lost.taken() == 0) {
      end();
    } else {
      lost.close();
      lost.fail_taken(activities_, setup_, platform::system_error(gate_.refusal()), completed);
    }
    setup_.opcodes = 0;
    while (request* const r = submission_.pop_from_backlog()) give_to_workers(*r, completed);
    QIO_CHECK(places_.taken() == 0 && polled_.in_flight() == 0, "a ring was closed with requests in it");
    return in_flight() != before;
  }

  void give_to_workers(request& r, completed_requests& completed) noexcept {
    if (!r.cancel_requested.load(std::memory_order_relaxed)) return workers_.submit(r);
    r.fail_as_canceled();
    finish_elsewhere(r, completed);
  }

  /// Called by any thread before begin(), and by the ring's thread after the ring was given up.
  QIO_COLD void wait_without_ring(completed_requests& completed, wait_limit limit) noexcept {
    QIO_CHECK(ring_.is_open() || gate_.refusal() != 0, "an engine was waited for after its end()");
    if (begun_) require_own_thread();
    if (finish_cancelled(completed)) limit = wait_limit::none();
    if (limit.may_wait() && arrivals_.empty()) wake_event_.wait(limit);
    wake_event_.reset();
    take_arrivals(completed);
  }

  // --- from the workers ---

  void take_arrivals(completed_requests& completed) noexcept {
    detail::queue<request> arrived;
    arrivals_.take(arrived);
    while (request* const r = arrived.pop()) {
      ++r->activity->statistics.served_by_worker;
      r->place = detail::uring_place::ring;
      finish_elsewhere(*r, completed);
    }
  }

  void finish_elsewhere(request& r, completed_requests& completed) noexcept {
    places_.leave_elsewhere();
    detail::complete(r, completed);
  }

  static void finished_by_worker(void* self, request& r) noexcept {
    auto& engine = *static_cast<uring*>(self);
    if (engine.arrivals_.push(r)) engine.wake();
  }

  detail::ring ring_;
  detail::submission submission_;
  detail::places places_;
  detail::waiter waiter_;
  detail::gate gate_{submission_};
  detail::polled_path polled_;
  bool is_plain_ = true;  // it neither polls nor waits awake
  bool begun_ = false;
  std::uint64_t owner_ = 0;  // the thread that the ring is bound to
  detail::ring_setup setup_;
  detail::list<file_activity>* activities_ = nullptr;  // of all files with requests here
  detail::wake_event wake_event_;
  detail::ready_event ready_;
  bool sets_ready_ = false;  // the kernel, for each completion
  bool has_lacked_kernel_worker_ = false;
  detail::queue<request> cancelled_;    // canceled in the backlog, not yet reported
  detail::arrivals<request> arrivals_;  // completed by workers
  detail::workers workers_;             // last: its threads use the above
};

static_assert(engine<uring>);

}  // namespace qio::inline QIO_CONFIGURATION
