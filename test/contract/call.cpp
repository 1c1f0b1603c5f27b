// Blocking calls on worker threads.
#include "world.hpp"
#include <qio/call.hpp>

#include <atomic>
#include <chrono>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace contract {

namespace {

using namespace std::chrono_literals;

template <class Where>
qio::task<void> call_each_kind(world<Where>& w) {
  int number = 6;
  const auto value = co_await qio::async_call(*w.context, [&] { return number * 7; });
  CHECK(value.value() == 42);
  const auto nothing = co_await qio::async_call(*w.context, [&] { number = 1; });
  CHECK(nothing);
  CHECK(number == 1);
  const std::string text(100, 'x');
  const auto object = co_await qio::async_call(*w.context, [&] { return text + "y"; });
  CHECK(object.value() == text + "y");
  const auto kept = co_await qio::async_call(*w.context, [&]() -> qio::result<std::string> { return text; });
  CHECK(kept.value() == text);
  const auto failed = co_await qio::async_call(
      *w.context, [&]() -> qio::result<std::string> { return qio::error(errc::offset_too_large, 7, 5); });
  CHECK(failed.error() == errc::offset_too_large);
  CHECK(failed.error().given() == 7);
}

}  // namespace

PROMISE(call_results, each_engine, "async_call() returns what the function returned, as a result") {
  w.context->run(call_each_kind(w));
}

PROMISE(call_no_memory, each_engine, "std::bad_alloc from the function of async_call() is not_enough_memory") {
  const auto answer = w.template run<void>([&] { return qio::async_call(*w.context, [] { throw std::bad_alloc(); }); });
  CHECK(answer.error() == std::errc::not_enough_memory);
}

PROMISE(call_elsewhere, each_engine_of_the_system, "async_call() calls on another thread, several at the same time") {
  // Each waits for the other. On one thread, they would wait forever.
  std::atomic<int> arrived = 0;
  const auto meet = [&] {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
    return std::this_thread::get_id();
  };
  const auto one = [&]() -> qio::task<std::thread::id> {
    const auto met = co_await qio::async_call(*w.context, meet);
    co_return met.value();
  };
  const auto [first, second] = w.context->run(qio::when_all(one(), one()));
  CHECK(first != second);
  CHECK(first != std::this_thread::get_id());
  CHECK(second != std::this_thread::get_id());
}

PROMISE(call_ended_before, each_engine,
        "a call whose deadline has passed, or whose stop is requested, does not begin") {
  int calls = 0;
  const auto late = w.template run<void>(
      [&] { return qio::async_call(*w.context, [&] { ++calls; }, {.deadline = qio::deadline::clock::time_point()}); });
  CHECK(late.error() == std::errc::timed_out);
  std::stop_source source;
  source.request_stop();
  const std::stop_token stop = source.get_token();
  const auto stopped =
      w.template run<void>([&] { return qio::async_call(*w.context, [&] { ++calls; }, {.stop = stop}); });
  CHECK(stopped.error() == std::errc::operation_canceled);
  CHECK(calls == 0);
}

PROMISE(call_waits_for_worker, each_engine_of_the_system,
        "a call that waits for a worker can be canceled, and is not called") {
  auto context = w.new_context({.workers = 1}).value();
  std::atomic<bool> may_end = false;
  int calls = 0;
  const auto first = [&]() -> qio::task<bool> {
    const auto done = co_await qio::async_call(context, [&] {
      while (!may_end) std::this_thread::yield();
    });
    co_return done.has_value();
  };
  std::stop_source source;
  const auto second = [&]() -> qio::task<bool> {
    const std::stop_token stop = source.get_token();
    const auto done = co_await qio::async_call(context, [&] { ++calls; }, {.stop = stop});
    may_end = true;
    co_return !done && done.error() == std::errc::operation_canceled;
  };
  const auto third = [&]() -> qio::task<bool> {
    source.request_stop();
    co_return true;
  };
  const auto [one, two, three] = context.run(qio::when_all(first(), second(), third()));
  CHECK((one && two && three));
  CHECK(calls == 0);
}

PROMISE(call_begun, each_engine_of_the_system,
        "a call that has begun returns its own result, whatever is requested meanwhile") {
  std::atomic<bool> has_begun = false, may_end = false;
  std::stop_source source;
  const auto caller = [&]() -> qio::task<int> {
    const std::stop_token stop = source.get_token();
    const auto done = co_await qio::async_call(*w.context,
                                               [&] {
                                                 has_begun = true;
                                                 while (!may_end) std::this_thread::yield();
                                                 return 5;
                                               },
                                               {.stop = stop});
    co_return done.value();
  };
  const auto stopper = [&]() -> qio::task<int> {
    while (!has_begun) static_cast<void>(co_await w.context->schedule());
    source.request_stop();
    static_cast<void>(co_await w.context->schedule());  // by when it has been canceled
    may_end = true;
    co_return 0;
  };
  const auto [found, nothing] = w.context->run(qio::when_all(caller(), stopper()));
  CHECK(found == 5);
  CHECK(nothing == 0);
}

PROMISE(call_destroyed, each_engine_of_the_system, "destroying a call waits until the function has returned") {
  std::atomic<bool> has_begun = false;
  bool has_ended = false;
  {
    auto call = qio::async_call(*w.context, [&] {
      has_begun = true;
      std::this_thread::sleep_for(20ms);
      has_ended = true;
    });
    call.start([](qio::result<void>) {});
    while (!has_begun) static_cast<void>(w.context->poll());
  }
  CHECK(has_ended);
}

PROMISE(call_after_context, each_engine, "a call of a context that has ended fails, and is not called") {
  int calls = 0;
  std::optional<qio::result<void>> answer;
  auto call = qio::async_call(*w.context, [&] { ++calls; });
  w.context.reset();
  call.start([&answer](qio::result<void> given) { answer = given; });
  REQUIRE(answer);
  CHECK(answer->error() == errc::context_closed);
  CHECK(calls == 0);
}

}  // namespace contract
