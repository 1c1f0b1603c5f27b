// SPDX-License-Identifier: BSL-1.0
// The run loop that asynchronous operations belong to.
#pragma once

#include <qio/buffer.hpp>
#include <qio/detail/loop.hpp>
#include <qio/engine/automatic.hpp>
#include <qio/explanation.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/task.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace qio {

template <file_mode Mode, class Engine>
class basic_file;

namespace detail {

/// What schedule() returns: waits for its turn in a loop.
template <engine Engine>
class [[nodiscard]] scheduled final : posted {
 public:
  explicit scheduled(std::shared_ptr<loop<Engine>> target) noexcept : loop_(std::move(target)) {}
  scheduled(const scheduled&) = delete;
  scheduled& operator=(const scheduled&) = delete;
  /// Of a coroutine that is destroyed before its turn: on the context's thread.
  ~scheduled() {
    if (is_waiting_) loop_->withdraw(*this);
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    waiting_ = waiting;
    is_waiting_ = true;
    run = [](posted& node) noexcept {
      auto& self = static_cast<scheduled&>(node);
      self.is_waiting_ = false;
      self.waiting_.resume();
    };
    const auto alive = loop_;  // the coroutine may be resumed, and all of this be gone, before post() returns
    alive->post(*this);
  }
  void await_resume() const noexcept {}

 private:
  std::shared_ptr<loop<Engine>> loop_;
  std::coroutine_handle<> waiting_;
  bool is_waiting_ = false;
};

}  // namespace detail

/// Carries out the operations of the files that were opened on it, and resumes who waits for them.
///
/// For one thread: the one that first calls run() or poll(), from then on. Files are opened on it, and operations
/// started, on that thread or before it. schedule() and std::stop_source may be used by any thread. Several threads use
/// a context each.
///
/// Creation allocates; running operations does not. Movable; files keep working when their context is moved.
///
/// Destruction cancels what is in flight, waits until the system has let go of its memory, and completes it, with its
/// real result: on the context's thread, if anything is in flight (using a ring from another one ends the program with
/// a message), and not from within one of its own callbacks or coroutines. By another thread than its own, a context
/// over io_uring keeps its ring, and with it memory and files that this holds, until its own thread has ended, too. A
/// file may outlive its context: its blocking operations go on working, its asynchronous ones are then refused with
/// errc::context_closed.
template <engine Engine>
class [[nodiscard]] basic_context {
 public:
  using engine_type = Engine;

  /// Fails with the system's error where the engine cannot be had; qio::context always has one: it falls back to the
  /// pool, and explain() says why. Fails with std::errc::not_enough_memory where there is none for registered_bytes.
  static result<basic_context> create(const context_options& options = {}) {
    auto engine = Engine::create(options);
    if (!engine) return engine.error();
    std::optional<aligned_buffer> memory;
    if (options.registered_bytes != 0) {
      auto allocated = aligned_buffer::allocate(options.registered_bytes);
      if (!allocated) return allocated.error();
      memory = std::move(allocated).value();
    }
    return basic_context(std::make_shared<detail::loop<Engine>>(std::move(engine).value(), std::move(memory)));
  }

  basic_context(basic_context&&) noexcept = default;
  basic_context& operator=(basic_context&& other) noexcept {
    basic_context taken(std::move(other));
    std::swap(loop_, taken.loop_);
    return *this;
  }
  ~basic_context() {
    if (loop_) loop_->close();
  }

  /// Runs `work` to its end, and with it everything else that is started on this context meanwhile. What it throws
  /// comes out. Waits for ever if `work` waits for what never comes.
  template <class T>
  T run(task<T> work) {
    struct finish final : detail::started::listener {
      finish() noexcept
          : listener{[](listener& self) noexcept -> std::coroutine_handle<> {
              static_cast<finish&>(self).reached = true;
              return std::noop_coroutine();
            }} {}
      bool reached = false;
    };
    std::optional<detail::kept<T>> value;
    detail::started root = detail::run_into<T>(value, std::move(work));
    finish finished;
    root.start(finished);
    while (!finished.reached) loop_->turn(true);
    root.rethrow();
    if constexpr (!std::is_void_v<T>) return std::move(*value);
  }

  /// Carries out one operation of a file on this context: a blocking transfer, say, that waits as the context does
  /// (wait_policy), `context.run(file.async_read_at(offset, buffer))`. Everything else that is started here goes on
  /// meanwhile.
  template <class Answer, class Control>
  result<Answer> run(operation<Engine, Answer, Control>&& single) {
    std::optional<result<Answer>> answer;
    single.start([&answer](result<Answer> told) { answer.emplace(std::move(told)); });
    while (!answer) loop_->turn(true);
    return *std::move(answer);
  }

  /// Runs until no operation is in flight: for operations started with callbacks.
  void run() {
    do loop_->turn(!loop_->idle());
    while (!loop_->idle());
  }

  /// Does what can be done without waiting. True if it resumed a coroutine or called a callback.
  bool poll() { return loop_->turn(false); }

  /// Awaited, from any thread: the coroutine goes on inside this context's run(). The context must still exist then.
  [[nodiscard]] detail::scheduled<Engine> schedule() const noexcept { return detail::scheduled<Engine>(loop_); }

  /// Memory for the transfers of this context's files, of context_options::registered_bytes, rounded up to a multiple
  /// of default_buffer_alignment; empty if none was asked for. Lives as long as the context; who uses which part of it
  /// is the caller's affair. Uninitialised.
  ///
  /// It serves every transfer. Those that go through io_uring, of one buffer that lies in it (and within one of its
  /// pieces of 1 GiB), cost the kernel less, of direct files above all: it holds the pages already, instead of pinning
  /// them for each transfer. That is locked memory (RLIMIT_MEMLOCK, unless the process has CAP_IPC_LOCK), twice as much
  /// where the context polls. Where the kernel does not take it, or the engine is another one, it is memory like any
  /// other, and explain() says why ("registered memory"). A child process does not have it.
  std::span<std::byte> registered_memory() noexcept { return loop_->memory(); }

  /// How often it waited asleep and awake: see wait_policy. Of a context on a ring; else all zero. On the context's
  /// thread.
  wait_statistics waits() const noexcept
    requires requires(const Engine& engine) { engine.waits(); }
  {
    return loop_->engine().waits();
  }

  /// Which engine serves, with which features, and why not with others.
  explanation explain() const {
    explanation out;
    loop_->explain(out);
    return out;
  }

 private:
  template <file_mode, class>
  friend class basic_file;
  template <class OtherEngine>
  friend task<result<void>> async_sync_directory(const basic_context<OtherEngine>&, std::string);

  explicit basic_context(std::shared_ptr<detail::loop<Engine>> loop) noexcept : loop_(std::move(loop)) {}

  std::shared_ptr<detail::loop<Engine>> loop_;
};

/// io_uring where it can be had, else worker threads.
using context = basic_context<automatic>;

}  // namespace qio
