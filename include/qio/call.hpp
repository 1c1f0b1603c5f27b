// SPDX-License-Identifier: BSL-1.0
// async_call(): any blocking call on a worker thread, awaited as an operation.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/file/access.hpp>
#include <qio/loop/call.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>

#include <utility>

QIO_BEGIN_NAMESPACE

/// Has a worker thread of the context call `function()`, and returns an operation whose result is what that returned: a
/// result<T> as it is, a T as a result<T>, nothing as a result<void>. For blocking calls that have no asynchronous form
/// of their own:
///
///     struct statvfs room;
///     auto found = co_await qio::async_call(context, [&] { return ::statvfs("/data", &room); });
///
/// A call that has begun is not interrupted. A deadline, a stop, or the destruction of the operation takes effect
/// before it; later, the call is waited for, and a deadline or a stop changes nothing: the result is what the function
/// returned. An operation that ends before the call fails with std::errc::timed_out or std::errc::operation_canceled,
/// and the function is not called.
///
/// The function runs on another thread. It must not use the context, nor files and operations of it, but blocking
/// transfers of files are allowed. What it refers to must exist until the operation ends. It must be trivially
/// destructible: capture references and pointers, no objects (GCC 12 destroys twice what a lambda within a co_await
/// expression has captured). It must not throw, except std::bad_alloc, which becomes std::errc::not_enough_memory.
///
/// As many calls run at the same time as the context has workers (context_options::workers); others wait for one. So
/// calls that may wait forever can keep other operations from running. Starting a worker may allocate; nothing else
/// does.
///
/// On a simulated context, the thread that runs the context calls the function, and the simulated time that this takes
/// follows from the seed.
template <class Engine, class Function>
auto async_call(const basic_context<Engine>& on, Function function, const operation_options& options = {}) {
  static_assert(detail::callable_by_worker<Function>,
                "qio: the function of async_call() takes no arguments, and must be trivially destructible: capture "
                "references or pointers to larger objects, which must exist until the operation ends");
  using work = detail::call_of_context<Engine, Function>;
  auto loop = detail::file_access::loop_of(on);
  QIO_REQUIRE_AT(loop != nullptr, "async_call() was given a moved-from context", detail::caller());
  auto& target = *loop;
  return detail::call_operation<Engine, work>(
      target, [&](work& call) { call.describe(std::move(function), std::move(loop)); }, options);
}

QIO_END_NAMESPACE
