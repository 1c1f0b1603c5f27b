// Where a compiler keeps what await_suspend() returns in a frame that may be destroyed, it returns nothing.
#if !defined(QIO_SYMMETRIC_TRANSFER)  // as its target defines it: a compiler may also read this source by itself
#define QIO_SYMMETRIC_TRANSFER 0
#endif

#include "catch.hpp"
#include <qio/qio.hpp>
#include <qio/task_scope.hpp>
#include <qio/when_any.hpp>

#include <coroutine>
#include <type_traits>
#include <utility>

namespace {

/// What await_suspend() returns when a coroutine of this promise has finished.
template <class Promise>
using returned_at_the_end =
    decltype(std::declval<Promise&>().final_suspend().await_suspend(std::declval<std::coroutine_handle<Promise>>()));

}  // namespace

TEST_CASE("without symmetric transfer, no finished coroutine returns a handle") {
  STATIC_REQUIRE(std::is_void_v<returned_at_the_end<qio::task<int>::promise_type>>);
  STATIC_REQUIRE(std::is_void_v<returned_at_the_end<qio::task<void>::promise_type>>);
  STATIC_REQUIRE(std::is_void_v<returned_at_the_end<qio::detail::started::promise_type>>);
  STATIC_REQUIRE(std::is_void_v<decltype(qio::detail::continue_with(std::noop_coroutine()))>);
}
