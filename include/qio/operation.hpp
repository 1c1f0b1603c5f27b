// SPDX-License-Identifier: BSL-1.0
// An asynchronous operation: awaited, or started with a callback.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/loop.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

template <engine Engine>
class basic_context;

namespace detail {

/// Work whose result is more than its failure and the bytes transferred.
template <class Work>
concept concludes_itself = requires(Work& work) { work.conclude(true); };

}  // namespace detail

/// One asynchronous operation. A file makes it (`file.async_read_at(...)`); it is then awaited, or started with a
/// callback, once. To start another in the same place, use an operation_slot.
///
/// It lives where the caller puts it, allocates nothing, and cannot move. It borrows the buffer until it completes.
/// Closing or destroying the file ends the operation. Destroying a started operation cancels it and waits until the
/// system no longer uses the buffer, for as long as the device takes. Its callback is then not called, and its
/// coroutine not resumed.
///
/// Belongs to the context's thread or, before the context first runs, to any one thread. `Work` is detail::batch for
/// async_read_many() and async_write_many(), whose operations borrow the requests as well; those of bounced(), and
/// calls on worker threads, have types of their own.
template <class Engine, class Answer, class Control = detail::no_control, class Work = request>
class [[nodiscard]] QIO_WARN_UNUSED operation final : private Work {
  static_assert(engine<Engine>);

 public:
  using result_type = result<Answer>;  ///< what awaiting it returns, and what a callback is given

  /// For files: `describe(Work&)` fills in the request. Always inlined, so that its values go straight there.
  template <std::invocable<Work&> Describe, class... ControlArguments>
  QIO_ALWAYS_INLINE operation(detail::loop<Engine>& loop, Describe&& describe, ControlArguments&&... control)
      : loop_(loop), control_(std::forward<ControlArguments>(control)...) {
    describe(static_cast<Work&>(*this));
  }

  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  ~operation() {
    if (stage_ != stage::started) return;
    if constexpr (has_control) control_.disarm(loop_);
    loop_.abandon(static_cast<Work&>(*this));
  }

  // --- awaiting it ---

  bool await_ready(detail::caller from = detail::caller::here()) noexcept {
    QIO_CHECK_AT(stage_ == stage::made, "an operation was awaited that has already been started or awaited", from);
    if (!loop_.closed())
      loop_.require_running(
          "an operation was awaited inside another context's run(), and nothing runs its own context meanwhile: run "
          "that on a thread of its own, and co_await its schedule() first",
          from);
    needs_no_engine = completes_at_once(from);
    return needs_no_engine && loop_.may_go_on();
  }

  QIO_ALWAYS_INLINE_BY_GCC void await_suspend(std::coroutine_handle<> waiting) noexcept {
    new (&storage_) std::coroutine_handle<>(waiting);
    completed = [](request& self) noexcept {
      auto& done = static_cast<operation&>(self);
      done.stage_ = stage::completed;
      if constexpr (has_control) done.control_.disarm(done.loop_);
      std::launder(reinterpret_cast<std::coroutine_handle<>*>(&done.storage_))->resume();
    };
    begin();
  }

  result_type await_resume() noexcept {
    if (QIO_CHECKS) stage_ = stage::completed;  // also of one that completed at once
    bool has_timed_out = false;
    if constexpr (has_control) has_timed_out = control_.timed_out();
    if constexpr (detail::concludes_itself<Work>) {
      return Work::conclude(has_timed_out);
    } else {
      if (failure.exists()) {
        if (has_timed_out && failure == std::errc::operation_canceled)
          return error::of_transfer(std::make_error_code(std::errc::timed_out), failure.transferred());
        return failure;
      }
      if constexpr (std::is_void_v<Answer>)
        return success();
      else
        return io.transferred();
    }
  }

  // --- or starting it ---

  /// What a callback may be: trivially copyable, at most four pointers in size; capture a pointer to larger state.
  template <class Callback>
  static constexpr bool is_callback =
      std::invocable<Callback&, result_type> && std::is_trivially_copyable_v<Callback> &&
      sizeof(Callback) <= 4 * sizeof(void*) && alignof(Callback) <= alignof(void*);

  /// Starts it. `callback(result)` is called once, on the context's thread, from within run() or poll(), never from
  /// within start() (except for a file that has outlived its context: nothing else could call it). It may destroy the
  /// operation, or start another one in its place; it must not throw. (The last parameter is for checks.)
  template <class Callback>
  void start(Callback callback, detail::caller from = detail::caller::here()) noexcept {
    static_assert(std::invocable<Callback&, result_type>, "qio: the callback must take the operation's result");
    static_assert(is_callback<Callback>,
                  "qio: a callback must be trivially copyable and at most four pointers in size; capture a pointer");
    QIO_REQUIRE_AT(stage_ == stage::made, "an operation was started that has already been started or awaited", from);
    new (&storage_) Callback(callback);
    completed = call_back<Callback>;
    needs_no_engine = completes_at_once(from);
    begin();
  }

