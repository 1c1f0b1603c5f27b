// SPDX-License-Identifier: BSL-1.0
// The engine over Linux's io_uring.
#pragma once

#include <qio/detail/linux/uring_setup.hpp>
#include <qio/detail/thread_number.hpp>
#include <qio/detail/workers.hpp>
#include <qio/engine/engine.hpp>

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace qio {

/// One ring, for one thread: the one that first waits on it (IORING_SETUP_SINGLE_ISSUER, where the kernel has it).
///
/// submit() only writes to the submission queue; wait() hands all of it to the kernel and waits, in one system call.
/// What the ring cannot do (a missing opcode, opcode::call) is done by workers, and comes back through the same wait().
class uring {
 public:
  static result<std::unique_ptr<uring>> create(const context_options& options) {
    auto engine = std::unique_ptr<uring>(new uring(options));
    if (auto set_up = detail::set_up_ring(engine->ring_, options.queue_depth); set_up)
      engine->features_ = set_up.value();
    else
      return set_up.error();
    engine->wake_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (engine->wake_event_ < 0) return platform::last_error();
    return engine;
  }

  uring(const uring&) = delete;
  uring& operator=(const uring&) = delete;

  ~uring() {
    workers_.stop();  // they may still be about to call wake()
    if (wake_event_ >= 0) ::close(wake_event_);
    if (ring_.ring_fd < 0) return;
    // A registered descriptor is an index into a table of the thread that registered it. Elsewhere it names another
    // ring, so there it is left to the kernel, which drops it when that thread ends.
    if (owner_ != detail::this_thread_number()) ring_.int_flags &= static_cast<unsigned char>(~registered_flag);
    io_uring_queue_exit(&ring_);
  }

  void submit(request& r) noexcept {
    detail::take_over(r);
    io_uring_sqe* entry = nullptr;
    if (!attention_ && can_do(r) && in_ring_ < max_in_ring_) entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return submit_later(r);
    ++in_ring_;
    prepare(*entry, r);
  }

  void cancel(request& r) noexcept {
    if (!can_do(r)) return workers_.cancel(r);
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    attention_ = true;
    if (r.queued) {
      backlog_.remove(r);
      r.fail_as_cancelled();
      cancelled_.push(r);
    } else {
      cancels_.push(r);
      r.queued = true;
    }
  }

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (attention_ && attend(completed)) limit = wait_limit::none();
    enter(limit);
    take_completions(completed);
  }

  std::size_t in_flight() const noexcept { return in_ring_ + elsewhere_; }

  void wake() noexcept {
    const std::uint64_t one = 1;
    // Fails only if the counter is at its limit, and then the event is signalled already.
    [[maybe_unused]] const auto written = ::write(wake_event_, &one, sizeof one);
  }

  void explain(explanation& out) const {
    out.add("engine", "io_uring");
    out.add("ring",
            std::to_string(ring_.sq.ring_entries) + " submissions, " + std::to_string(ring_.cq.ring_entries) +
                " completions",
            features_.reduced);
    out.add("single issuer", features_.single_issuer ? "on" : "off",
            features_.single_issuer ? "" : "not offered by this kernel; Linux 6.0 has it");
    out.add("deferred task run", features_.defer_taskrun ? "on" : "off",
            features_.defer_taskrun ? "" : "not offered by this kernel; Linux 6.1 has it");
    for (const auto& [name, op] :
         {std::pair{"ring reads", opcode::read}, {"ring writes", opcode::write}, {"ring syncs", opcode::sync}})
      if (!features_.has(op)) out.add(name, "off", "the kernel's ring lacks the operation; workers carry it out");
  }

 private:
  // user_data of completions that belong to no request. Odd, as liburing's own (LIBURING_UDATA_TIMEOUT), and as the
  // address of a request never is.
  static constexpr std::uint64_t cancel_tag = 1;
  static constexpr std::uint64_t wake_tag = 3;
  static constexpr unsigned registered_flag = 1;  // INT_FLAG_REG_RING of liburing's int_flags, since 2.2

  explicit uring(const context_options& options) : workers_(options.workers, &uring::finished_by_worker, this) {
    ring_.ring_fd = -1;
  }

  bool can_do(const request& r) const noexcept { return features_.has(r.op); }

  // The ring binds itself to the thread that enables it, so this is left to the thread that first waits.
  void begin() noexcept {
    begun_ = true;
    owner_ = detail::this_thread_number();
    // Every request may be cancelled, so each may come with two completions.
    max_in_ring_ = ring_.cq.ring_entries / 2 - 1;
    if (features_.single_issuer) detail::enable_ring(ring_);
    io_uring_register_ring_fd(&ring_);  // saves a table look-up a call; where it fails, nothing changes
  }

  // --- to the kernel ---

  void submit_later(request& r) noexcept {
    ++elsewhere_;
    if (!can_do(r)) return workers_.submit(r);
    push_to_backlog(r);
  }

  /// All that a plain round through the ring need not look at. True if something is over already.
  bool attend(completed_requests& completed) noexcept {
    if (!begun_) begin();
    const bool something_is_over = !cancelled_.empty();
    while (request* const r = cancelled_.pop()) finish_elsewhere(*r, completed);
    push_cancels();
    push_backlog();
    if (!listening_) listen_for_wake();
    attention_ = !cancels_.empty() || !backlog_.empty() || !listening_;
    return something_is_over;
  }

  io_uring_sqe* next_entry() noexcept {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr && begun_) {
      io_uring_submit(&ring_);
      entry = io_uring_get_sqe(&ring_);
    }
    return entry;
  }

  static void prepare(io_uring_sqe& entry, request& r) noexcept {
    if (r.op == opcode::sync) {
      // Data and size are the same to Linux: see platform::sync.
      io_uring_prep_fsync(&entry, r.handle, r.sync == sync_kind::everything ? 0 : IORING_FSYNC_DATASYNC);
    } else {
      const detail::transfer::piece piece = r.io.next();
      const bool reads = r.op == opcode::read;
      if (piece.vector == nullptr) {
        const auto bytes = static_cast<unsigned>(piece.single.size);  // at most max_transfer_bytes
        io_uring_prep_rw(reads ? IORING_OP_READ : IORING_OP_WRITE, &entry, r.handle, piece.single.data, bytes,
                         piece.offset);
      } else {
        const auto count = static_cast<unsigned>(piece.vector_size);
        io_uring_prep_rw(reads ? IORING_OP_READV : IORING_OP_WRITEV, &entry, r.handle, piece.vector, count,
                         piece.offset);
      }
    }
    io_uring_sqe_set_data(&entry, &r);
  }

  void push_to_backlog(request& r) noexcept {
    backlog_.push(r);
    r.queued = attention_ = true;
  }

  void push_backlog() noexcept {
    while (!backlog_.empty() && in_ring_ < max_in_ring_) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) return;
      request& r = *backlog_.pop();
      r.queued = false;
      --elsewhere_;
      ++in_ring_;
      prepare(*entry, r);
    }
  }

  void push_cancels() noexcept {
    while (!cancels_.empty()) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) return;
      request& r = *cancels_.pop();
      r.queued = false;
      io_uring_prep_cancel64(entry, reinterpret_cast<std::uintptr_t>(&r), 0);
      entry->user_data = cancel_tag;
    }
  }

  void listen_for_wake() noexcept {
    io_uring_sqe* const entry = next_entry();
    listening_ = entry != nullptr;
    if (!listening_) return;
    io_uring_prep_poll_add(entry, wake_event_, POLLIN);
    entry->user_data = wake_tag;
  }

  // --- from the kernel ---

  void enter(wait_limit limit) noexcept {
    // From another thread the kernel would take the registered descriptor for that thread's own ring.
    if (owner_ != detail::this_thread_number())
      fail("a context was used by another thread than the one that first ran it");
    int answer;
    if (limit.is_unlimited()) {
      answer = io_uring_submit_and_wait(&ring_, 1);
    } else if (limit.may_wait()) {
      const auto left = std::max(std::chrono::nanoseconds(0),
                                 std::chrono::nanoseconds(limit.time - std::chrono::steady_clock::now()));
      __kernel_timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
      io_uring_cqe* first = nullptr;
      answer = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &timeout, nullptr);
    } else {
      // Deferred completions are delivered by a call only; the kernel's flag says whether there are any.
      const unsigned flags = __atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED);
      const bool deferred = (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
      if (!deferred && io_uring_sq_ready(&ring_) == 0) return;
      answer = io_uring_submit_and_get_events(&ring_);
    }
    const bool passes = answer >= 0 || answer == -EINTR || answer == -ETIME || answer == -EAGAIN || answer == -EBUSY;
    if (!passes) fail(std::strerror(-answer));
  }

  // Nothing in flight could ever complete, and its memory never be given back.
  [[noreturn]] static void fail(const char* why) noexcept {
    std::fprintf(stderr, "qio: io_uring: %s\n", why);
    std::abort();
  }

  void take_completions(completed_requests& completed) noexcept {
    unsigned head;
    unsigned count = 0;
    bool woken = false;
    io_uring_cqe* completion;
    io_uring_for_each_cqe(&ring_, head, completion) {
      ++count;
      if ((completion->user_data & 1) == 0)
        take(*reinterpret_cast<request*>(static_cast<std::uintptr_t>(completion->user_data)), completion->res,
             completed);
      else
        woken |= completion->user_data == wake_tag;
    }
    io_uring_cq_advance(&ring_, count);
    if (woken) was_woken(completed);
  }

  void take(request& r, int answer, completed_requests& completed) noexcept {
    --in_ring_;
    if (!r.io.is_finished_by(answer) && !is_over(r, answer)) {
      ++elsewhere_;
      return push_to_backlog(r);
    }
    if (r.queued) {
      cancels_.remove(r);
      r.queued = false;
    }
    ++r.activity->statistics.served_by_ring;
    detail::complete(r, completed);
  }

  bool is_over(request& r, int answer) noexcept {
    if (answer == -ECANCELED) {
      r.fail_as_cancelled();
      return true;
    }
    if (r.op != opcode::sync) {
      return detail::take_answer(r, answer);
    }
    if (answer == -EINTR) {
      if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
      r.fail_as_cancelled();
    } else if (answer < 0) {
      r.failure = detail::system_error(-answer);
    }
    return true;
  }

  void was_woken(completed_requests& completed) noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(wake_event_, &count, sizeof count);
    listening_ = false;
    attention_ = true;
    detail::queue<request> arrived;
    arrivals_.take(arrived);
    while (request* const r = arrived.pop()) {
      ++r->activity->statistics.served_by_worker;
      finish_elsewhere(*r, completed);
    }
  }

  void finish_elsewhere(request& r, completed_requests& completed) noexcept {
    --elsewhere_;
    detail::complete(r, completed);
  }

  static void finished_by_worker(void* self, request& r) noexcept {
    auto& engine = *static_cast<uring*>(self);
    if (engine.arrivals_.push(r)) engine.wake();
  }

  io_uring ring_{};
  std::size_t in_ring_ = 0;      // requests in the ring or handed over
  std::size_t max_in_ring_ = 0;  // so that completions cannot overflow
  bool attention_ = true;        // there is more to do than a plain round: see attend()
  bool begun_ = false;
  bool listening_ = false;  // for wake_event_
  detail::ring_features features_;
  int wake_event_ = -1;
  std::uint64_t owner_ = 0;             // the thread that the ring is bound to
  std::size_t elsewhere_ = 0;           // requests in the lists below, or with the workers
  detail::queue<request> backlog_;      // waiting for a place in the ring
  detail::queue<request> cancelled_;    // ended in the backlog
  detail::queue<request> cancels_;      // in the ring, and to be cancelled when there is a place
  detail::arrivals<request> arrivals_;  // completed by workers
  detail::workers workers_;             // last: its threads use the above
};

static_assert(engine<uring>);

}  // namespace qio
