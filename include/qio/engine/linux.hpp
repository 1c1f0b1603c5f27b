// SPDX-License-Identifier: BSL-1.0
// Linux's engine: how a request reaches io_uring and comes back; and what happens where there is no ring.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/aio.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/events.hpp>
#include <qio/engine/polling.hpp>
#include <qio/engine/ring_entry.hpp>
#include <qio/engine/ring_setup.hpp>
#include <qio/engine/workers.hpp>
#include <qio/request/probes.hpp>
#include <qio/request/request.hpp>
#include <qio/system/linux/ring.hpp>
#include <qio/system/platform.hpp>

#include <poll.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Prints `why` and ends the program: for errors after which nothing in flight can complete, while the kernel still
/// uses its memory.
[[noreturn]] QIO_COLD inline void fail_ring(const char* why) noexcept {
  std::fprintf(stderr, "qio: io_uring: %s\n", why);
  std::abort();
}

/// Whether io_uring_enter(2) may succeed later although it has failed with `code`. Otherwise the system refuses it.
constexpr bool passes_by_itself(int code) noexcept {
  return code == EINTR || code == ETIME || code == EAGAIN || code == EBUSY;
}

}  // namespace detail

/// One ring, for one thread, which is the one that calls begin() (IORING_SETUP_SINGLE_ISSUER, if the kernel supports
/// it); or no ring, but Linux AIO for direct transfers, and worker threads that make blocking calls; or only these.
/// create() chooses by context_options::engine.
///
/// With a ring, submit() only writes to the submission queue; wait() hands all of it to the kernel and waits, in one
/// system call. Direct transfers are handed over four at a time. If a device got all at once, it would be idle while
/// this thread processes its completions, and this thread would be idle while the device works. Worker threads do what
/// the ring cannot (a missing opcode, opcode::call, what the kernel has no thread for); these requests complete through
/// the same wait().
///
/// If io_uring_enter(2) starts to fail (a seccomp filter was installed after create()), the engine gives up its ring,
/// and worker threads do everything from then on, including the requests that the kernel had not yet taken. The
/// requests that it had taken are canceled and fail with the system's error, but only after the kernel has stopped
/// using their memory; whether such a transfer took place is unknown. If io_uring_register(2) fails, too, while the
/// kernel holds requests, or if no descriptor is free for a pipe, the program ends with a message, because nothing can
/// then report how long the kernel still uses their memory.
///
/// A worker carries out a whole request. A system call that it has started is not interrupted: a deadline or a
/// cancellation takes effect before it, or between two pieces of a transfer that takes several calls.
class linux_engine : detail::no_hook {
 public:
  using system = detail::operating_system;

  static result<std::unique_ptr<linux_engine>> create(const context_options& options) {
    if (auto accepted = detail::workers::check(options.workers); !accepted) return accepted.error();
    auto engine = std::unique_ptr<linux_engine>(new linux_engine(options));
    const engine_kind wanted = options.engine;
    if (wanted == engine_kind::any || wanted == engine_kind::ring) {
      auto opened = engine->open_ring(options);
      if (opened) return engine;
      if (wanted == engine_kind::ring) return opened.error();
      engine->why_no_ring_ = detail::why_no_ring(opened.error());
    }
    if (wanted == engine_kind::any || wanted == engine_kind::aio) {
      auto opened = engine->open_aio(options);
      if (opened) return engine;
      if (wanted == engine_kind::aio) return opened.error();
      engine->why_no_aio_ = detail::why_no_aio(opened.error());
    }
    return engine;
  }

  linux_engine(const linux_engine&) = delete;
  linux_engine& operator=(const linux_engine&) = delete;

  ~linux_engine() {
    QIO_CHECK(in_flight() == 0, "an engine was destroyed while requests were in flight");
    workers_.stop();  // they may still be about to call wake()
    end();
  }

  system files() const noexcept { return {}; }
  detail::clock::time_point now() const noexcept { return detail::clock::now(); }
  using no_hook::attach;
  using no_hook::serve_at_once;
  void observe(detail::list<file_activity>& activities, detail::turn_watch& watch) noexcept {
    activities_ = &activities;
    watch_ = &watch;
    workers_.observe(watch);
  }

  /// The ring binds itself to the thread that enables it.
  void begin() noexcept {
    QIO_CHECK(!begun_, "an engine was begun twice");
    begun_ = true;
    if (!ring_.is_open()) return;
    owner_ = detail::this_thread_number();
    room_.set_up(ring_.completion_capacity());
    if (ring_.has(IORING_SETUP_R_DISABLED)) detail::enable_ring(ring_);
    ring_.register_descriptor();
    polled_.bind_to_this_thread();
    if (polled_.is_open()) poll_backlog();
  }

  void end() noexcept {
    if (has_aio_) aio_.close();
    has_aio_ = false;
    if (!ring_.is_open()) return;
    // Fails if another thread owns the ring; then closing the ring releases everything.
    if (memory_.exists()) {
      detail::registered_memory::unregister_from(ring_);
      polled_.forget_memory();
    }
    detail::registered_files::remove_all(ring_);
    if (!is_own_thread()) {
      ring_.forget_descriptor();
      polled_.queues().forget_descriptor();
    }
    ring_.close();
    polled_.queues().close();
  }

  // --- submission ---

  bool gathers() const noexcept { return ring_.is_open() && setup_.has(opcode::read); }

