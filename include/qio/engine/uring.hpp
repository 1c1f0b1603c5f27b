// SPDX-License-Identifier: BSL-1.0
// The engine over Linux's io_uring.
#pragma once

#include <qio/detail/bounds.hpp>
#include <qio/detail/clock.hpp>
#include <qio/detail/linux/polled_ring.hpp>
#include <qio/detail/linux/polling_support.hpp>
#include <qio/detail/linux/registered_files.hpp>
#include <qio/detail/linux/registered_memory.hpp>
#include <qio/detail/linux/ring.hpp>
#include <qio/detail/linux/uring_setup.hpp>
#include <qio/detail/thread_number.hpp>
#include <qio/detail/waiting.hpp>
#include <qio/detail/workers.hpp>
#include <qio/engine/engine.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace qio {

/// One ring, for one thread: the one that first waits on it (IORING_SETUP_SINGLE_ISSUER, where the kernel has it).
///
/// submit() only writes to the submission queue; wait() hands all of it to the kernel and waits, in one system call. Of
/// direct transfers submit() hands over four at a time: a device that is given all at once has nothing to do while this
/// thread goes through what it has answered, and then this thread has nothing to do.
/// What the ring cannot do (a missing opcode, opcode::call) is done by workers, and comes back through the same wait().
class uring {
 public:
  static result<std::unique_ptr<uring>> create(const context_options& options) {
    auto engine = std::unique_ptr<uring>(new uring(options));
    if (auto set_up = detail::set_up_ring(engine->ring_, options.queue_depth); set_up)
      engine->setup_ = std::move(set_up).value();
    else
      return set_up.error();
    engine->files_.set_up(engine->ring_);
    engine->polled_.set_up(options.polling, options.queue_depth);
    engine->wake_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (engine->wake_event_ < 0) return platform::last_error();
    return engine;
  }

  uring(const uring&) = delete;
  uring& operator=(const uring&) = delete;

  ~uring() {
    workers_.stop();  // they may still be about to call wake()
    if (wake_event_ >= 0) ::close(wake_event_);
    end();
  }

  void submit(request& r) noexcept {
    detail::take_over(r);
    if (polled_.is_open() && submit_polled(r)) [[unlikely]]
      return;
    io_uring_sqe* entry = nullptr;
    if (goes_straight(r.op) && places_ != 0) [[likely]]
      entry = ring_.next_entry();
    if (entry == nullptr) [[unlikely]]
      return submit_later(r);
    hand_over(*entry, r);
    if (r.activity->is_direct && ring_.pending() >= most_gathered) give_to_device();
  }

  void cancel(request& r) noexcept {
    if (!can_do(r)) return workers_.cancel(r);
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    if (r.in_polled_ring) return;  // which cancels nothing
    call_attention();
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
    if (needs_attention() && attend(completed)) limit = wait_limit::none();
    require_own_thread();
    if (polled_.in_flight() != 0) [[unlikely]]
      limit = poll(completed, limit);
    if (may_be_awake_ && limit.may_wait()) [[unlikely]]
      return wait_by_policy(completed, limit);
    if (limit.may_wait())
      fall_asleep(limit);
    else if (ring_.has_deferred() || ring_.pending() != 0)
      check(ring_.enter(0));
    take_completions(completed);
  }

  wait_statistics waits() const noexcept { return waiting_.statistics(); }

  std::size_t in_flight() const noexcept { return all_places_ - places_ + elsewhere_; }

  void wake() noexcept {
    const std::uint64_t one = 1;
    // Fails only if the counter is at its limit, and then the event is signalled already.
    [[maybe_unused]] const auto written = ::write(wake_event_, &one, sizeof one);
  }

  polling_support find_polling(platform::native_handle handle, const alignment& needed) const {
    if (!polled_.is_open()) return {false, false, "the context does not poll"};
    return detail::find_polling_support(handle, needed);
  }

  std::string register_memory(std::span<std::byte> memory) {
    if (const int told = detail::registered_memory::tell(ring_, memory); told < 0)
      return detail::why_not_registered(-told);
    if (const int told = polled_.register_memory(memory); told < 0) {
      detail::registered_memory::tell_no_more(ring_);
      return detail::why_not_registered(-told);
    }
    memory_.set(memory);
    return {};
  }

