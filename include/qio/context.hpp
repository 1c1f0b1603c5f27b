// SPDX-License-Identifier: BSL-1.0
// The event loop that asynchronous operations belong to.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/default.hpp>
#include <qio/explanation.hpp>
#include <qio/loop/loop.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/options.hpp>
#include <qio/posted_call.hpp>
#include <qio/task.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE

template <file_mode Mode, class Engine>
class basic_file;
class task_scope;

namespace detail {

struct file_access;

/// The result of schedule(). When it is awaited, the coroutine continues on the loop's thread.
template <engine Engine>
class [[nodiscard]] scheduled final : posted {
 public:
  explicit scheduled(std::shared_ptr<loop<Engine>> target) noexcept : loop_(std::move(target)) {}
  scheduled(const scheduled&) = delete;
  scheduled& operator=(const scheduled&) = delete;
  /// A coroutine that is destroyed before its turn must be destroyed on the context's thread.
  ~scheduled() {
    if (!is_posted) return;
    loop_->require_own_thread("a coroutine that awaits schedule() was destroyed by another thread than that context's");
    loop_->withdraw(*this);
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    waiting_ = waiting;
    run = [](posted& node) noexcept { static_cast<scheduled&>(node).waiting_.resume(); };
    const auto alive = loop_;  // the coroutine may be resumed, and this object be gone, before post() returns
    alive->post(*this);
  }
  bool await_resume() const noexcept { return !loop_->closed(); }

 private:
  std::shared_ptr<loop<Engine>> loop_;
  std::coroutine_handle<> waiting_;
};

}  // namespace detail

/// An event loop: carries out the operations of the files that were opened on it, and resumes the coroutines that
/// await them.
///
/// A context belongs to one thread: the first that calls run() or poll(). From then on that thread alone runs it, opens
/// files on it, and starts, cancels and destroys operations. Until then, any thread may, one at a time. Other threads
/// may call schedule() and post(), and use std::stop_source. To use several threads, give each a context of its own. A
/// context must not be run from within its own callbacks and coroutines. (The last parameter of its functions, a
/// detail::caller, is for checks, which report the place of the call. Leave it out.)
///
/// Creating a context allocates memory; running operations does not, unless one fails whose error names its file.
/// Movable; files keep working when their context is
/// moved. A moved-from context may be assigned to and destroyed; its functions that return a result fail with
/// std::errc::bad_file_descriptor, and calling any other is a failed precondition.
///
/// Destruction cancels the operations in flight, waits until the system no longer uses their memory, and completes them
/// with their real results. If anything is in flight, destroy the context on its own thread (over io_uring, another
/// thread ends the program with a message). Never destroy it from within one of its own callbacks or coroutines. If
/// another thread destroys a context over io_uring, the ring is not released until the context's own thread has ended,
/// nor are the memory and the files that the ring holds. A file may outlive its context: its blocking operations still
/// work; its asynchronous ones fail with errc::context_closed.
template <engine Engine>
class [[nodiscard]] basic_context {
 public:
  using engine_type = Engine;  ///< what carries out its operations

  /// If io_uring or the completion port is unavailable, Linux AIO carries out direct transfers, and worker threads the
  /// rest or everything; explain() says why. With engine_kind::ring, this fails with the system's error instead. Fails
  /// with std::errc::not_enough_memory if registered_bytes cannot be allocated, and throws std::bad_alloc if there is
  /// no memory for the context itself.
  static result<basic_context> create(const context_options& options = {}) {
    auto engine = Engine::create(options);
    if (!engine) return engine.error();
    std::optional<aligned_buffer> memory;
    if (options.registered_bytes != 0) {
      // Whole pages, since a child process is kept from inheriting them.
      auto allocated = aligned_buffer::allocate(options.registered_bytes,
                                                detail::greater_of(default_buffer_alignment, platform::page_size()));
      if (!allocated) return allocated.error();
      memory = std::move(allocated).value();
    }
    return basic_context(std::make_shared<detail::loop<Engine>>(std::move(engine).value(), std::move(memory), options));
  }