  /// Puts `r` into the submission queue after a single test, if nothing waits for room in it.
  void submit(request& r) noexcept {
    detail::take_over(r);
    if (!is_plain_ && submit_specially(r)) [[unlikely]]
      return;
    const bool may_submit = ((fast_opcodes_ >> static_cast<unsigned>(r.op)) & 1) != 0;
    io_uring_sqe* const entry = may_submit && room_.free != 0 ? ring_.next_entry() : nullptr;
    if (entry == nullptr) [[unlikely]]
      return submit_later(r);
    QIO_CHECK(backlog_.empty() && cancels_.empty(), "a request overtook others that wait for a place in the ring");
    hand_over(*entry, r);
    if (!r.activity->is_direct) {
      if (reads_.pending >= cached_reads::part) [[unlikely]]
        enter_watched();
      return;
    }
    if (ring_.pending() < most_gathered) return;
    require_own_thread();
    watch_->begin_late();  // what is handed over now may be due before the end of the turn
    enter(0);
  }

  /// As many as possible by a loop that looks only at what differs between them.
  void submit_all(request* first) noexcept {
    if (is_plain_ && !first->activity->is_direct && detail::registered_files::has(*first->activity) &&
        ((fast_opcodes_ >> static_cast<unsigned>(first->op)) & 1) != 0)
      first = submit_many(first, *first->activity);
    detail::submit_each(*this, first);
  }

  // --- cancellation ---

  void cancel(request& r) noexcept {
    QIO_CHECK(r.is_held(), "a request was canceled that is not in flight");
    if (r.place == detail::uring_place::aio) [[unlikely]]
      return cancel_in_aio(r);
    if (!setup_.has(r.op) || r.place == detail::uring_place::workers) return workers_.cancel(r);
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    if (r.place == detail::uring_place::polled_ring) return;  // which cannot cancel
    slow_down();
    if (r.queued) {
      (r.place == detail::uring_place::kernel_thread ? reads_.waiting : backlog_).remove(r);
      r.place = detail::uring_place::ring;
      watch_->note_hand_over(r);
      r.fail_as_canceled();
      cancelled_.push(r);
    } else {
      cancels_.push(r);  // waits until there is a place
      r.queued = true;
    }
  }