  /// Like start(), but if the operation completes at once (a read from the page cache, say), this returns its result,
  /// and the callback is not called. For adapters to other libraries, which call back in a way of their own.
  template <class Callback>
    requires is_callback<Callback>
  std::optional<result_type> start_or_finish(Callback callback, detail::caller from = detail::caller::here()) noexcept {
    QIO_REQUIRE_AT(stage_ == stage::made, "an operation was started that has already been started or awaited", from);
    new (&storage_) Callback(callback);
    completed = call_back<Callback>;
    needs_no_engine = completes_at_once(from);
    if (needs_no_engine && loop_.may_go_on()) return await_resume();
    begin();
    return std::nullopt;
  }

  /// Asks a started operation to end early; see operation_options for what its result is then. Before the start and
  /// after completion it does nothing.
  void cancel(detail::caller from = detail::caller::here()) noexcept {
    if (stage_ != stage::started) return;
    loop_.require_own_thread("an operation was canceled by another thread than its context's: use a stop token instead",
                             from);
    loop_.cancel(static_cast<Work&>(*this));
  }

 private:
  friend class basic_context<Engine>;

  enum class stage : std::uint8_t { made, started, completed };

  // With `Work` a parameter, names of the base need a declaration.
  using Work::completed, Work::fail_as_canceled, Work::failure, Work::io, Work::needs_no_engine;

  static constexpr bool has_control = !std::is_same_v<Control, detail::no_control>;

  template <class Callback>
  static void call_back(request& self) noexcept {
    auto& done = static_cast<operation&>(self);
    done.stage_ = stage::completed;
    if constexpr (has_control) done.control_.disarm(done.loop_);
    Callback copy = *std::launder(reinterpret_cast<Callback*>(&done.storage_));  // it may destroy the operation
    copy(done.await_resume());
  }

  bool completes_at_once([[maybe_unused]] detail::caller from) noexcept {
    bool may_start = !needs_no_engine && !loop_.closed();
    if constexpr (has_control) may_start = may_start && control_.may_start(loop_);
    if (may_start) [[likely]]
      return loop_.try_inline(*this, from);
    refuse();
    return true;
  }

  QIO_COLD void refuse() noexcept {
    loop_.complete_idly();
    if (needs_no_engine) return;
    if (loop_.closed())
      failure = errc::context_closed;
    else
      fail_as_canceled();
  }

  QIO_ALWAYS_INLINE void begin() noexcept {
    stage_ = stage::started;
    if (needs_no_engine) return loop_.complete_later(*this);
    loop_.submit(static_cast<Work&>(*this));
    if constexpr (has_control) control_.arm(loop_, static_cast<Work&>(*this));
  }

  detail::loop<Engine>& loop_;
  alignas(void*) std::byte storage_[4 * sizeof(void*)];  // the coroutine or the callback that waits
  stage stage_ = stage::made;
  QIO_NO_UNIQUE_ADDRESS Control control_;
};

/// Room for operations of one type, one after another: in a class, an array, a container. An operation cannot move, so
/// emplace() takes a function that makes it, and makes it in place:
///
///     using read_operation = decltype(file.async_read_at(0, buffer));
///     qio::operation_slot<read_operation> slot;
///     slot.emplace([&] { return file.async_read_at(offset, buffer); }).start(callback);
///
/// The callback may emplace the next operation in its own slot.
///
/// To await the operation, name it first (`auto& read = slot.emplace(...); co_await read;`): GCC 12 otherwise tries to
/// copy what emplace() or operator* returns, which does not compile.
template <class Operation>
class operation_slot {
 public:
  using operation_type = Operation;  ///< what it has room for

  operation_slot() noexcept {}
  operation_slot(const operation_slot&) = delete;
  operation_slot& operator=(const operation_slot&) = delete;
  ~operation_slot() { reset(); }

  /// Destroys the operation in the slot, if any, which cancels it if it is in flight. Then constructs the one that
  /// `make()` returns.
  template <class Make>
    requires std::same_as<std::invoke_result_t<Make&>, Operation>
  Operation& emplace(Make&& make) {
    reset();
    ::new (static_cast<void*>(&operation_)) Operation(make());
    has_value_ = true;
    return operation_;
  }

  /// Destroys the operation, if there is one, which cancels it if it is in flight.
  void reset() noexcept {
    if (std::exchange(has_value_, false)) operation_.~Operation();
  }

  /// Whether it contains an operation, in whatever state.
  bool has_value() const noexcept { return has_value_; }
  /// The same.
  explicit operator bool() const noexcept { return has_value_; }

  /// The operation. Precondition: has_value().
  Operation& operator*() noexcept {
    QIO_CHECK_AT(has_value_, "an empty operation_slot was dereferenced: emplace() an operation first",
                 detail::caller());
    return operation_;
  }
  /// The same: `slot->cancel()`.
  Operation* operator->() noexcept { return &**this; }

 private:
  union {
    Operation operation_;
  };
  bool has_value_ = false;
};

QIO_END_NAMESPACE