  /// Files, operations and tasks of the context continue to work.
  basic_context(basic_context&&) noexcept = default;
  /// The same; destroys the context that this object owned.
  basic_context& operator=(basic_context&& other) noexcept {
    basic_context taken(std::move(other));
    std::swap(loop_, taken.loop_);
    return *this;
  }
  ~basic_context() {
    if (loop_) loop_->close();
  }

  /// Runs `work` until it finishes, and everything else that is started on this context meanwhile. Rethrows an
  /// exception that leaves `work`. Waits forever if `work` waits for something that never happens.
  template <class T>
  T run(task<T> work, detail::caller from = detail::caller::here()) {
    struct finish final : detail::started::listener {
      finish() noexcept
          : listener{[](listener& self) noexcept -> std::coroutine_handle<> {
              static_cast<finish&>(self).reached = true;
              return std::noop_coroutine();
            }} {}
      bool reached = false;
    };
    detail::task_access::require_startable(work, from);
    std::optional<detail::kept<T>> value;
    session running(loop(from), from, detail::running_how::until_an_end);
    detail::started root = detail::run_into<T>(value, std::move(work));
    finish finished;
    running.begins();
    root.start(finished);
    while (!finished.reached) running.turn(true);
    root.rethrow();
    if constexpr (!std::is_void_v<T>) return std::move(*value);
  }