  void let_go(file_activity& file) noexcept {
    if (detail::registered_files::has(file) && is_own_thread()) files_.remove(ring_, file);
  }

  void end() noexcept {
    if (!ring_.is_open()) return;
    // Refused where it is another thread that uses the ring: then all of it goes with the ring.
    if (memory_.exists()) {
      detail::registered_memory::tell_no_more(ring_);
      polled_.forget_memory();
    }
    detail::registered_files::remove_all(ring_);
    if (!is_own_thread()) {
      ring_.forget_descriptor();
      polled_.forget_descriptor();
    }
    ring_.close();
    polled_.close();
  }

  void explain(explanation& out) const {
    out.add("engine", "io_uring");
    out.add("ring",
            std::to_string(ring_.submission_capacity()) + " submissions, " +
                std::to_string(ring_.completion_capacity()) + " completions",
            setup_.reduced);
    for (const detail::ring_feature& each : detail::ring_features)
      out.add(each.name, ring_.has(each.flags) ? "on" : "off",
              ring_.has(each.flags) ? "" : "not offered by this kernel; Linux " + std::string(each.since) + " has it");
    files_.explain(out);
    polled_.explain(out);
    out.add("waiting", std::string(name_of(waiting_.policy())));
    for (const auto& [name, op] :
         {std::pair{"ring reads", opcode::read}, {"ring writes", opcode::write}, {"ring syncs", opcode::sync}})
      if (!setup_.has(op)) out.add(name, "off", "the kernel's ring lacks the operation; workers carry it out");
  }

 private:
  // user_data of completions that belong to no request. Odd, as the address of a request never is.
  static constexpr std::uint64_t cancel_tag = 1;
  static constexpr std::uint64_t wake_tag = 3;
  static constexpr std::uint64_t nap_tag = 5;

  // Entries for a device that are gathered before it gets them. At a depth of 32, a virtual drive did 17 to 20 % more
  // by four at a time than by all at once, for as much processor time (docs/benchmarks.md).
  static constexpr unsigned most_gathered = 4;

  explicit uring(const context_options& options)
      : may_be_awake_(options.waiting != wait_policy::sleep),
        waiting_(options.waiting),
        workers_(options.workers, &uring::finished_by_worker, this) {}

  bool can_do(const request& r) const noexcept { return setup_.has(r.op); }

  // Whatever needs more than a plain round through the ring closes the straight way, until attend() has seen to it: one
  // question on the way of a request, instead of one for each such thing.
  bool goes_straight(opcode op) const noexcept { return ((straight_ >> static_cast<unsigned>(op)) & 1) != 0; }
  bool needs_attention() const noexcept { return straight_ == 0; }
  void call_attention() noexcept { straight_ = 0; }

  // The ring binds itself to the thread that enables it, so this is left to the thread that first waits.
  void begin() noexcept {
    begun_ = true;
    owner_ = detail::this_thread_number();
    // Every request may be cancelled, so each may come with two completions.
    places_ = all_places_ = ring_.completion_capacity() / 2 - 1;
    if (ring_.has(IORING_SETUP_R_DISABLED)) detail::enable_ring(ring_);
    ring_.register_descriptor();
    polled_.bind_to_this_thread();
  }

  bool is_own_thread() const noexcept { return owner_ == detail::this_thread_number(); }

  // From another thread the kernel would take the registered descriptor for that thread's own ring.
  void require_own_thread() const noexcept {
    if (!detail::is_this_thread(owner_)) [[unlikely]]
      fail("a context was used by another thread than the one that first ran it");
  }

  // --- to the kernel ---

  void give_to_device() noexcept {
    require_own_thread();
    check(ring_.enter(0));
  }

  [[gnu::cold, gnu::noinline]] void submit_later(request& r) noexcept {
    ++elsewhere_;
    if (!can_do(r)) return workers_.submit(r);
    push_to_backlog(r);
  }

  /// All that a plain round through the ring need not look at. True if something is over already.
  [[gnu::noinline]] bool attend(completed_requests& completed) noexcept {
    if (!begun_) begin();
    const bool something_is_over = !cancelled_.empty();
    while (request* const r = cancelled_.pop()) finish_elsewhere(*r, completed);
    push_cancels();
    push_backlog();
    if (!listening_) listen_for_wake();
    straight_ = cancels_.empty() && backlog_.empty() && listening_ ? setup_.opcodes : 0;
    return something_is_over;
  }

