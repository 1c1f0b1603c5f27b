// SPDX-License-Identifier: BSL-1.0
// An asynchronous operation: awaited, or started with a callback.
#pragma once

#include <qio/detail/clock.hpp>
#include <qio/detail/loop.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace qio {

/// A point in time, said as one or as a duration from now. None by default.
class deadline {
 public:
  using clock = std::chrono::steady_clock;

  constexpr deadline() noexcept = default;
  constexpr deadline(clock::time_point when) noexcept : when_(when) {}
  /// A duration that no clock can add (hours::max(), say) is none, or one long past.
  template <class Representation, class Period>
  deadline(std::chrono::duration<Representation, Period> from_now) noexcept : when_(after(from_now)) {}

  constexpr bool exists() const noexcept { return when_ != clock::time_point::max(); }
  constexpr clock::time_point when() const noexcept { return when_; }

 private:
  template <class Duration>
  static clock::time_point after(Duration from_now) noexcept {
    constexpr std::chrono::duration<double> century = std::chrono::hours(24 * 36525);
    const std::chrono::duration<double> approximately = from_now;
    if (approximately > century) return clock::time_point::max();
    if (approximately < -century) return clock::time_point::min();
    return clock::now() + std::chrono::duration_cast<clock::duration>(from_now);
  }

  clock::time_point when_ = clock::time_point::max();
};

/// Refers to a stop token until the operation is made, which copies it. Trivially destructible on purpose: GCC 12
/// destroys twice what is initialised in braces within a co_await expression. Hence from named tokens only.
class stop_reference {
 public:
  constexpr stop_reference() noexcept = default;
  stop_reference(const std::stop_token& token) noexcept : token_(&token) {}
  stop_reference(const std::stop_token&&) = delete;

  std::stop_token token() const noexcept { return token_ == nullptr ? std::stop_token() : *token_; }

 private:
  const std::stop_token* token_ = nullptr;
};

/// When an operation should end though it is not finished. Ending early is a request: the answer is what really
/// happened. An operation that was finished all the same succeeds; one that was ended fails with std::errc::timed_out
/// or std::errc::operation_canceled, and error.transferred() tells what it had moved by then.
struct operation_options {
  qio::deadline deadline = {};
  stop_reference stop = {};
};

namespace detail {

/// Operations without a deadline or a stop token carry nothing for them.
class no_control {
 public:
  static constexpr bool stop_requested() noexcept { return false; }
  template <class Loop>
  void arm(Loop&, request&) noexcept {}
  template <class Loop>
  void disarm(Loop&) noexcept {}
  static constexpr bool timed_out() noexcept { return false; }
};

/// The deadline and the stop token of one operation.
template <class Loop>
class control final : deadline_timer, posted {
 public:
  explicit control(const operation_options& options) noexcept
      : deadline_(options.deadline), stop_(options.stop.token()) {}

  bool stop_requested() const noexcept { return stop_.stop_requested(); }
  bool timed_out() const noexcept { return timed_out_; }

  void arm(Loop& owner, request& r) noexcept {
    loop_ = &owner;
    request_ = &r;
    if (deadline_.exists()) {
      when = deadline_.when();
      expired = [](deadline_timer& self) noexcept { static_cast<control&>(self).expire(); };
      owner.arm(*this);
      timer_armed_ = true;
    }
    // Last: a stop that was requested already calls back from within.
    if (stop_.stop_possible()) stopper_.emplace(stop_, stop_notice{this});
  }

  void disarm(Loop& owner) noexcept {
    if (std::exchange(timer_armed_, false)) owner.disarm(*this);
    // Waits for a stop that is being requested at this moment on another thread, so nothing is posted after it.
    stopper_.reset();
    if (std::exchange(posted_, false)) owner.withdraw(*this);
  }

 private:
  // Called on the thread that requests the stop, which must not touch the engine: the loop's own thread will cancel.
  struct stop_notice {
    control* self;
    void operator()() const noexcept {
      self->posted_ = true;
      self->run = [](posted& node) noexcept {
        auto& stopped = static_cast<control&>(node);
        stopped.posted_ = false;
        stopped.loop_->cancel(*stopped.request_);
      };
      self->loop_->post(*self);
    }
  };

  void expire() noexcept {
    timer_armed_ = false;
    timed_out_ = true;
    loop_->cancel(*request_);
  }

  deadline deadline_;
  std::stop_token stop_;
  Loop* loop_ = nullptr;
  request* request_ = nullptr;
  std::optional<std::stop_callback<stop_notice>> stopper_;
  bool timer_armed_ = false;
  bool timed_out_ = false;
  bool posted_ = false;
};

}  // namespace detail

