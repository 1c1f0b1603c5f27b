// SPDX-License-Identifier: BSL-1.0
// The engine over Linux's io_uring.
#pragma once

#include <qio/detail/linux/uring_setup.hpp>
#include <qio/detail/workers.hpp>
#include <qio/engine/engine.hpp>

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

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
    if (owner_ != std::this_thread::get_id()) ring_.int_flags &= static_cast<unsigned char>(~registered_flag);
    io_uring_queue_exit(&ring_);
  }

  void submit(request& r) noexcept {
    ++in_flight_;
    detail::take_over(r);
    if (!can_do(r)) return workers_.submit(r);
    if (!backlog_.empty() || !try_push(r)) backlog_.push(r);
  }

  void cancel(request& r) noexcept {
    if (!can_do(r)) return workers_.cancel(r);
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    if (backlog_.remove(r)) {
      r.fail_as_cancelled();
      return cancelled_.push(r);
    }
    // The request's own links are in use by nobody while the kernel has it.
    cancels_.push(r);
    push_cancels();
  }

  void cancel_all() noexcept {
    workers_.cancel_all();
    ending_ = true;
    while (request* const r = backlog_.pop()) {
      r->fail_as_cancelled();
      cancelled_.push(*r);
    }
    // IORING_ASYNC_CANCEL_ANY needs Linux 5.19. Where it is refused, or finds no place, what the kernel has is waited
    // for: none of it is without end.
    if (io_uring_sqe* const entry = next_entry()) {
      io_uring_prep_cancel64(entry, 0, static_cast<int>(IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL));
      entry->user_data = cancel_tag;
    }
  }

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (!features_.enabled) begin();
    push_cancels();
    push_backlog();
    const bool something_is_over = !arrivals_.empty() || !cancelled_.empty() || io_uring_cq_ready(&ring_) != 0;
    enter(something_is_over ? wait_limit::none() : limit);
    take_completions(completed);
    take_arrivals(completed);
  }

  std::size_t in_flight() const noexcept { return in_flight_; }

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
    out.add("single issuer", features_.single_issuer ? "on" : "off", features_.single_issuer ? "" : "needs Linux 6.0");
    out.add("deferred task run", features_.defer_taskrun ? "on" : "off",
            features_.defer_taskrun ? "" : "needs Linux 6.1");
    for (const auto& [name, supported] :
         {std::pair{"ring reads", features_.read}, {"ring writes", features_.write}, {"ring syncs", features_.sync}})
      if (!supported) out.add(name, "off", "the kernel's ring lacks the operation; workers carry it out");
  }

 private:
  // user_data of completions that belong to no request; requests are aligned, so no address is as small.
  static constexpr std::uint64_t cancel_tag = 1;
  static constexpr std::uint64_t wake_tag = 2;
  static constexpr unsigned registered_flag = 1;  // INT_FLAG_REG_RING of liburing's int_flags, since 2.2

  explicit uring(const context_options& options) : workers_(options.workers, &uring::finished_by_worker, this) {
    ring_.ring_fd = -1;
  }

  bool can_do(const request& r) const noexcept {
    switch (r.op) {
      case opcode::read: return features_.read;
      case opcode::write: return features_.write;
      case opcode::sync: return features_.sync;
      case opcode::call: break;
    }
    return false;
  }

  // The ring binds itself to the thread that enables it, so this is left to the thread that first waits.
  void begin() noexcept {
    features_.enabled = true;
    owner_ = std::this_thread::get_id();
    if (features_.single_issuer) detail::enable_ring(ring_);
    io_uring_register_ring_fd(&ring_);  // saves a table look-up a call; where it fails, nothing changes
    listen_for_wake();
  }

  // --- to the kernel ---

  io_uring_sqe* next_entry() noexcept {
    // Never more in the kernel than the completion queue holds, so that completions cannot overflow.
    if (in_kernel_ >= ring_.cq.ring_entries) return nullptr;
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr && features_.enabled) {
      io_uring_submit(&ring_);
      entry = io_uring_get_sqe(&ring_);
    }
    if (entry != nullptr) ++in_kernel_;
    return entry;
  }

  bool try_push(request& r) noexcept {
    io_uring_sqe* const entry = next_entry();
    if (entry == nullptr) return false;
    prepare(*entry, r);
    io_uring_sqe_set_data(entry, &r);
    return true;
  }

  static void prepare(io_uring_sqe& entry, const request& r) noexcept {
    if (r.op == opcode::sync) {
      // Data and size are the same to Linux: see platform::sync.
      return io_uring_prep_fsync(&entry, r.handle, r.sync == sync_kind::everything ? 0 : IORING_FSYNC_DATASYNC);
    }
    const detail::transfer::piece piece = r.io.next();
    const bool reads = r.op == opcode::read;
    if (piece.vector == nullptr) {
      const auto bytes = static_cast<unsigned>(piece.single.size);  // at most max_transfer_bytes
      if (reads) return io_uring_prep_read(&entry, r.handle, piece.single.data, bytes, piece.offset);
      return io_uring_prep_write(&entry, r.handle, piece.single.data, bytes, piece.offset);
    }
    const auto count = static_cast<unsigned>(piece.vector_size);
    if (reads) return io_uring_prep_readv(&entry, r.handle, platform::as_iovec(piece.vector), count, piece.offset);
    io_uring_prep_writev(&entry, r.handle, platform::as_iovec(piece.vector), count, piece.offset);
  }

  void push_backlog() noexcept {
    while (request* const r = backlog_.pop()) {
      if (try_push(*r)) continue;
      backlog_.push_front(*r);
      return;
    }
  }

  void push_cancels() noexcept {
    while (request* const r = cancels_.pop()) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) return cancels_.push_front(*r);
      io_uring_prep_cancel64(entry, reinterpret_cast<std::uintptr_t>(r), 0);
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
    if (!listening_) listen_for_wake();
    int answer;
    if (!limit.may_wait) {
      // Deferred completions are delivered by a call only; the kernel's flag says whether there are any.
      const unsigned flags = __atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED);
      const bool deferred = (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
      if (!deferred && io_uring_sq_ready(&ring_) == 0) return;
      answer = io_uring_submit_and_get_events(&ring_);
    } else if (limit.time) {
      const auto left = std::max(std::chrono::nanoseconds(0),
                                 std::chrono::nanoseconds(*limit.time - std::chrono::steady_clock::now()));
      __kernel_timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
      io_uring_cqe* first = nullptr;
      answer = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &timeout, nullptr);
    } else {
      answer = io_uring_submit_and_wait(&ring_, 1);
    }
    if (answer == -EEXIST) misused();
  }

  // The kernel refuses every call from another thread: nothing could ever complete.
  [[noreturn]] static void misused() noexcept {
    std::fputs("qio: a context was used by a thread that is not the one which first ran it\n", stderr);
    std::abort();
  }

  void take_completions(completed_requests& completed) noexcept {
    unsigned head;
    unsigned count = 0;
    io_uring_cqe* completion;
    io_uring_for_each_cqe(&ring_, head, completion) {
      ++count;
      if (completion->user_data == LIBURING_UDATA_TIMEOUT) continue;  // liburing's own, on kernels before 5.11
      --in_kernel_;
      if (completion->user_data == cancel_tag) continue;
      if (completion->user_data == wake_tag)
        was_woken();
      else
        take(*reinterpret_cast<request*>(static_cast<std::uintptr_t>(completion->user_data)), completion->res,
             completed);
    }
    io_uring_cq_advance(&ring_, count);
  }

  void take(request& r, int answer, completed_requests& completed) noexcept {
    if (r.op == opcode::sync) {
      if (answer == -EINTR && !r.cancel_requested.load(std::memory_order_relaxed)) return backlog_.push(r);
      if (answer == -ECANCELED)
        r.fail_as_cancelled();
      else if (answer < 0)
        r.failure = detail::system_error(-answer);
    } else if (answer == -ECANCELED) {
      r.fail_as_cancelled();
    } else if (!detail::take_answer(r, answer)) {
      if (!ending_) return backlog_.push(r);
      r.fail_as_cancelled();
    }
    ++r.activity->statistics.served_by_ring;
    finish(r, completed);
  }

  void finish(request& r, completed_requests& completed) noexcept {
    --in_flight_;
    if (r.cancel_requested.load(std::memory_order_relaxed)) cancels_.remove(r);
    detail::complete(r, completed);
  }

  void was_woken() noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(wake_event_, &count, sizeof count);
    listening_ = false;
  }

  // --- workers ---

  static void finished_by_worker(void* self, request& r) noexcept {
    auto& engine = *static_cast<uring*>(self);
    if (engine.arrivals_.push(r)) engine.wake();
  }

  void take_arrivals(completed_requests& completed) noexcept {
    while (request* const r = cancelled_.pop()) finish(*r, completed);
    if (arrivals_.empty()) return;
    detail::queue<request> arrived;
    arrivals_.take(arrived);
    while (request* const r = arrived.pop()) {
      ++r->activity->statistics.served_by_worker;
      finish(*r, completed);
    }
  }

  io_uring ring_{};
  detail::ring_features features_;
  std::thread::id owner_;  // the thread that the ring is bound to
  int wake_event_ = -1;
  bool listening_ = false;              // for wake_event_
  bool ending_ = false;                 // cancel_all() was called
  std::size_t in_flight_ = 0;           // requests
  std::size_t in_kernel_ = 0;           // entries handed over or about to be, of all kinds
  detail::queue<request> backlog_;      // waiting for a place in the ring
  detail::queue<request> cancels_;      // in the kernel, and to be cancelled when there is a place
  detail::queue<request> cancelled_;    // ended in the backlog
  detail::arrivals<request> arrivals_;  // completed by workers
  detail::workers workers_;             // last: its threads use the above
};

static_assert(engine<uring>);

}  // namespace qio