  io_uring_sqe* next_entry() noexcept {
    io_uring_sqe* entry = ring_.next_entry();
    if (entry == nullptr && begun_) {
      ring_.enter(0);
      entry = ring_.next_entry();
    }
    return entry;
  }

  void hand_over(io_uring_sqe& entry, const request& r) noexcept {
    --places_;
    if (may_be_awake_) [[unlikely]] {
      latest_ = r.op;
      slow_ += is_slow(r);
    }
    prepare(entry, r);
    files_.name(entry, ring_, *r.activity, r.handle);
  }

  /// All but the file, which each ring knows in its own way.
  void prepare(io_uring_sqe& entry, const request& r) const noexcept {
    entry.user_data = reinterpret_cast<std::uintptr_t>(&r);
    if (r.op == opcode::sync) return prepare_sync(entry, r.sync);
    entry.off = r.io.next_offset();
    entry.rw_flags = r.flags;
    if (r.io.has_one_buffer()) [[likely]]
      prepare_single(entry, r.io.rest_of_buffer(), r.op);
    else
      prepare_piece(entry, r.io.next(), r.op);
  }

  void prepare_single(io_uring_sqe& entry, const mutable_buffer& buffer, opcode op) const noexcept {
    entry.opcode = kernel_opcode(IORING_OP_READ, op);
    entry.addr = reinterpret_cast<std::uintptr_t>(buffer.data);
    entry.len = static_cast<unsigned>(buffer.size);  // at most max_transfer_bytes
    memory_.name(entry);
  }

  [[gnu::noinline]] void prepare_piece(io_uring_sqe& entry, const detail::piece& piece, opcode op) const noexcept {
    if (piece.vector == nullptr) return prepare_single(entry, piece.single, op);
    entry.opcode = kernel_opcode(IORING_OP_READV, op);
    entry.addr = reinterpret_cast<std::uintptr_t>(piece.vector);
    entry.len = static_cast<unsigned>(piece.vector_size);
  }

  // Each write of the kernel's follows its read, as ours does.
  static std::uint8_t kernel_opcode(unsigned read, opcode op) noexcept {
    static_assert(IORING_OP_WRITE == IORING_OP_READ + 1 && IORING_OP_WRITEV == IORING_OP_READV + 1);
    static_assert(static_cast<unsigned>(opcode::read) == 0 && static_cast<unsigned>(opcode::write) == 1);
    return static_cast<std::uint8_t>(read + static_cast<unsigned>(op));
  }

  static void prepare_sync(io_uring_sqe& entry, sync_kind kind) noexcept {
    entry.opcode = IORING_OP_FSYNC;
    // Data and size are the same to Linux: see platform::sync.
    entry.fsync_flags = kind == sync_kind::everything ? 0 : IORING_FSYNC_DATASYNC;
  }

  void push_to_backlog(request& r) noexcept {
    backlog_.push(r);
    r.queued = true;
    call_attention();
  }

