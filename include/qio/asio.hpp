// SPDX-License-Identifier: BSL-1.0
// A context inside an asio::io_context: qio's operations as asynchronous operations of Asio, 1.18 or later.
#pragma once

#include <qio/asio/context.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>

#if !__has_include(<asio/io_context.hpp>)
#error "qio/asio.hpp needs Asio 1.18 or later; for Boost.Asio, include qio/boost_asio.hpp"
#endif
#include <asio/associated_allocator.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/buffer.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/version.hpp>
#if ASIO_VERSION >= 101900
#include <asio/associated_cancellation_slot.hpp>
#endif
#if ASIO_VERSION >= 102400
#include <asio/recycling_allocator.hpp>
#endif

#include <memory>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Asio, as the adapter uses it.
struct standalone_asio {
  using io_context = ::asio::io_context;
  using execution_context = ::asio::execution_context;
  using wake_descriptor = ::asio::posix::stream_descriptor;
  using steady_timer = ::asio::steady_timer;
  using mutable_buffer = ::asio::mutable_buffer;
  using const_buffer = ::asio::const_buffer;
  using error_code = ::asio::error_code;
  using default_token = ::asio::default_completion_token_t<io_context::executor_type>;

  // Memory that Asio keeps for its own operations, unless the handler has an allocator.
#if ASIO_VERSION >= 102400
  using default_allocator = ::asio::recycling_allocator<void>;
#else
  using default_allocator = std::allocator<void>;
#endif
  template <class Handler>
  using allocator_of = ::asio::associated_allocator_t<Handler, default_allocator>;
  template <class Handler>
  using executor_of = ::asio::associated_executor_t<Handler, io_context::executor_type>;
  template <class Executor>
  using work_guard = ::asio::executor_work_guard<Executor>;

  template <class Handler>
  static allocator_of<Handler> allocator(const Handler& handler) noexcept {
    return ::asio::get_associated_allocator(handler, default_allocator());
  }
  template <class Handler>
  static executor_of<Handler> executor(const Handler& handler, const io_context::executor_type& otherwise) noexcept {
    return ::asio::get_associated_executor(handler, otherwise);
  }

  template <class Signature, class Initiation, class Token, class... Arguments>
  static auto async_initiate(Initiation&& initiation, Token& token, Arguments&&... arguments) {
    return ::asio::async_initiate<Token, Signature>(std::forward<Initiation>(initiation), token,
                                                    std::forward<Arguments>(arguments)...);
  }
  template <class Executor, class Function>
  static void post(const Executor& executor, Function&& function) {
    ::asio::post(executor, std::forward<Function>(function));
  }
  template <class Executor, class Function>
  static void dispatch(const Executor& executor, Function&& function) {
    ::asio::dispatch(executor, std::forward<Function>(function));
  }
  template <class Service>
  static Service& use_service(execution_context& in) {
    return ::asio::use_service<Service>(in);
  }

  /// Waits until the descriptor is readable.
  template <class Handler>
  static void wait(wake_descriptor& descriptor, Handler&& handler) {
    descriptor.async_wait(wake_descriptor::wait_read, std::forward<Handler>(handler));
  }
  /// The descriptor belongs to the context: Asio must not close it.
  static void release(wake_descriptor& descriptor) { descriptor.release(); }

#if ASIO_VERSION >= 101900
  /// Has a cancellation that is requested call what `make()` returns.
  template <class Handler, class Make>
  static void listen(const Handler& handler, Make&& make) {
    auto slot = ::asio::get_associated_cancellation_slot(handler);
    if (!slot.is_connected()) return;
    slot.assign([cancel = make()](::asio::cancellation_type kind) {
      using type = ::asio::cancellation_type;
      if ((kind & (type::terminal | type::partial)) != type::none) cancel();
    });
  }
  template <class Handler>
  static void stop_listening(const Handler& handler) {
    auto slot = ::asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.clear();
  }
#else
  template <class Handler, class Make>
  static void listen(const Handler&, Make&&) noexcept {}
  template <class Handler>
  static void stop_listening(const Handler&) noexcept {}
#endif

  static error_code code_of(const std::error_code& code) noexcept {
    if (is_same_code(code, std::make_error_code(std::errc::operation_canceled)))
      return ::asio::error::operation_aborted;
    if (is_same_code(code, std::make_error_code(std::errc::timed_out))) return ::asio::error::timed_out;
    return code;
  }
};

}  // namespace detail

/// A qio::context that runs inside an asio::io_context: see basic_asio_context.
using asio_context = basic_asio_context<detail::standalone_asio>;

QIO_END_NAMESPACE