/// One operation in flight. Made by a file (`file.async_read_at(…)`), and either awaited, or started with a callback.
///
/// It lives where the caller puts it, holds no other memory, and must not move once started. It borrows the buffer
/// until it is over; the file must live until then, too. Destroying it before that cancels it and waits until the
/// system has let go of the buffer, so nothing dangles; the wait is as long as the device takes.
///
/// Used on the context's thread.
template <class Engine, class Answer, class Control = detail::no_control>
class [[nodiscard]] operation final : private request {
  static_assert(engine<Engine>);

 public:
  using result_type = result<Answer>;

  /// `describe(request&)` says what is asked. For files. Always inlined, since `describe` is known there only: its
  /// values then go straight into the request.
  template <std::invocable<request&> Describe, class... ControlArguments>
  [[gnu::always_inline]] operation(detail::loop<Engine>& loop, Describe&& describe, ControlArguments&&... control)
      : loop_(loop), control_(std::forward<ControlArguments>(control)...) {
    describe(static_cast<request&>(*this));
  }

  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  ~operation() {
    if (stage_ != stage::started) return;
    control_.disarm(loop_);
    loop_.abandon(*this);
  }

  // --- awaiting it ---

  bool await_ready() noexcept {
    settled = is_over_at_once();
    return settled && loop_.may_go_on();
  }

  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    new (&storage_) std::coroutine_handle<>(waiting);
    completed = [](request& self) noexcept {
      auto& over = static_cast<operation&>(self);
      over.end();
      std::launder(reinterpret_cast<std::coroutine_handle<>*>(&over.storage_))->resume();
    };
    begin();
  }

  result_type await_resume() noexcept { return answer(); }

  // --- or starting it ---

  /// What a callback may be: small and trivially copyable, so that it fits here; capture a pointer to what is larger.
  template <class Callback>
  static constexpr bool is_callback =
      std::invocable<Callback&, result_type> && std::is_trivially_copyable_v<Callback> &&
      sizeof(Callback) <= 4 * sizeof(void*) && alignof(Callback) <= alignof(void*);

  /// Starts it. `callback(result)` is called once, on the context's thread, from within run() or poll(), never from
  /// within start() (but for a file that has outlived its context: there nobody else could call it). It may destroy the
  /// operation, or start another one in its place; it must not throw.
  template <class Callback>
  void start(Callback callback) noexcept {
    static_assert(std::invocable<Callback&, result_type>, "qio: the callback must take the operation's result");
    static_assert(is_callback<Callback>,
                  "qio: a callback must be trivially copyable and at most four pointers in size; capture a pointer");
    new (&storage_) Callback(callback);
    completed = [](request& self) noexcept {
      auto& over = static_cast<operation&>(self);
      over.end();
      Callback copy = *std::launder(reinterpret_cast<Callback*>(&over.storage_));  // it may end the operation's life
      copy(over.answer());
    };
    settled = is_over_at_once();
    begin();
  }

  /// Asks a started operation to end early; see operation_options for what then comes of it.
  void cancel() noexcept {
    if (stage_ == stage::started) loop_.cancel(*this);
  }

 private:
  enum class stage : std::uint8_t { made, started, over };

  bool is_over_at_once() noexcept {
    if (settled || loop_.closed() || control_.stop_requested()) [[unlikely]] {
      settle();
      return true;
    }
    return loop_.try_inline(*this);
  }

  [[gnu::cold, gnu::noinline]] void settle() noexcept {
    if (settled) return;
    if (loop_.closed())
      failure = errc::context_closed;
    else
      fail_as_cancelled();
  }

  void begin() noexcept {
    stage_ = stage::started;
    if (settled) return loop_.complete_later(*this);
    loop_.submit(*this);
    control_.arm(loop_, *this);
  }

  void end() noexcept {
    stage_ = stage::over;
    control_.disarm(loop_);
  }

  result_type answer() const noexcept {
    if (failed()) {
      if (control_.timed_out() && failure == std::errc::operation_canceled)
        return error::of_transfer(std::make_error_code(std::errc::timed_out), failure.transferred());
      return failure;
    }
    if constexpr (std::is_void_v<Answer>)
      return BOOST_OUTCOME_V2_NAMESPACE::success();
    else
      return io.transferred();
  }

  detail::loop<Engine>& loop_;
  alignas(void*) std::byte storage_[4 * sizeof(void*)];  // the coroutine or the callback that waits
  stage stage_ = stage::made;
  [[no_unique_address]] Control control_;
};

}  // namespace qio
