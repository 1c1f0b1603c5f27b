// A context inside another event loop; run_one() and run_until().
#include "reader.hpp"

#include <chrono>
#include <cstdlib>
#include <deque>
#include <stop_token>
#include <thread>

namespace contract {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Only a test that fails waits for it.
constexpr milliseconds long_enough(60'000);

/// One round of a program's own event loop in which the context is the only source of events.
template <class Context>
void one_round(Context& context, qio::platform::native_handle handle) {
  if (context.prepare_to_wait()) REQUIRE(os::wait_until_ready(handle, long_enough));
  context.poll();
}

template <class World>
std::string why_no_wake_handle(World& w) {
  const auto handle = w.context->wake_handle();
  return handle ? std::string() : handle.error().message();
}

template <class Context>
qio::task<void> visit(Context& context, int& visits) {
  co_await context.schedule();
  ++visits;
}

/// Visits `context` from another thread, `times` times in turn.
template <class Context>
std::thread visitor(Context& context, int& visits, int times) {
  return std::thread([&context, &visits, times] {
    auto own = qio::context::create({.engine = qio::engine_kind::workers, .workers = 1}).value();
    for (int i = 0; i < times; ++i) own.run(visit(context, visits));
  });
}

}  // namespace

PROMISE(wake_handle, each_engine, "wake_handle() returns the same handle each time, or says why there is none") {
  const auto handle = w.context->wake_handle();
  const auto explained = w.context->explain();
  const std::string engine = explained.find("engine")->value;
  const qio::fact* const polling = explained.find("polling");
  const bool polls = polling != nullptr && polling->value != "off";
  if ((engine == "io_uring" && !polls) || engine == "aio" || engine == "pool") {
    REQUIRE(handle);
    CHECK(!os::is_inherited(handle.value()));
    CHECK(w.context->wake_handle().value() == handle.value());
  } else {
    CHECK(handle.error() == errc::no_wake_handle);
  }
  const auto moved = std::move(*w.context);
  CHECK(w.context->wake_handle().error() == std::errc::bad_file_descriptor);
}

PROMISE(other_loop_reads, asynchronous, "another event loop can wait for operations that are in flight") {
  if (const std::string why = why_no_wake_handle(w); !why.empty()) QIO_SKIP(why);
  const auto handle = w.context->wake_handle().value();
  auto file = w.with(64 * 4096);
  std::deque<reader<world<Where>>> all;
  for (int i = 0; i < 64; ++i) all.emplace_back(4096);
  for (int repeated = 0; repeated < 20; ++repeated) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].start(file, i * 4096);
    for (auto& each : all)
      while (each.calls == 0) one_round(*w.context, handle);
    for (auto& each : all) CHECK(each.is_right());
  }
  // Nothing is in flight, and nothing wakes the program: but for workers, each of which may still be about to.
  int woken = 0;
  do {
    while (!w.context->prepare_to_wait()) w.context->poll();
  } while (os::wait_until_ready(handle, milliseconds(20)) && ++woken < 256);
  CHECK(woken < 256);
}

PROMISE(other_loop_syncs, asynchronous, "another event loop can wait for what worker threads carry out") {
  if (const std::string why = why_no_wake_handle(w); !why.empty()) QIO_SKIP(why);
  const auto handle = w.context->wake_handle().value();
  auto file = w.with(4096);
  int done = 0;
  for (int repeated = 0; repeated < 20; ++repeated) {
    auto sync = file.async_sync();
    sync.start([&done](qio::result<void> given) { done += given.has_value(); });
    while (done == repeated) one_round(*w.context, handle);
  }
  CHECK(done == 20);
}

PROMISE(other_loop_woken, each_engine, "another event loop notices each coroutine that another thread schedules") {
  if (const std::string why = why_no_wake_handle(w); !why.empty()) QIO_SKIP(why);
  const auto handle = w.context->wake_handle().value();
  w.context->poll();  // from now on, the context belongs to this thread
  const char* const chosen = std::getenv("QIO_TEST_HANDOVERS");
  const int times = chosen == nullptr ? 2'000 : std::atoi(chosen);
  int first = 0, second = 0;
  std::thread one = visitor(*w.context, first, times), other = visitor(*w.context, second, times);
  while (first < times || second < times) one_round(*w.context, handle);
  // The visitors return to their own contexts, so this one has nothing left to do.
  one.join();
  other.join();
  CHECK(first + second == 2 * times);
}

PROMISE(prepare_sees_work, each_engine, "prepare_to_wait() is false while poll() has work") {
  if (const std::string why = why_no_wake_handle(w); !why.empty()) QIO_SKIP(why);
  const auto handle = w.context->wake_handle().value();
  while (!w.context->prepare_to_wait()) w.context->poll();
  int visits = 0;
  std::thread other = visitor(*w.context, visits, 1);
  REQUIRE(os::wait_until_ready(handle, long_enough));
  CHECK(!w.context->prepare_to_wait());
  CHECK(!w.context->prepare_to_wait());
  CHECK(visits == 0);
  while (visits == 0) w.context->poll();
  other.join();
}

PROMISE(next_deadline, asynchronous, "next_deadline() is that of the operation in flight, if it has one") {
  if (std::is_same_v<typename Where::engine, qio::simulated>) return;  // its deadlines are those of another clock
  auto file = w.with(4096);
  CHECK(!w.context->next_deadline().exists());
  const auto when = std::chrono::steady_clock::now() + hours(1);
  controlled_reader<world<Where>> one(4096);
  one.start(file, 0, {.deadline = when});
  const qio::deadline next = w.context->next_deadline();
  if (std::is_same_v<typename Where::mode, qio::direct>) CHECK(next.exists());  // others may be served inline
  // What waits in a class also has times at which to ask for its turn.
  if (qio_test::class_of_next_context != nullptr)
    CHECK((!next.exists() || next.when() <= when));
  else if (next.exists())
    CHECK(next.when() == when);
  w.context->run();
  CHECK(one.is_right());
  CHECK(!w.context->next_deadline().exists());
}

PROMISE(run_one_each, asynchronous, "run_one() completes one operation, and is false if the deadline passes first") {
  auto file = w.with(4 * 4096);
  std::deque<reader<world<Where>>> all;
  for (std::size_t i = 0; i < 4; ++i) all.emplace_back(4096).start(file, i * 4096);
  for (int completed = 1; completed <= 4; ++completed) {
    CHECK(w.context->run_one());
    int calls = 0;
    for (auto& each : all) calls += each.calls;
    CHECK(calls == completed);
  }
  CHECK(!w.context->run_one(std::chrono::steady_clock::time_point::min()));
  if (!std::is_same_v<typename Where::engine, qio::simulated>) CHECK(!w.context->run_one(milliseconds(1)));
  for (auto& each : all) CHECK(each.is_right());
}

PROMISE(run_until_stop, each_engine, "run_until() returns when a stop is requested, by this thread or another") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  std::stop_source here;
  here.request_stop();
  w.context->run_until(here.get_token());

  std::stop_source elsewhere;
  std::thread other([&] { elsewhere.request_stop(); });
  w.context->run_until(elsewhere.get_token());
  other.join();
  CHECK(elsewhere.stop_requested());
}

}  // namespace contract
