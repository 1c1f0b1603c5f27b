// SPDX-License-Identifier: BSL-1.0
// A function that a worker thread calls, as an operation: what async_call() and the asynchronous members of files for
// everything but transfers are made of.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/loop/loop.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>

#include <atomic>
#include <concepts>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// What an operation returns for what its function returns.
template <class Returned>
struct answer_of {
  using type = result<Returned>;
  using value_type = Returned;
};
template <class Value>
struct answer_of<result<Value>> {
  using type = result<Value>;
  using value_type = Value;
};

template <class Function>
concept callable_by_worker =
    std::invocable<Function&> && std::is_trivially_destructible_v<Function> && std::move_constructible<Function>;

/// What a function calls between two pieces of its work: returns the error with which it should end, if it should.
class cancel_flag {
 public:
  explicit cancel_flag(const std::atomic<bool>& requested) noexcept : requested_(&requested) {}
  error operator()() const noexcept {
    if (!requested_->load(std::memory_order_relaxed)) return {};
    return std::make_error_code(std::errc::operation_canceled);
  }

 private:
  const std::atomic<bool>* requested_;
};

/// The same for a function that works in pieces.
template <class Function>
concept interruptible_by_worker = std::invocable<Function&, cancel_flag> &&
                                  std::is_trivially_destructible_v<Function> && std::move_constructible<Function>;

template <class Function>
struct returned_by {
  using type = std::invoke_result_t<Function&>;
};
template <interruptible_by_worker Function>
struct returned_by<Function> {
  using type = std::invoke_result_t<Function&, cancel_flag>;
};

/// A request that is carried out by calling `function()`, or `function(cancel_flag)`, on a worker thread. The function
/// and its result are in the operation, so in the caller's frame. If it has a member delivered(), that is called when
/// the program gets the result, and not if the operation is destroyed first.
template <class Function>
  requires callable_by_worker<Function> || interruptible_by_worker<Function>
class call_request : public request {
  using returned = typename returned_by<Function>::type;

 public:
  using answer_type = typename answer_of<returned>::type;
  using value_type = typename answer_of<returned>::value_type;

  void describe(Function function, platform::native_handle of, file_activity& file) noexcept {
    function_.emplace(std::move(function));
    op = opcode::call;
    handle = of;
    activity = &file;
    call = [](request& self) noexcept -> result<void> {
      auto& own = static_cast<call_request&>(self);
      own.run();
      if (!*own.answer_) return own.answer_->error();  // for the observer
      return success();
    };
  }

  /// The result, once it has completed. Without a call, because it was refused or ended before, `failure` says why.
  answer_type conclude(bool timed_out) noexcept {
    if constexpr (interruptible_by_worker<Function>)
      if (answer_ && timed_out && !*answer_ && answer_->error() == std::errc::operation_canceled)
        return error::of_transfer(std::make_error_code(std::errc::timed_out), answer_->error().transferred());
    if (answer_) {
      if constexpr (requires { function_->delivered(); }) function_->delivered();
      return *std::move(answer_);
    }
    QIO_CHECK(failed(), "bug in qio: a call completed without a result");
    if (timed_out && failure == std::errc::operation_canceled) return error(std::make_error_code(std::errc::timed_out));
    return failure;
  }

 private:
  void run() noexcept {
#if defined(__cpp_exceptions)
    try {
      store();
    } catch (const std::bad_alloc&) {
      answer_.emplace(error(std::make_error_code(std::errc::not_enough_memory)));
    }
#else
    store();
#endif
  }
  void store() {
    if constexpr (interruptible_by_worker<Function>) {
      answer_.emplace((*function_)(cancel_flag(cancel_requested)));
    } else if constexpr (std::is_void_v<returned>) {
      (*function_)();
      answer_.emplace(success());
    } else {
      answer_.emplace((*function_)());
    }
  }

  std::optional<Function> function_;
  std::optional<answer_type> answer_;
};

/// The same for a function that is not about a file of the context, and so has an activity of its own.
template <class Engine, class Function>
class call_of_context : public call_request<Function> {
 public:
  void describe(Function function, std::shared_ptr<loop<Engine>> on) noexcept {
    loop_ = std::move(on);
    call_request<Function>::describe(std::move(function), platform::invalid_handle, activity_);
  }

 private:
  std::shared_ptr<loop<Engine>> loop_;  // it may be awaited after the context has ended, and then fails
  file_activity activity_;
};

/// The operation of a call_request.
template <class Engine, class Work>
using call_operation = operation<Engine, typename Work::value_type, control<loop<Engine>, Work>, Work>;

}  // namespace detail
QIO_END_NAMESPACE