  void push_backlog() noexcept {
    while (!backlog_.empty() && places_ != 0) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) return;
      request& r = *backlog_.pop();
      r.queued = false;
      --elsewhere_;
      hand_over(*entry, r);
    }
  }

  void push_cancels() noexcept {
    while (!cancels_.empty()) {
      io_uring_sqe* const entry = next_entry();
      if (entry == nullptr) return;
      request& r = *cancels_.pop();
      r.queued = false;
      entry->opcode = IORING_OP_ASYNC_CANCEL;
      entry->fd = -1;
      entry->addr = reinterpret_cast<std::uintptr_t>(&r);
      entry->user_data = cancel_tag;
    }
  }

  void listen_for_wake() noexcept {
    io_uring_sqe* const entry = next_entry();
    listening_ = entry != nullptr;
    if (!listening_) return;
    entry->opcode = IORING_OP_POLL_ADD;
    entry->fd = wake_event_;
    // The kernel takes two 16-bit halves, the lower first.
    entry->poll32_events = std::endian::native == std::endian::little ? POLLIN : unsigned{POLLIN} << 16;
    entry->user_data = wake_tag;
  }

  // --- polling ---

  /// False where that cannot be, or there is no place: then the ordinary ring serves as well.
  [[gnu::noinline]] bool submit_polled(request& r) noexcept {
    if (!r.activity->is_polled(r.op)) return false;
    if (r.io.total() > most_polled_bytes || r.io.next().vector != nullptr) return false;
    io_uring_sqe* const entry = polled_.next_entry();
    if (entry == nullptr) return false;
    ++elsewhere_;
    r.in_polled_ring = true;
    prepare(*entry, r);
    entry->fd = r.handle;
    return true;
  }

  /// What is polled is over only when somebody asks: while there is any, nobody may sleep in the ordinary ring, so the
  /// two are looked at in turns. Where nothing can come but what is polled, the kernel is left to ask until it does.
  [[gnu::noinline]] wait_limit poll(completed_requests& completed, wait_limit limit) noexcept {
    const bool alone = places_ == all_places_ && elsewhere_ == polled_.in_flight();
    check(polled_.ask(alone && limit.is_unlimited()));
    polled_.take_completions([&](const io_uring_cqe& completion) {
      take_polled(*reinterpret_cast<request*>(static_cast<std::uintptr_t>(completion.user_data)), completion.res,
                  completed);
    });
    return wait_limit::none();
  }

  void take_polled(request& r, int answer, completed_requests& completed) noexcept {
    r.in_polled_ring = false;
    // The device that answered when the file was opened does so no more, or has no room: the ordinary ring it is.
    const bool refused = answer == -EOPNOTSUPP || answer == -EAGAIN;
    if (answer == -EOPNOTSUPP) r.activity->polled = 0;
    if (refused && r.cancel_requested.load(std::memory_order_relaxed))
      r.fail_as_cancelled();
    else if (refused || (!r.io.is_finished_by(answer) && !is_over(r, answer)))
      return push_to_backlog(r);
    ++r.activity->statistics.served_by_ring;
    r.activity->statistics.polled += !refused;
    finish_elsewhere(r, completed);
  }

  // --- waiting awake ---

  [[gnu::noinline]] void wait_by_policy(completed_requests& completed, wait_limit limit) noexcept {
    using clock = detail::waiting::clock;
    const bool reads = latest_ == opcode::read;
    const bool is_quick = places_ != all_places_ && slow_ == 0;
    const detail::waiting::plan plan = is_quick ? waiting_.next(reads) : detail::waiting::plan();
    const auto start = clock::now();
    const bool naps = plan.nap.count() != 0 && start + plan.nap < limit.time;
    if (plan.is_asleep()) {
      fall_asleep(limit);
    } else {
      const bool came = naps && nap(plan.nap, completed);
      if (!came && !watch(detail::lesser_of(start + plan.awake, limit.time))) enter_until(limit);
    }
    take_completions(completed);
    if (is_quick) waiting_.learn(reads, clock::now() - start, naps);
  }

  /// Sleeps in the kernel. True if something came meanwhile, besides the end of the nap. By an entry of its own, since
  /// the timeouts of io_uring_enter may come late by the timer slack of the thread, 50 µs.
  bool nap(std::chrono::nanoseconds time, completed_requests& completed) noexcept {
    io_uring_sqe* const entry = ring_.next_entry();
    if (entry == nullptr) return false;
    nap_time_ = {0, time.count()};
    entry->opcode = IORING_OP_TIMEOUT;
    entry->fd = -1;
    entry->addr = reinterpret_cast<std::uintptr_t>(&nap_time_);
    entry->len = 1;
    entry->off = 1;  // over as well when one other completion has come
    entry->user_data = nap_tag;
    waiting_.napped();
    const std::size_t free = places_;
    check(ring_.enter(1));
    take_completions(completed);
    return places_ != free || needs_attention();
  }

  /// Hands over what was submitted and watches the completion queue. False if nothing had come by `end`.
  bool watch(detail::waiting::clock::time_point end) noexcept {
    constexpr int looks_a_clock_reading = 32;
    if (ring_.pending() != 0) check(ring_.enter(0));
    do {
      for (int look = 0; look < looks_a_clock_reading; ++look) {
        if (ring_.has_completions()) {
          waiting_.was_awake();
          return true;
        }
        if (ring_.has_deferred())
          check(ring_.enter(0));
        else
          platform::relax();
      }
    } while (detail::waiting::clock::now() < end);
    waiting_.was_awake_in_vain();
    return false;
  }

  // What completes in a kernel thread that needs a processor, perhaps the one that a wait awake would hold.
  static bool is_slow(const request& r) noexcept {
    return r.op == opcode::sync || (r.op == opcode::write && r.activity->writes_durably);
  }

  // --- from the kernel ---

  void fall_asleep(wait_limit limit) noexcept {
    waiting_.slept();
    enter_until(limit);
  }

  void enter_until(wait_limit limit) noexcept {
    if (limit.is_unlimited()) [[likely]]
      return check(ring_.enter(1));
    enter_until(limit.time);
  }

  [[gnu::noinline]] void enter_until(wait_limit::time_point time) noexcept {
    const auto left = detail::greater_of(std::chrono::nanoseconds(0),
                                         std::chrono::nanoseconds(time - std::chrono::steady_clock::now()));
    const __kernel_timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    check(ring_.enter(1, &timeout));
  }

  static void check(int answer) noexcept {
    if (answer < 0) [[unlikely]]
      look_at_failure(-answer);
  }

  [[gnu::cold, gnu::noinline]] static void look_at_failure(int code) noexcept {
    const bool passes = code == EINTR || code == ETIME || code == EAGAIN || code == EBUSY;
    if (!passes) fail(std::strerror(code));
  }

  // Nothing in flight could ever complete, and its memory never be given back.
  [[noreturn, gnu::cold]] static void fail(const char* why) noexcept {
    std::fprintf(stderr, "qio: io_uring: %s\n", why);
    std::abort();
  }

  void take_completions(completed_requests& completed) noexcept {
    bool woken = false;
    ring_.take_completions([&](const io_uring_cqe& completion) {
      if ((completion.user_data & 1) == 0)
        take(*reinterpret_cast<request*>(static_cast<std::uintptr_t>(completion.user_data)), completion.res, completed);
      else
        woken |= completion.user_data == wake_tag;
    });
    if (woken) [[unlikely]]
      was_woken(completed);
  }

  void take(request& r, int answer, completed_requests& completed) noexcept {
    ++places_;
    if (may_be_awake_) [[unlikely]]
      slow_ -= is_slow(r);
    if (!r.io.is_finished_by(answer) && !is_over(r, answer)) [[unlikely]]
      return take_up_again(r);
    if (r.queued) [[unlikely]]
      withdraw_cancel(r);
    ++r.activity->statistics.served_by_ring;
    detail::complete(r, completed);
  }

  [[gnu::cold, gnu::noinline]] void take_up_again(request& r) noexcept {
    ++elsewhere_;
    push_to_backlog(r);
  }

  void withdraw_cancel(request& r) noexcept {
    cancels_.remove(r);
    r.queued = false;
  }

  [[gnu::noinline]] static bool is_over(request& r, int answer) noexcept {
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
      r.failure = platform::system_error(-answer);
      r.activity->sync_failure.note(r.failure);
    }
    return true;
  }

  [[gnu::cold, gnu::noinline]] void was_woken(completed_requests& completed) noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(wake_event_, &count, sizeof count);
    listening_ = false;
    call_attention();
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

  detail::ring ring_;
  detail::polled_ring polled_;
  detail::registered_memory memory_;
  detail::registered_files files_;
  unsigned straight_ = 0;       // a bit for each opcode that goes straight into the ring: see call_attention()
  std::size_t places_ = 0;      // for requests in the ring, so that completions cannot overflow …
  std::size_t all_places_ = 0;  // … taken or not
  bool begun_ = false;
  bool listening_ = false;  // for wake_event_
  bool may_be_awake_;
  opcode latest_ = opcode::read;  // handed over; where it matters, as the next
  std::size_t slow_ = 0;          // requests in the ring that are to be waited for asleep
  detail::waiting waiting_;
  __kernel_timespec nap_time_{};  // the kernel reads it when it takes the entry, which may be later than it is asked to
  detail::ring_setup setup_;
  int wake_event_ = -1;
  std::uint64_t owner_ = 0;             // the thread that the ring is bound to
  std::size_t elsewhere_ = 0;           // requests polled, in the lists below, or with the workers
  detail::queue<request> backlog_;      // waiting for a place in the ring
  detail::queue<request> cancelled_;    // ended in the backlog
  detail::queue<request> cancels_;      // in the ring, and to be cancelled when there is a place
  detail::arrivals<request> arrivals_;  // completed by workers
  detail::workers workers_;             // last: its threads use the above
};

static_assert(engine<uring>);

}  // namespace qio