  /// Runs until `single`, an operation of a file of this context, has completed, and returns its result. For a blocking
  /// transfer that waits by the context's wait_policy: `context.run(file.async_read_at(offset, buffer))`. Everything
  /// else that was started here continues meanwhile.
  template <class Answer, class Control, class Work>
  result<Answer> run(operation<Engine, Answer, Control, Work>&& single, detail::caller from = detail::caller::here()) {
    if (loop_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    QIO_CHECK_AT(&single.loop_ == loop_.get(), "run() was given an operation of another context's file", from);
    session running(*loop_, from, detail::running_how::until_an_end);
    std::optional<result<Answer>> answer;
    single.start([&answer](result<Answer> given) { answer.emplace(std::move(given)); }, from);
    while (!answer) running.turn(true);
    return *std::move(answer);
  }

  /// Runs until no operation is in flight: for operations started with callbacks.
  void run(detail::caller from = detail::caller::here()) {
    const detail::loop<Engine>& own = loop(from);
    session running(loop(from), from, detail::running_how::until_an_end);
    do running.turn(!own.idle());
    while (!own.idle());
  }

  /// Does the work that is ready, without waiting; if that takes long, the rest is left to the next call. True if it
  /// resumed a coroutine or called a callback.
  bool poll(detail::caller from = detail::caller::here()) { return session(loop(from), from).turn(false); }

  /// Waits until one thing is ready, and does it: an operation that has completed (its coroutine is resumed or its
  /// callback is called), a sleep that ends, or what was posted (a posted_call, a coroutine that awaits schedule(), a
  /// stop request). True if there was one; false if `until` passed first. With a deadline that has passed, it looks
  /// once, without waiting. Without a deadline, it waits forever if nothing happens. Each call is a piece of a turn of
  /// run() or poll(), so what is ready again and again keeps nothing else waiting for longer than a turn.
  bool run_one(deadline until = {}, detail::caller from = detail::caller::here()) {
    session running(loop(from), from);
    return running.one(until.exists() ? wait_limit::until(until.when()) : wait_limit::unlimited());
  }

  /// Awaited on the context's thread: the coroutine continues in run() or poll() once the clock of the engine has
  /// reached `time`; at once if it has already, unless this turn has no time left: then after the others. That clock is
  /// std::chrono::steady_clock, or simulated time. co_await returns a result<void>: errc::context_closed if the context
  /// ends first. A sleeping coroutine is not an operation in flight, so run() without a task does not wait for it.
  /// Allocates nothing.
  [[nodiscard]] detail::sleeping<detail::loop<Engine>> sleep_until(detail::clock::time_point time) const noexcept {
    static_cast<void>(loop());
    return {loop_, time};
  }

  /// The same, `time` from now. More than a century is forever.
  template <class Representation, class Period>
  [[nodiscard]] detail::sleeping<detail::loop<Engine>> sleep_for(
      std::chrono::duration<Representation, Period> time) const noexcept {
    return {loop_, from_now(time)};
  }

  /// The same, but the sleep ends early, with std::errc::operation_canceled, when a stop is requested, by any thread.
  /// If it was requested before, the coroutine does not suspend. The coroutine continues on the context's thread.
  /// Allocates nothing.
  [[nodiscard]] detail::stoppable_sleeping<detail::loop<Engine>> sleep_until(
      detail::clock::time_point time, const std::stop_token& stop) const noexcept {
    static_cast<void>(loop());
    return {loop_, time, stop};
  }
  /// The same, `time` from now.
  template <class Representation, class Period>
  [[nodiscard]] detail::stoppable_sleeping<detail::loop<Engine>> sleep_for(
      std::chrono::duration<Representation, Period> time, const std::stop_token& stop) const noexcept {
    return {loop_, from_now(time), stop};
  }

  /// Runs until a stop is requested, by any thread. What is in flight then stays in flight.
  void run_until(const std::stop_token& stop, detail::caller from = detail::caller::here()) {
    session running(loop(from), from, detail::running_how::until_an_end);
    const std::stop_callback on_stop(stop, [this] { loop_->wake(); });
    while (!stop.stop_requested()) running.turn(true);
  }

  /// For programs with an event loop of their own (epoll, Asio, libuv, GLib): a handle that such a loop can wait for.
  /// It is a descriptor that becomes readable, on Windows an event that becomes signaled. Wait for it like this:
  ///
  ///     if (context.prepare_to_wait())                                        // true: nothing to do now
  ///       wait_for_readable(context.wake_handle(), context.next_deadline());  // and for the program's other events
  ///     context.poll();
  ///
  /// The first call creates it; until then it costs nothing. Afterwards each completion costs the kernel a little more,
  /// because it sets the event. It may be ready although there is no work; poll() then returns at once. The handle
  /// belongs to the context and lives as long as the context: do not read, reset or close it. Level-triggered and
  /// edge-triggered waiting both work.
  ///
  /// Fails with errc::no_wake_handle if the context polls (context_options::polling) or its engine has no such handle
  /// (completion ports, simulation), with std::errc::bad_file_descriptor after a move, or with the system's error. Call
  /// it on the context's thread.
  result<platform::native_handle> wake_handle(detail::caller from = detail::caller::here()) {
    if (loop_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    return loop_->wake_handle(from);
  }

  /// Submits what has been started, and resets wake_handle(). True if poll() would find nothing to do before the handle
  /// is ready or next_deadline() has passed, so that the program may wait for these. False if poll() has work now; then
  /// waiting could take forever. Call it after wake_handle(), on the context's thread, not from a callback or coroutine
  /// of the context.
  bool prepare_to_wait(detail::caller from = detail::caller::here()) {
    return session(loop(from), from).prepare_to_wait();
  }

  /// When poll() must be called at the latest: the earliest deadline of the operations in flight (operation_options)
  /// and of the coroutines that sleep. None if there is none. Call it on the context's thread.
  deadline next_deadline(detail::caller from = detail::caller::here()) const noexcept {
    return loop(from).next_deadline(from);
  }

  /// May be awaited on any thread. The coroutine continues inside this context's run() or poll(); the context must
  /// still exist then. A task that is awaited there returns to the context that started it when it finishes: see task.
  /// The result of co_await is true. If the context is being destroyed, the coroutine continues inside the destructor,
  /// and the result is false. The destructor waits for the coroutines that await schedule(), so one that awaits it
  /// again and again must end then: `while (co_await context.schedule()) ...`.
  [[nodiscard]] detail::scheduled<Engine> schedule(detail::caller from = detail::caller::here()) const noexcept {
    static_cast<void>(loop(from));
    return detail::scheduled<Engine>(loop_);
  }

  /// Has the context's thread call `call`, inside run() or poll(). Returns true, or false without any effect if `call`
  /// is pending already, on this context or another. Any thread may post, as long as the context exists. Allocates
  /// nothing. The destructor of the context calls what is pending; it refuses what these callbacks post (false), so
  /// that it ends.
  bool post(posted_call& call, detail::caller from = detail::caller::here()) const noexcept {
    static_cast<void>(loop(from));
    const auto alive = loop_;  // the callback may have the context destroyed before this function returns
    if (detail::running_loop == alive->number() && alive->closed()) [[unlikely]]
      return false;
    return call.post_to(*alive);
  }

  /// Memory for the transfers of this context's files: context_options::registered_bytes, rounded up to whole pages,
  /// and aligned to them; empty if none was requested. It lives as long as the context. The caller decides who uses
  /// which part of it. Uninitialized.
  ///
  /// Any transfer may use it. A transfer of a single buffer in it (and within one of its pieces of 1 GiB) costs
  /// io_uring less, above all for direct files: the kernel has pinned the pages already, instead of pinning them for
  /// each transfer. The memory counts as locked (RLIMIT_MEMLOCK, unless the process has CAP_IPC_LOCK), twice if the
  /// context polls. If the kernel refuses to register it, or the engine is not io_uring, it is ordinary memory, and
  /// explain() reports why ("registered memory"). Child processes do not inherit registered memory.
  std::span<std::byte> registered_memory(detail::caller from = detail::caller::here()) noexcept {
    return loop(from).memory();
  }

  /// Whether `single` is an operation of a file of this context.
  template <class Answer, class Control, class Work>
  bool owns(const operation<Engine, Answer, Control, Work>& single) const noexcept {
    return &single.loop_ == loop_.get();
  }

  /// How often a context over io_uring waited asleep and awake: see wait_policy. With another engine, all are zero.
  /// Call it on the context's thread.
  wait_statistics waits(detail::caller from = detail::caller::here()) const noexcept {
    return loop(from).engine().waits();
  }

  /// How long what was due had to wait for the context's thread, since the context was created: the turns of run() and
  /// poll() that found something late, and the cause of the longest wait. It costs one reading of the clock in a turn
  /// that may delay something, and another for what is posted. Over a completion port, operations that have completed
  /// do not count. Call it on the context's thread. Allocates if the path of the file is longer than a string holds.
  stall_statistics stalls(detail::caller from = detail::caller::here()) const { return loop(from).stalls(); }

  /// The engine in use, its features, and why others are unavailable. Allocates.
  explanation explain(detail::caller from = detail::caller::here()) const {
    explanation out;
    loop(from).explain(out);
    return out;
  }

 private:
  template <file_mode, class>
  friend class basic_file;
  friend class task_scope;
  friend detail::file_access;

  using session = typename detail::loop<Engine>::session;

  explicit basic_context(std::shared_ptr<detail::loop<Engine>> loop) noexcept : loop_(std::move(loop)) {}

  template <class Duration>
  detail::clock::time_point from_now(Duration time) const noexcept {
    const std::chrono::duration<double> approximately = time;
    const auto now = loop().now();
    // Also if it is not a number.
    if (!(approximately <= std::chrono::duration<double>(detail::longest_wait)))
      return (detail::clock::time_point::max)();
    if (approximately <= std::chrono::duration<double>::zero()) return now;
    return now + std::chrono::duration_cast<detail::clock::duration>(time);
  }

  std::shared_ptr<detail::mailbox> shared_loop() const noexcept {
    static_cast<void>(loop());
    return loop_;
  }

  detail::loop<Engine>& loop([[maybe_unused]] detail::caller from = {}) const noexcept {
    QIO_CHECK_AT(loop_ != nullptr, "a moved-from context was used", from);
    return *loop_;
  }

  std::shared_ptr<detail::loop<Engine>> loop_;
};

/// Uses io_uring or a completion port where it is available, otherwise Linux AIO or worker threads: see
/// context_options::engine.
using context = basic_context<default_engine>;

QIO_END_NAMESPACE
