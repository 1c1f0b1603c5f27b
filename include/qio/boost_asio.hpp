// SPDX-License-Identifier: BSL-1.0
// A context inside a boost::asio::io_context: qio's operations as asynchronous operations of Boost.Asio, 1.74 or later.
#pragma once

#include <qio/asio/context.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>

#if !__has_include(<boost/asio/io_context.hpp>)
#error "qio/boost_asio.hpp needs Boost.Asio 1.74 or later"
#endif
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/version.hpp>
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/associated_cancellation_slot.hpp>
#endif
#if BOOST_ASIO_VERSION >= 102400
#include <boost/asio/recycling_allocator.hpp>
#endif
#include <boost/system/error_code.hpp>

#include <memory>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

#if defined(__GNUC__)  // the destructor of the base class is not virtual, but protected
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif
/// The codes of qio, for Boost.System. They have the numbers, the messages and the conditions of qio's own category.
class boost_category final : public boost::system::error_category {
 public:
  boost_category() noexcept = default;
  const char* name() const noexcept override { return "qio"; }
  std::string message(int value) const override { return std::error_code(static_cast<errc>(value)).message(); }
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    const std::error_condition condition = std::error_code(static_cast<errc>(value)).default_error_condition();
    if (condition.category() == std::generic_category()) return {condition.value(), boost::system::generic_category()};
    return {value, *this};
  }

  static const boost_category& instance() noexcept {
    static const boost_category only;
    return only;
  }
};
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/// Boost.Asio, as the adapter uses it.
struct boost_asio {
  using io_context = ::boost::asio::io_context;
  using execution_context = ::boost::asio::execution_context;
  using wake_descriptor = ::boost::asio::posix::stream_descriptor;
  using steady_timer = ::boost::asio::steady_timer;
  using mutable_buffer = ::boost::asio::mutable_buffer;
  using const_buffer = ::boost::asio::const_buffer;
  using error_code = ::boost::system::error_code;
  using default_token = ::boost::asio::default_completion_token_t<io_context::executor_type>;

  // Memory that Asio keeps for its own operations, unless the handler has an allocator.
#if BOOST_ASIO_VERSION >= 102400
  using default_allocator = ::boost::asio::recycling_allocator<void>;
#else
  using default_allocator = std::allocator<void>;
#endif
  template <class Handler>
  using allocator_of = ::boost::asio::associated_allocator_t<Handler, default_allocator>;
  template <class Handler>
  using executor_of = ::boost::asio::associated_executor_t<Handler, io_context::executor_type>;
  template <class Executor>
  using work_guard = ::boost::asio::executor_work_guard<Executor>;

  template <class Handler>
  static allocator_of<Handler> allocator(const Handler& handler) noexcept {
    return ::boost::asio::get_associated_allocator(handler, default_allocator());
  }
  template <class Handler>
  static executor_of<Handler> executor(const Handler& handler, const io_context::executor_type& otherwise) noexcept {
    return ::boost::asio::get_associated_executor(handler, otherwise);
  }

  template <class Signature, class Initiation, class Token, class... Arguments>
  static auto async_initiate(Initiation&& initiation, Token& token, Arguments&&... arguments) {
    return ::boost::asio::async_initiate<Token, Signature>(std::forward<Initiation>(initiation), token,
                                                           std::forward<Arguments>(arguments)...);
  }
  template <class Executor, class Function>
  static void post(const Executor& executor, Function&& function) {
    ::boost::asio::post(executor, std::forward<Function>(function));
  }
  template <class Executor, class Function>
  static void dispatch(const Executor& executor, Function&& function) {
    ::boost::asio::dispatch(executor, std::forward<Function>(function));
  }
  template <class Service>
  static Service& use_service(execution_context& in) {
    return ::boost::asio::use_service<Service>(in);
  }

  /// Waits until the descriptor is readable.
  template <class Handler>
  static void wait(wake_descriptor& descriptor, Handler&& handler) {
    descriptor.async_wait(wake_descriptor::wait_read, std::forward<Handler>(handler));
  }
  /// The descriptor belongs to the context: Asio must not close it.
  static void release(wake_descriptor& descriptor) { descriptor.release(); }

#if BOOST_ASIO_VERSION >= 101900
  /// Has a cancellation that is requested call what `make()` returns.
  template <class Handler, class Make>
  static void listen(const Handler& handler, Make&& make) {
    auto slot = ::boost::asio::get_associated_cancellation_slot(handler);
    if (!slot.is_connected()) return;
    slot.assign([cancel = make()](::boost::asio::cancellation_type kind) {
      using type = ::boost::asio::cancellation_type;
      if ((kind & (type::terminal | type::partial)) != type::none) cancel();
    });
  }
  template <class Handler>
  static void stop_listening(const Handler& handler) {
    auto slot = ::boost::asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.clear();
  }
#else
  template <class Handler, class Make>
  static void listen(const Handler&, Make&&) noexcept {}
  template <class Handler>
  static void stop_listening(const Handler&) noexcept {}
#endif

  /// A code of a category that is neither the system's nor qio's keeps its number and loses its name.
  static error_code code_of(const std::error_code& code) noexcept {
    if (is_same_code(code, std::make_error_code(std::errc::operation_canceled)))
      return ::boost::asio::error::operation_aborted;
    if (is_same_code(code, std::make_error_code(std::errc::timed_out))) return ::boost::asio::error::timed_out;
    const std::error_category& category = code.category();
    if (identified_category::is_same(category, platform::system_category()))
      return {code.value(), ::boost::system::system_category()};
    if (identified_category::is_same(category, std::generic_category()))
      return {code.value(), ::boost::system::generic_category()};
    return {code.value(), boost_category::instance()};
  }
};

}  // namespace detail

/// A qio::context that runs inside a boost::asio::io_context: see basic_asio_context.
using boost_asio_context = basic_asio_context<detail::boost_asio>;

/// Whether a code that an operation of a boost_asio_context completed with is that of qio.
inline bool operator==(const boost::system::error_code& code, errc value) noexcept {
  return code.category() == detail::boost_category::instance() && code.value() == static_cast<int>(value);
}

QIO_END_NAMESPACE