  // --- waiting ---

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (fast_opcodes_ == 0) [[unlikely]] {
      if (begun_ && ring_.is_open()) {
        if (reads_.need_care && refusal_ == 0) care_for_reads();  // first, or what waits for a place takes each
        if (do_what_waits(completed)) limit = wait_limit::none();
      }
      if (has_aio_) return wait_with_aio(completed, limit);
      if (!begun_ || !ring_.is_open()) return wait_without_ring(completed, limit);
    }
    require_own_thread();
    if (reads_.need_care) [[unlikely]]
      care_for_reads();
    const bool had_arrived = ring_.has_deferred() || ring_.has_completions();
    if (!is_plain_) [[unlikely]] {
      wait_specially(completed, limit);
    } else {
      wait_asleep(limit);
      take_completions<false>(completed);
    }
    if (had_arrived && !completed.empty()) watch_->found_due();  // not for a wake() or a cancellation
  }

  std::size_t in_flight() const noexcept { return room_.all - room_.free + elsewhere_; }
  wait_statistics waits() const noexcept { return waits_; }

  // In this order: when another event loop sees the second, a turn sees the first.
  void wake() noexcept {
    if (wake_event_.is_open())
      wake_event_.set();
    else
      woken_.set();
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
    const bool has_place = room_.free != 0 && (!backlog_.empty() || lacks_place());
    const bool all_is_handed_over =
        !ring_.is_open() || (ring_.pending() == 0 && refusal_ == 0 && cancels_.empty() && !has_place);
    return completed.empty() && all_is_handed_over;
  }

  // --- files and memory ---

  void release(file_activity& file) noexcept {
    QIO_CHECK(file.in_flight == 0, "a file was closed while its requests were in flight");
    if (detail::registered_files::has(file) && is_own_thread()) files_.remove(ring_, file);
  }

  polling_support find_polling(platform::native_handle handle, const alignment& needed) const {
    if (!polled_.is_open()) return {false, false, "the context does not poll"};
    return detail::find_polling_support(handle, needed);
  }

  std::string register_memory(std::span<std::byte> memory) {
    if (!ring_.is_open()) return no_hook::register_memory(memory);
    if (const int answer = detail::registered_memory::register_with(ring_, memory); answer < 0)
      return detail::why_not_registered(-answer);
    if (const int answer = polled_.register_memory(memory); answer < 0) {
      detail::registered_memory::unregister_from(ring_);
      return detail::why_not_registered(-answer);
    }
    if (const int set = memory_.set(memory); set < 0) {
      detail::registered_memory::unregister_from(ring_);
      polled_.forget_memory();
      return "child processes would inherit the memory: " + platform::system_error(-set).message();
    }
    return {};
  }

  // --- facts ---

  void explain(explanation& out) const {
    if (!had_ring_) {
      if (has_aio_) {
        aio_.explain(out);
        out.add("workers", std::to_string(workers_.count()));
      } else {
        workers_.explain(out);
      }
      if (!why_no_ring_.empty()) out.add("fallback", "from io_uring", why_no_ring_);
      if (!why_no_aio_.empty()) out.add("fallback", "from Linux AIO", why_no_aio_);
      return;
    }
    out.add("engine", "io_uring");
    if (refusal_ != 0)
      return out.add("ring", "off",
                     "the kernel started to refuse io_uring_enter after the context was created (a seccomp filter?): " +
                         platform::system_error(refusal_).message() + "; workers carry out everything");
    out.add("ring",
            std::to_string(ring_.submission_capacity()) + " submissions, " +
                std::to_string(ring_.completion_capacity()) + " completions",
            setup_.reduced);
    for (const detail::ring_feature& each : detail::ring_features)
      out.add(each.name, ring_.has(each.flags) ? "on" : "off",
              ring_.has(each.flags) ? "" : "this kernel lacks it; it needs Linux " + std::string(each.since));
    files_.explain(out);
    polled_.explain(out);
    out.add("waiting", std::string(name_of(spins_ ? wait_policy::spin : wait_policy::sleep)));
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

  /// Counts the outstanding completions, so that they always fit the completion queue. (The kernel allocates memory for
  /// completions that do not fit; if it cannot, it drops them.) Each entry has one completion. A request may be
  /// canceled once, so half of the queue is for requests and half for their cancellations, except for two completions:
  /// one is for the entry that listens for wake().
  struct completion_room {
    void set_up(std::size_t completions) noexcept {
      QIO_CHECK(all == 0 && completions >= 4, "the ring has no room for the completion of a single request");
      free = all = completions / 2 - 1;
    }
    std::size_t taken() const noexcept { return all - free; }

    std::size_t all = 0;      ///< requests that may be in the ring at a time
    std::size_t free = 0;     ///< of these, not in it
    std::size_t cancels = 0;  ///< cancellations in the ring; at most as many
  };

  /// Reads through the page cache. The kernel serves them on the thread that submits: it copies what is cached, and
  /// starts to read what is not, together with the read-ahead. That takes 4 us for a read of 4 KiB, 17 us for 64 KiB
  /// and 200 us for 1 MiB; and if the device's queue is full, as long as the device. So many are submitted in parts, of
  /// which one turn has few. All others go to threads of the kernel (IOSQE_ASYNC), which costs 1 us, or 3 us if the
  /// data is cached: long reads, those of a file whose reads may wait later (XFS), those beyond 32 in flight, and, for
  /// a while, all after a part that waited. The kernel has few such threads, and takes long to find one of many
  /// requests to cancel; so it gets a limited number of them at a time.
  struct cached_reads {
    static constexpr std::size_t part = 1024 * 1024;   // submitted at once; some 0.25 ms
    static constexpr std::size_t each = 16 * 1024;     // what a read costs, whatever it reads, as bytes
    static constexpr std::size_t most_in_flight = 32;  // a device's queue often has room for 128 parts of reads
    static constexpr unsigned most_with_threads = 64;  // of which there are four for each CPU
    static constexpr std::chrono::microseconds most_in_a_turn{500};

    /// Longer ones of `file` go to threads of the kernel.
    std::size_t longest(const file_activity& file) const noexcept {
      return is_busy || are_many ? 0 : file.system.longest_in_ring;
    }
    void add(file_activity& file, std::size_t bytes) noexcept {
      pending += bytes;
      last = &file;
    }

    std::size_t pending = 0;  ///< bytes in the submission queue
    bool are_many = false;    ///< in flight
    bool is_busy = false;     ///< this turn's time for them is spent, or they have to wait until `resume`
    bool need_care = false;   ///< before the next wait: some of this turn's time for them is spent, or some are waiting
    detail::clock::duration spent{};
    detail::clock::time_point resume{};
    file_activity* last = nullptr;
    unsigned with_threads = 0;
    detail::queue<request> waiting;  ///< to get there
  };

  explicit linux_engine(const context_options& options)
      : workers_(options.workers, &linux_engine::finished_by_worker, this) {}

  result<void> open_ring(const context_options& options) {
    auto set_up = detail::set_up_ring(ring_, options.queue_depth);
    if (!set_up) return set_up.error();
    if (!wake_event_.open()) {
      const error refusal = platform::last_error();
      ring_.close();
      return refusal;
    }
    setup_ = std::move(set_up).value();
    files_.set_up(ring_);
    polled_.set_up(options.polling, options.queue_depth);
    spins_ = options.waiting == wait_policy::spin;
    is_plain_ = !polled_.is_open() && !spins_;
    had_ring_ = true;
    return success();
  }

  result<void> open_aio(const context_options& options) {
    if (!wake_event_.open() || !ready_.open()) {
      const error refusal = platform::last_error();
      wake_event_.close();
      return refusal;
    }
    auto opened = aio_.open(options.queue_depth, options.inline_work, wake_event_, ready_.event());
    has_aio_ = bool(opened);
    if (!opened) wake_event_.close();
    return opened;
  }

  // --- the thread that the ring is bound to ---

  bool is_own_thread() const noexcept { return owner_ == detail::this_thread_number(); }

  // On another thread, the kernel would mistake the registered descriptor for that of a ring of that thread.
  void require_own_thread() const noexcept {
    if (!detail::is_this_thread(owner_)) [[unlikely]]
      detail::fail_ring("a context was used by another thread than the one that first ran it");
  }

  // --- submission: into the queue, or to those that wait for a place in it ---

  /// While something waits (a request for a place, a cancellation, an entry that must listen again), no request goes
  /// straight into the queue, so none overtakes another, and wait() does what must be done first.
  void slow_down() noexcept { fast_opcodes_ = 0; }

  QIO_PROBED void hand_over(io_uring_sqe& entry, request& r) noexcept {
    QIO_CHECK(!r.queued && r.place == detail::uring_place::ring,
              "a request was put into the ring while it was elsewhere");
    QIO_CHECK(room_.free != 0, "the kernel was given more requests than it has room for completions");
    --room_.free;
    detail::prepare(entry, r, memory_);
    files_.name(entry, ring_, *r.activity, r.handle);
    if (!r.activity->is_direct) add_cached(entry, r);
  }

  /// Before the first read through the page cache since the ring was entered.
  void count_in_flight() noexcept {
    reads_.are_many = room_.taken() > ring_.completions() + cached_reads::most_in_flight;
  }

  /// A transfer through the page cache, whose entry is complete.
  void add_cached(io_uring_sqe& entry, request& r) noexcept {
    if (r.op != opcode::read) return;
    if (reads_.pending == 0) count_in_flight();
    if (r.io.total() > reads_.longest(*r.activity)) [[unlikely]]
      leave_to_thread(entry, r);
    else
      reads_.add(*r.activity, cached_reads::each + r.io.total());
  }

  /// The entry of `r` is the last in the queue.
  QIO_NOINLINE void leave_to_thread(io_uring_sqe& entry, request& r) noexcept {
    r.place = detail::uring_place::kernel_thread;
    if (reads_.with_threads != cached_reads::most_with_threads && reads_.waiting.empty()) {
      ++reads_.with_threads;
      entry.flags |= IOSQE_ASYNC;
      return;
    }
    ring_.return_entry();
    leave_ring();
    ++elsewhere_;
    r.queued = true;
    watch_->note_queued(r);
    reads_.waiting.push(r);
    reads_.need_care = true;
  }

  QIO_COLD void submit_later(request& r) noexcept {
    watch_->begin_late();
    ++elsewhere_;
    if (setup_.has(r.op)) return push_to_backlog(r);
    if (!has_aio_ || !aio_.takes(r)) return workers_.submit(r);
    aio_.submit(r);
    if (aio_.pending() >= most_gathered) hand_over_to_aio();
  }

  void hand_over_to_aio() noexcept {
    aio_.hand_over(*watch_, [this](request& r) { leave_to_worker(r); });
  }

  QIO_NOINLINE void leave_to_worker(request& r) noexcept {
    watch_->note_queued(r);
    r.place = detail::uring_place::workers;
    workers_.submit(r);
  }

  QIO_COLD void cancel_in_aio(request& r) noexcept {
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed) || !aio_.cancel(r)) return;
    watch_->note_hand_over(r);
    r.fail_as_canceled();
    r.queued = true;
    cancelled_.push(r);
  }

  void push_to_backlog(request& r) noexcept {
    QIO_CHECK(!r.queued && r.place == detail::uring_place::ring,
              "a request was made to wait for a place in the ring while it was elsewhere");
    watch_->note_queued(r);
    backlog_.push(r);
    r.queued = true;
    slow_down();
  }

  /// The transfers, linked by `next`, of one registered file. Returns the first that it did not put into the queue;
  /// null if there is none.
  QIO_ALWAYS_INLINE request* submit_many(request* first, file_activity& file) noexcept {
    const std::uint8_t flags = detail::registered_files::flags_of(file);
    const int slot = file.system.slot;
    const bool are_reads = first->op == opcode::read;
    if (are_reads && reads_.pending == 0) count_in_flight();
    std::size_t longest = are_reads ? reads_.longest(file) : (std::numeric_limits<std::size_t>::max)();
    auto left = (std::numeric_limits<std::ptrdiff_t>::max)();
    if (are_reads) left = static_cast<std::ptrdiff_t>(cached_reads::part - reads_.pending);
    while (first != nullptr && room_.free != 0) {
      io_uring_sqe* const entry = ring_.next_entry();
      if (entry == nullptr) [[unlikely]]
        break;
      request& r = *first;
      first = r.next;
      detail::take_over(r);
      --room_.free;
      detail::prepare_one_of_many(*entry, r, memory_);
      entry->fd = slot;
      entry->flags = flags;
      const std::size_t bytes = r.io.total();
      if (bytes > longest) [[unlikely]] {
        leave_to_thread(*entry, r);
        continue;
      }
      left -= static_cast<std::ptrdiff_t>(cached_reads::each + bytes);
      if (left <= 0) [[unlikely]] {
        reads_.last = &file;
        enter_watched();
        count_in_flight();
        longest = reads_.longest(file);
        left = static_cast<std::ptrdiff_t>(cached_reads::part);
      }
    }
    if (are_reads) reads_.add(file, cached_reads::part - static_cast<std::size_t>(left) - reads_.pending);
    return first;
  }

  /// In an engine that polls or waits awake. True if `r` will be polled.
  QIO_NOINLINE bool submit_specially(request& r) noexcept {
    slow_in_flight_ += spins_ && is_slow(r);
    return polled_.is_open() && submit_polled(r);
  }

  bool submit_polled(request& r) noexcept {
    if (!begun_ || !polled_.submit(r, memory_)) return false;
    ++elsewhere_;
    return true;
  }

  /// Moves what was submitted before begin() to the polled ring, where possible.
  QIO_COLD void poll_backlog() noexcept {
    detail::queue<request> early;
    while (request* const r = backlog_.pop()) {
      r->queued = false;
      watch_->note_hand_over(*r);
      early.push(*r);
    }
    while (request* const r = early.pop()) {
      leave_elsewhere();
      if (!submit_polled(*r)) submit_later(*r);
    }
  }

  /// Does all the work that a normal turn skips. True if a request is already complete.
  QIO_NOINLINE bool do_what_waits(completed_requests& completed) noexcept {
    const std::size_t before = in_flight();
    finish_cancelled(completed);
    if (refusal_ != 0) [[unlikely]] {
      give_up_ring(completed);
      return in_flight() != before;
    }
    while (!cancels_.empty() && room_.cancels != room_.all) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) break;
      request& r = *cancels_.pop();
      r.queued = false;
      detail::prepare_cancel(*entry, r);
      ++room_.cancels;
    }
    while (!backlog_.empty() && room_.free != 0) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) break;
      request& r = *backlog_.pop();
      r.queued = false;
      leave_elsewhere();
      watch_->note_hand_over(r);
      hand_over(*entry, r);
      if (reads_.pending >= cached_reads::part) enter_watched();
    }
    if (!is_listening_)
      if (io_uring_sqe* const entry = next_entry()) {
        detail::prepare_listening(*entry, wake_event_.handle());
        is_listening_ = true;
      }
    if (is_listening_ && backlog_.empty() && cancels_.empty() && !lacks_place() && refusal_ == 0)
      fast_opcodes_ = setup_.opcodes;
    return in_flight() != before;
  }

  io_uring_sqe* next_entry() noexcept {
    io_uring_sqe* entry = ring_.next_entry();
    if (entry == nullptr) {
      enter(0);
      entry = ring_.next_entry();
    }
    return entry;
  }

  /// Completes the requests that were canceled in the backlog.
  void finish_cancelled(completed_requests& completed) noexcept {
    while (request* const r = cancelled_.pop()) {
      r->queued = false;
      finish_elsewhere(*r, completed);
    }
  }

  // --- into the kernel ---

  /// Hands over what was submitted, runs the kernel's deferred work, and waits for `wanted` completions.
  void enter(unsigned wanted) noexcept {
    reads_.pending = 0;
    if (const int answer = ring_.enter(wanted); answer < 0) [[unlikely]]
      look_at_failure(-answer);
  }

  /// The next turn begins.
  QIO_NOINLINE void care_for_reads() noexcept {
    reads_.spent = {};
    reads_.is_busy = detail::clock::now() < reads_.resume;
    while (!reads_.waiting.empty() && reads_.with_threads != cached_reads::most_with_threads && room_.free != 0) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) break;
      request& r = *reads_.waiting.pop();
      r.queued = false;
      leave_elsewhere();
      watch_->note_hand_over(r);
      --room_.free;
      detail::prepare(*entry, r, memory_);
      files_.name(*entry, ring_, *r.activity, r.handle);
      entry->flags |= IOSQE_ASYNC;
      ++reads_.with_threads;
    }
    reads_.need_care = reads_.is_busy || !reads_.waiting.empty();
    if (lacks_place()) slow_down();
  }

  /// Whether a read could go to a thread of the kernel if there was a place. Until it has one, nothing overtakes it.
  bool lacks_place() const noexcept {
    return !reads_.waiting.empty() && reads_.with_threads != cached_reads::most_with_threads;
  }

  /// enter(0) with reads that may take long.
  QIO_NOINLINE void enter_watched() noexcept {
    require_own_thread();
    watch_->begin_late();
    const platform::thread_switches before = platform::switches_of_this_thread();
    const detail::clock::time_point begin = detail::clock::now();
    enter(0);
    const detail::clock::time_point end = detail::clock::now();
    reads_.need_care = true;
    reads_.spent += end - begin;
    if (reads_.spent < cached_reads::most_in_a_turn) return;
    reads_.is_busy = true;
    if (end - begin < cached_reads::most_in_a_turn) return;
    if (!detail::note_slow_submission(*watch_, *reads_.last, before, end - begin)) return;
    // So that submissions that wait cost the thread at most a seventeenth of its time.
    reads_.resume = end + 16 * (end - begin);
  }

  void enter_if_needed() noexcept {
    if (ring_.has_deferred() || ring_.pending() != 0) enter(0);
  }

  void wait_asleep(wait_limit limit) noexcept {
    if (!limit.may_wait()) return enter_if_needed();
    ++waits_.asleep;
    if (room_.free == room_.all && elsewhere_ == 0) [[unlikely]]
      return wait_idle(limit);
    if (limit.is_unlimited()) [[likely]]
      return enter(1);
    enter_until(limit.time);
  }
  QIO_NOINLINE void enter_until(wait_limit::time_point time) noexcept {
    reads_.pending = 0;
    if (const int answer = ring_.enter_until(1, time_left<__kernel_timespec>(time)); answer < 0)
      look_at_failure(-answer);
  }

  template <class Timespec>
  static Timespec time_left(wait_limit::time_point time) noexcept {
    const auto left = detail::greater_of(std::chrono::nanoseconds(0),
                                         std::chrono::nanoseconds(time - std::chrono::steady_clock::now()));
    Timespec split{};
    split.tv_sec = static_cast<decltype(split.tv_sec)>(left.count() / 1'000'000'000);
    split.tv_nsec = static_cast<decltype(split.tv_nsec)>(left.count() % 1'000'000'000);
    return split;
  }

  /// Nothing is in flight but the entry that listens for wake(). The kernel would take a wait for that as one for I/O:
  /// before Linux 6.15, the thread waits for the event itself.
  QIO_NOINLINE void wait_idle(wait_limit limit) noexcept {
    if (!ring_.offers(detail::ring::waits_without_pressure)) {
      enter_if_needed();
      if (!ring_.has_completions()) wait_for_event(limit);
      return enter_if_needed();
    }
    const auto left = limit.is_unlimited() ? __kernel_timespec{} : time_left<__kernel_timespec>(limit.time);
    if (const int answer = ring_.enter_idle(limit.is_unlimited() ? nullptr : &left); answer < 0)
      look_at_failure(-answer);
  }

  /// io_uring_enter(2) may start to fail at any time, because a process may install a seccomp filter. The next wait()
  /// then gives up the ring.
  QIO_COLD void look_at_failure(int code) noexcept {
    if (detail::passes_by_itself(code)) return;
    // The descriptor no longer refers to the ring, but the kernel still holds what is in flight.
    if (code == EBADF || code == EOPNOTSUPP)
      detail::fail_ring("the descriptor of a context's ring was closed by other code of this program");
    refusal_ = code;
    slow_down();
  }

  // --- waiting awake ---

  // A wait awake holds a CPU that the completion itself may need: part of it runs in a kernel thread bound to that CPU
  // (the end of a write to blocks never written before, a softirq on a busy machine), and then waits for the
  // scheduler's next tick. So each wait awake is bounded, and an unsuccessful one is followed by waits asleep: one,
  // then two, four ..., up to 64, until one succeeds.
  static constexpr std::chrono::microseconds longest_spin{200};
  static constexpr unsigned most_asleep = 64;

  // Whether a kernel thread completes it, which needs a CPU, perhaps the one that a wait awake would hold.
  static bool is_slow(const request& r) noexcept { return r.op == opcode::sync || r.is_durable_write(); }

  /// In an engine that polls or waits awake.
  QIO_NOINLINE void wait_specially(completed_requests& completed, wait_limit limit) noexcept {
    if (polled_.in_flight() != 0) limit = poll(completed, limit);
    if (!spins_) {
      wait_asleep(limit);
      return take_completions<false>(completed);
    }
    if (!limit.may_wait() || !may_spin())
      wait_asleep(limit);
    else if (!spin(limit))
      limit.is_unlimited() ? enter(1) : enter_until(limit.time);
    take_completions<true>(completed);
  }

  /// Only for what needs no CPU to complete, and not while the ring is empty.
  bool may_spin() noexcept {
    QIO_CHECK(slow_in_flight_ <= in_flight(), "more requests are slow than are in flight");
    if (room_.taken() == 0 || slow_in_flight_ != 0 || reads_.with_threads != 0) return false;
    if (asleep_left_ == 0) return true;
    --asleep_left_;
    return false;
  }

  /// Hands over what was submitted and watches the completion queue. False if nothing has come in time.
  bool spin(wait_limit limit) noexcept {
    constexpr int looks_per_clock_reading = 32;
    const auto end = detail::lesser_of(std::chrono::steady_clock::now() + longest_spin, limit.time);
    if (ring_.pending() != 0) enter(0);
    do {
      for (int look = 0; look < looks_per_clock_reading; ++look) {
        if (ring_.has_completions()) {
          ++waits_.awake;
          asleep_after_next_ = 1;
          return true;
        }
        if (ring_.has_deferred())
          enter(0);
        else
          platform::relax();
      }
    } while (std::chrono::steady_clock::now() < end);
    ++waits_.awake_in_vain;
    asleep_left_ = asleep_after_next_;
    asleep_after_next_ = detail::lesser_of(2 * asleep_after_next_, most_asleep);
    return false;
  }

  // --- completion ---

  template <bool Spins>
  void take_completions(completed_requests& completed) noexcept {
    bool woken = false;
    ring_.take_completions([&](const io_uring_cqe& completion) {
      if (detail::is_tag(completion.user_data)) [[unlikely]]
        return take_other(completion.user_data, woken);
      request& r = detail::request_of(completion.user_data);
      leave_ring();
      if (r.place != detail::uring_place::ring) [[unlikely]]
        leave_thread(r);
      if (!detail::finishes(r, completion.res)) [[unlikely]]
        return resume_later(r, completion.res);
      if (r.queued) [[unlikely]]
        withdraw_cancel(r);
      ++r.activity->statistics.served_by_ring;
      if constexpr (Spins) slow_in_flight_ -= is_slow(r);
      detail::complete(r, completed);
    });
    if (woken) [[unlikely]]
      was_woken(completed);
  }

  QIO_NOINLINE void take_other(std::uint64_t tag, bool& woken) noexcept {
    if (tag == detail::wake_tag)
      woken = true;
    else
      cancel_ended();
  }

  void leave_ring() noexcept {
    QIO_CHECK(room_.free != room_.all, "the kernel completed a request that was not in the ring");
    ++room_.free;
  }

  QIO_NOINLINE void leave_thread(request& r) noexcept {
    QIO_CHECK(r.place == detail::uring_place::kernel_thread && reads_.with_threads != 0,
              "the kernel's threads completed a read that they did not have");
    --reads_.with_threads;
    r.place = detail::uring_place::ring;
  }

  void leave_elsewhere() noexcept {
    QIO_CHECK(elsewhere_ != 0, "a request was removed from the engine's lists, but was in none");
    --elsewhere_;
  }

  void finish_elsewhere(request& r, completed_requests& completed) noexcept {
    leave_elsewhere();
    slow_in_flight_ -= spins_ && is_slow(r);
    detail::complete(r, completed);
  }

  /// `r` is complete, and its cancellation has not gone to the kernel yet.
  QIO_COLD void withdraw_cancel(request& r) noexcept {
    cancels_.remove(r);
    r.queued = false;
  }

  QIO_COLD void cancel_ended() noexcept {
    QIO_CHECK(room_.cancels != 0, "the kernel completed a cancellation that was not in the ring");
    --room_.cancels;
  }

  /// Part of `r` is done. The rest waits in the backlog, or goes to a worker if the kernel has none for it.
  QIO_COLD void resume_later(request& r, int answer) noexcept {
    ++elsewhere_;
    const bool lacks_worker = detail::lacks_kernel_worker(r, answer);
    if (!lacks_worker && !detail::was_not_waited_for(r, answer)) return push_to_backlog(r);
    has_lacked_kernel_worker_ |= lacks_worker;
    leave_to_worker(r);
  }

  /// The entry that listened for wake() is complete.
  QIO_COLD void was_woken(completed_requests& completed) noexcept {
    QIO_CHECK(is_listening_, "an entry that listens for wake() completed, but there was none");
    is_listening_ = false;
    slow_down();
    wake_event_.reset();
    take_arrivals(completed);
  }

  // --- polling ---

  /// Polled requests complete only when they are polled. While there are any, the thread must not sleep in the ordinary
  /// ring, so the two rings take turns. If nothing else can complete, the kernel polls until something does.
  QIO_NOINLINE wait_limit poll(completed_requests& completed, wait_limit limit) noexcept {
    QIO_CHECK(polled_.in_flight() <= elsewhere_, "more requests are polled than are in flight");
    const bool alone = room_.taken() == 0 && elsewhere_ == polled_.in_flight();
    if (const int answer = polled_.queues().enter(alone && limit.is_unlimited() ? 1 : 0); answer < 0)
      look_at_failure(-answer);
    take_polled(completed);
    return wait_limit::none();
  }

  void take_polled(completed_requests& completed) noexcept {
    polled_.take_completions([&](request& r, detail::polled_ring::outcome outcome) {
      if (outcome == detail::polled_ring::outcome::unfinished) return push_to_backlog(r);
      ++r.activity->statistics.served_by_ring;
      r.activity->statistics.polled += outcome == detail::polled_ring::outcome::finished;
      finish_elsewhere(r, completed);
    });
  }

  // --- without a ring ---

  /// The kernel refuses to let the process enter the ring. What it has not taken goes to workers; what it has taken
  /// fails, once the kernel no longer uses its memory.
  QIO_COLD void give_up_ring(completed_requests& completed) noexcept {
    if (spins_)
      take_completions<true>(completed);
    else
      take_completions<false>(completed);
    if (polled_.is_open()) take_polled(completed);
    ring_.take_back([this](const io_uring_sqe& entry) {
      if (entry.user_data == detail::cancel_tag) return cancel_ended();
      if (entry.user_data == detail::wake_tag) return;
      request& r = detail::request_of(entry.user_data);
      leave_ring();
      if (r.place == detail::uring_place::kernel_thread) leave_thread(r);
      if (r.queued) withdraw_cancel(r);
      ++elsewhere_;
      push_to_backlog(r);
    });
    while (request* const r = reads_.waiting.pop()) {
      r->place = detail::uring_place::ring;
      backlog_.push(*r);
    }
    is_listening_ = false;
    if (polled_.is_open()) polled_.take_back([this](request& r) { push_to_backlog(r); });
    while (request* const r = cancels_.pop()) r->queued = false;  // the ring is about to close, which cancels all
    if (room_.taken() + polled_.in_flight() == 0) {
      end();
    } else {
      if (const char* const call = detail::close_and_wait({&ring_, &polled_.queues()})) {
        const error failure = platform::last_error();
        const std::string why =
            "the kernel refuses io_uring_enter while operations are in flight, and " + std::string(call) + " failed (" +
            failure.message() +
            "), so it is unknown how long it uses their memory; install a seccomp filter only while the process's "
            "contexts are idle";
        detail::fail_ring(why.c_str());
      }
      fail_taken(completed);
    }
    setup_.opcodes = 0;
    while (request* const r = backlog_.pop()) {
      r->queued = false;
      if (!r->cancel_requested.load(std::memory_order_relaxed)) {
        workers_.submit(*r);
      } else {
        watch_->note_hand_over(*r);
        r->fail_as_canceled();
        finish_elsewhere(*r, completed);
      }
    }
    QIO_CHECK(room_.taken() == 0 && polled_.in_flight() == 0, "a ring was closed with requests in it");
  }

  /// Completes the requests that the kernel had taken: those of the context's files that are with neither the engine
  /// nor its workers.
  QIO_COLD void fail_taken(completed_requests& completed) noexcept {
    detail::queue<request> lost;
    if (activities_ != nullptr)
      activities_->for_each([&](file_activity& file) {
        file.held.for_each([&](request& r) {
          // What a worker has is its own; it may be changing `queued`.
          if (setup_.has(r.op) && r.place != detail::uring_place::workers && !r.queued && !r.is_held_back())
            lost.push(r);
        });
      });
    const error reason = platform::system_error(refusal_);
    while (request* const r = lost.pop()) {
      if (r->place == detail::uring_place::polled_ring) {
        polled_.lost(*r);
        leave_elsewhere();
      } else {
        leave_ring();
        if (r->place == detail::uring_place::kernel_thread) leave_thread(*r);
      }
      r->failure = reason.after(r->io.transferred());
      if (r->op != opcode::sync) r->failure = r->activity->of_transfer(r->failure, r->op);
      // The error that the kernel would have reported is lost, and the next sync would not report it.
      if (r->op == opcode::sync || r->is_durable_write()) {
        r->activity->sync_failure.note(platform::system_error(EIO));
        detail::fail_what_overlaps(*r->activity);
      }
      slow_in_flight_ -= spins_ && is_slow(*r);
      detail::complete(*r, completed);
    }
    if (room_.taken() + polled_.in_flight() != 0)
      detail::fail_ring("a ring was lost with requests that only the kernel knew of");
  }

  /// Called by any thread before begin(); then by the context's thread, if there never was a ring or it is lost.
  QIO_COLD void wait_without_ring(completed_requests& completed, wait_limit limit) noexcept {
    QIO_CHECK(ring_.is_open() || refusal_ != 0 || !had_ring_, "an engine was waited for after its end()");
    if (had_ring_ && begun_) require_own_thread();
    if (!arrivals_.empty()) watch_->found_due();
    const bool waits = limit.may_wait() && arrivals_.empty() && cancelled_.empty();
    finish_cancelled(completed);
    if (had_ring_) {
      if (waits) wait_for_event(limit);
      wake_event_.reset();
    } else if (waits) {
      woken_.wait(limit);
    }
    take_arrivals(completed);
  }

  /// Until wake_event_ is set, or the limit passes. May return early.
  void wait_for_event(wait_limit limit) noexcept {
    const timespec left = limit.is_unlimited() ? timespec{} : time_left<timespec>(limit.time);
    pollfd ready{wake_event_.handle(), POLLIN, 0};
    // A filter that forbids a ring may forbid this, too.
    if (::ppoll(&ready, 1, limit.is_unlimited() ? nullptr : &left, nullptr) < 0 && errno != EINTR)
      std::this_thread::yield();
  }

  // --- Linux AIO ---

  /// One wait for transfers, for wake(), and so for workers and timers. Called by any thread before begin().
  QIO_NOINLINE void wait_with_aio(completed_requests& completed, wait_limit limit) noexcept {
    if (aio_.has_completions() || !arrivals_.empty()) watch_->found_due();
    finish_cancelled(completed);
    hand_over_to_aio();
    if (limit.may_wait() && completed.empty() && !aio_.has_completions() && arrivals_.empty()) {
      ++waits_.asleep;
      using time_limit = detail::aio_queue::time_limit;
      const auto left = limit.is_unlimited() ? time_limit{} : time_left<time_limit>(limit.time);
      if (aio_.can_wait())
        aio_.wait(limit.is_unlimited() ? nullptr : &left);
      else  // what the kernel had taken completes in memory
        wait_for_event(aio_.in_flight() == 0 ? limit : sooner(limit, std::chrono::milliseconds(1)));
    }
    const bool woken = aio_.take_completions([&](request& r, bool is_finished) {
      if (!is_finished) {
        if (!r.cancel_requested.load(std::memory_order_relaxed)) return leave_to_worker(r);
        r.fail_as_canceled();
      }
      ++r.activity->statistics.served_by_ring;
      finish_elsewhere(r, completed);
    });
    if (woken || !aio_.can_wait()) wake_event_.reset();
    take_arrivals(completed);
  }

  static wait_limit sooner(wait_limit limit, std::chrono::milliseconds from_now) noexcept {
    return wait_limit::until(detail::lesser_of(limit.time, detail::clock::now() + from_now));
  }

  // --- from the workers ---

  void take_arrivals(completed_requests& completed) noexcept {
    detail::queue<request> arrived;
    arrivals_.take(arrived);
    while (request* const r = arrived.pop()) {
      ++r->activity->statistics.served_by_worker;
      r->place = detail::uring_place::workers;
      finish_elsewhere(*r, completed);
    }
  }

  static void finished_by_worker(void* self, request& r) noexcept {
    auto& engine = *static_cast<linux_engine*>(self);
    if (engine.arrivals_.push(r)) engine.wake();
  }

  detail::ring ring_;
  unsigned fast_opcodes_ = 0;  // a bit for each opcode that goes straight into the queue; 0 while something waits
  bool is_plain_ = true;       // it neither polls nor waits awake
  bool spins_ = false;
  bool begun_ = false;
  bool has_aio_ = false;       // in place of a ring
  bool is_listening_ = false;  // an entry of the ring, to wake_event_
  completion_room room_;
  cached_reads reads_;
  std::size_t elsewhere_ = 0;  // requests in a list of this engine, in the polled ring, or with the workers
  std::uint64_t owner_ = 0;    // the thread that the ring is bound to
  detail::registered_memory memory_;
  detail::registered_files files_;
  detail::queue<request> backlog_;    // waiting for a place in the ring
  detail::queue<request> cancels_;    // in the ring, canceled when there is a place
  detail::queue<request> cancelled_;  // canceled in the backlog, not yet reported
  detail::polled_ring polled_;
  detail::aio aio_;
  int refusal_ = 0;  // the system's error number, once the kernel no longer lets the process enter the ring
  wait_statistics waits_;
  std::size_t slow_in_flight_ = 0;  // requests that must be waited for asleep; counted if it spins
  unsigned asleep_left_ = 0;        // waits that must still be asleep
  unsigned asleep_after_next_ = 1;  // ... after the next unsuccessful wait awake
  detail::ring_setup setup_;
  detail::list<file_activity>* activities_ = nullptr;  // of all files with requests here
  detail::turn_watch* watch_ = nullptr;
  bool had_ring_ = false;    // create() opened one
  bool sets_ready_ = false;  // the kernel, for each completion
  bool has_lacked_kernel_worker_ = false;
  std::string why_no_ring_;  // if one was asked for
  std::string why_no_aio_;   // the same
  platform::event wake_event_;
  detail::auto_reset_event woken_;  // for an engine that never had a ring
  detail::ready_event ready_;
  detail::arrivals<request> arrivals_;  // completed by workers
  detail::workers workers_;             // last: its threads use the above
};

static_assert(engine<linux_engine>);

QIO_END_NAMESPACE
