// Ending early: cancellation, stop tokens, deadlines; and destruction with operations in flight.
#include "reader.hpp"
#include "world.hpp"

#include <atomic>
#include <chrono>
#include <coroutine>
#include <deque>
#include <stop_token>
#include <thread>

namespace contract {

using namespace std::chrono_literals;

namespace {

/// A coroutine that starts at once and is destroyed with this.
struct frame {
  struct promise_type {
    frame get_return_object() { return frame(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  explicit frame(std::coroutine_handle<promise_type> started) : coroutine(started) {}
  frame(frame&& other) noexcept : coroutine(std::exchange(other.coroutine, nullptr)) {}
  ~frame() { destroy(); }
  void destroy() {
    if (coroutine) std::exchange(coroutine, nullptr).destroy();
  }
  std::coroutine_handle<promise_type> coroutine;
};

constexpr std::size_t megabyte = std::size_t(1) << 20;

}  // namespace

PROMISE(cancelled_stages, asynchronous, "cancel() is a wish at every stage, and the answer is what really happened") {
  auto file = w.with(megabyte);
  reader<world<Where>> one(megabyte);
  one.read.emplace(made_by([&] { return file.async_read_at(0, one.buffer.all()); }));
  one.read->cancel();  // not started: nothing to cancel
  one.start(file, 0);
  w.context->run();
  CHECK(one.is_right());
  one.read->cancel();  // over
  CHECK(!w.context->poll());
  CHECK(one.is_right());

  one.start(file, 0);
  one.read->cancel();
  one.read->cancel();
  w.context->run();
  CHECK(one.is_real());

  one.start(file, 0);
  w.context->poll();  // in the hands of the system, or over
  one.read->cancel();
  w.context->run();
  CHECK(one.is_real());
}

PROMISE(cancelled_in_a_crowd, asynchronous,
        "of many operations those that were cancelled end, and the others succeed") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * 4096);
  std::deque<reader<world<Where>>> readers;
  for (std::size_t i = 0; i < 300; ++i) readers.emplace_back(4096).start(file, i % 64 * 4096);
  for (std::size_t i = 0; i < readers.size(); i += 2) readers[i].read->cancel();
  small.context->poll();
  for (std::size_t i = 0; i < readers.size(); i += 3) readers[i].read->cancel();
  small.context->run();
  bool all_real = true;
  std::size_t right = 0;
  for (auto& each : readers) {
    all_real = all_real && each.is_real();
    if (each.is_right()) ++right;
  }
  CHECK(all_real);
  CHECK(right >= 100);
}

PROMISE(cancelled_writes, asynchronous, "what a cancelled write says it has written is in the file") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(0);
  auto source = memory::with_pattern(0, 64 * 4096);
  using operation = decltype(file.async_write_at(0, source.all()));
  struct slot {
    std::optional<operation> write{};
    qio::result<std::size_t> answer = std::size_t(0);
  };
  std::deque<slot> slots(64);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slot& each = slots[i];
    each.write.emplace(made_by([&] { return file.async_write_at(i * 4096, source.part(i * 4096, 4096)); }));
    each.write->start([&each](qio::result<std::size_t> told) { each.answer = told; });
  }
  for (slot& each : slots) each.write->cancel();
  small.context->run();
  bool all_true = true;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& answer = slots[i].answer;
    const std::size_t written = answer ? answer.value() : answer.error().transferred();
    memory block(4096);
    if (written != 0) all_true = all_true && file.read_at(i * 4096, block.all()).has_value();
    all_true = all_true && holds_pattern(block.part(0, written), i * 4096);
    all_true = all_true && (answer || answer.error() == std::errc::operation_canceled);
  }
  CHECK(all_true);
}

PROMISE(stopped_before, asynchronous,
        "a stop that was requested before the start ends it, and the system is not asked") {
  auto file = w.with(4096);
  std::stop_source stop;
  stop.request_stop();
  const std::stop_token token = stop.get_token();
  controlled_reader<world<Where>> one(4096);
  one.start(file, 0, {.stop = token});
  w.context->run();
  CHECK(one.is_ended_by(std::errc::operation_canceled));
  CHECK(one.answer.error().transferred() == 0);
  CHECK(holds_only(one.buffer.all(), std::byte{0}));
  CHECK(served(file.statistics()) == 0);

  const auto awaited =
      w.template run<std::size_t>([&] { return file.async_read_at(0, one.buffer.all(), {.stop = token}); });
  CHECK(awaited.error() == std::errc::operation_canceled);
}

PROMISE(stopped_meanwhile, asynchronous, "a stop requested meanwhile ends it early or not at all, afterwards not") {
  auto file = w.with(megabyte);
  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  controlled_reader<world<Where>> one(megabyte), other(megabyte);
  one.start(file, 0, {.stop = token});
  other.start(file, 0, {});
  stop.request_stop();
  w.context->run();
  CHECK((one.is_right() || one.is_ended_by(std::errc::operation_canceled)));
  CHECK(other.is_right());

  std::stop_source late;
  const std::stop_token late_token = late.get_token();
  one.start(file, 0, {.stop = late_token});
  w.context->run();
  CHECK(one.is_right());
  late.request_stop();
  CHECK(!w.context->poll());
  CHECK(one.is_right());
}

PROMISE(stopped_elsewhere, asynchronous, "a stop may be requested by another thread at any time") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(os::why_stops_hang);
  auto file = w.with(64 * 4096);
  for (int round = 0; round < 50; ++round) {
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    std::deque<controlled_reader<world<Where>>> readers;
    std::thread stopper([&] { stop.request_stop(); });
    for (std::size_t i = 0; i < 20; ++i) readers.emplace_back(4096).start(file, i * 4096, {.stop = token});
    w.context->run();
    stopper.join();
    bool all_real = true;
    for (auto& each : readers)
      all_real = all_real && (each.is_right() || each.is_ended_by(std::errc::operation_canceled));
    REQUIRE(all_real);
  }
}

PROMISE(stopped_and_destroyed, asynchronous, "an operation may be destroyed while another thread requests its stop") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(os::why_stops_hang);
  auto file = w.with(64 * 4096);
  for (int round = 0; round < 50; ++round) {
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    std::thread stopper;
    std::size_t called = 0;
    {
      std::deque<controlled_reader<world<Where>>> readers;
      for (std::size_t i = 0; i < 10; ++i) readers.emplace_back(4096).start(file, i * 4096, {.stop = token});
      stopper = std::thread([&] { stop.request_stop(); });
      w.context->poll();
      for (auto& each : readers) called += static_cast<std::size_t>(each.calls);
    }
    stopper.join();
    w.context->run();
    REQUIRE(called <= 10);
  }
}

PROMISE(deadline_past, asynchronous, "a deadline that has passed ends what is not over at once, and hides nothing") {
  auto file = w.with(megabyte);
  for (const qio::deadline past :
       {qio::deadline(0s), qio::deadline(-1h), qio::deadline(std::chrono::hours::min()),
        qio::deadline(std::chrono::steady_clock::time_point{}), qio::deadline(std::chrono::steady_clock::now())}) {
    controlled_reader<world<Where>> one(megabyte), other(megabyte);
    one.start(file, 0, {.deadline = past});
    other.start(file, 0, {.deadline = past});
    w.context->run();
    CHECK((one.is_right() || one.is_ended_by(std::errc::timed_out)));
    CHECK((other.is_right() || other.is_ended_by(std::errc::timed_out)));
  }
}

PROMISE(deadline_future, asynchronous, "a deadline that has not come changes nothing") {
  auto file = w.with(4096);
  for (const qio::deadline future : {qio::deadline(1h), qio::deadline(std::chrono::hours::max()),
                                     qio::deadline(std::chrono::duration<double>(1e300)), qio::deadline()}) {
    controlled_reader<world<Where>> one(4096), two(4096);
    one.start(file, 0, {.deadline = future});
    two.start(file, 0, {.deadline = future});
    w.context->run();
    CHECK(one.is_right());
    CHECK(two.is_right());
  }
  CHECK(!qio::deadline(std::chrono::nanoseconds::max()).exists());
  CHECK(qio::deadline(1h).exists());
}

#if QIO_HAS_URING
// What waits for a place in the ring has not begun: it is known which operations end.
using ring_modes = modes_of<qio::uring>;

PROMISE(ended_in_backlog, ring_modes, "what has not begun ends with nothing transferred: cancelled, stopped or late") {
  world<Where> small({.queue_depth = 4});
  auto file = small.with(64 * 4096);
  std::deque<reader<world<Where>>> before;
  for (std::size_t i = 0; i < 200; ++i) before.emplace_back(4096).start(file, i % 64 * 4096);

  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  reader<world<Where>> cancelled(4096);
  controlled_reader<world<Where>> stopped(4096), late(4096);
  cancelled.start(file, 0);
  stopped.start(file, 0, {.stop = token});
  late.start(file, 0, {.deadline = 0s});
  cancelled.read->cancel();
  stop.request_stop();
  small.context->run();

  CHECK(cancelled.calls == 1);
  CHECK(cancelled.answer.error() == std::errc::operation_canceled);
  CHECK(stopped.is_ended_by(std::errc::operation_canceled));
  CHECK(late.is_ended_by(std::errc::timed_out));
  CHECK(late.answer.error().transferred() == 0);
  CHECK(holds_only(late.buffer.all(), std::byte{0}));
  bool all_right = true;
  for (auto& each : before) all_right = all_right && each.is_right();
  CHECK(all_right);
}
#endif

PROMISE(destroyed_operation, asynchronous, "when a started operation has been destroyed nobody touches its memory") {
  auto file = w.with(4 * megabyte);
  memory buffer(4 * megabyte);
  for (int round = 0; round < 5; ++round) {
    bool called = false;
    {
      auto read = file.async_read_at(0, buffer.all());
      read.start([&called](qio::result<std::size_t>) { called = true; });
      if (round % 2 == 1 && w.context->poll()) continue;  // over already
    }
    std::fill(buffer.all().begin(), buffer.all().end(), std::byte{0xee});
    w.context->run();
    reader<world<Where>> other(4096);
    other.start(file, 0);
    w.context->run();
    CHECK(other.is_right());
    CHECK(!called);
    CHECK(holds_only(buffer.all(), std::byte{0xee}));
  }
}

PROMISE(destroyed_by_another, asynchronous, "an operation may be destroyed by the callback of another") {
  auto file = w.with(64 * 4096);
  std::deque<reader<world<Where>>> others;
  reader<world<Where>> first(4096);
  struct everything {
    std::deque<reader<world<Where>>>& others;
  } context{others};
  first.read.emplace(made_by([&] { return file.async_read_at(0, first.buffer.all()); }));
  first.read->start([&context](qio::result<std::size_t>) { context.others.clear(); });
  for (std::size_t i = 0; i < 50; ++i) others.emplace_back(4096).start(file, i * 4096);
  w.context->run();
  CHECK(others.empty());
  CHECK(!w.context->poll());
}

PROMISE(destroyed_task, asynchronous, "destroying a suspended coroutine ends its operation and joins it") {
  auto file = w.with(4 * megabyte);
  memory buffer(4 * megabyte);
  bool resumed = false;
  const auto read = [](auto& from, std::span<std::byte> into, bool& over) -> frame {
    static_cast<void>(co_await from.async_read_at(0, into, {.deadline = 1h}));
    over = true;
  };
  frame suspended = read(file, buffer.all(), resumed);
  w.context->poll();
  const bool was_over = resumed;
  suspended.destroy();
  std::fill(buffer.all().begin(), buffer.all().end(), std::byte{0xee});
  w.context->run();
  CHECK(resumed == was_over);
  CHECK(holds_only(buffer.all(), std::byte{0xee}));
}

PROMISE(destroyed_file, asynchronous,
        "a file that is closed ends its operations, and the context tells them the truth") {
  for (const bool destroyed : {false, true}) {
    std::optional<typename world<Where>::file> file(w.with(64 * 4096));
    std::deque<reader<world<Where>>> readers;
    for (std::size_t i = 0; i < 64; ++i) readers.emplace_back(4096).start(*file, i * 4096);
    if (destroyed)
      file.reset();
    else
      CHECK(file->close());
    for (auto& each : readers) CHECK(each.calls == 0);
    w.context->run();
    bool all_real = true;
    for (auto& each : readers) all_real = all_real && each.is_real();
    CHECK(all_real);
  }
}

PROMISE(destroyed_context, asynchronous,
        "a context that is destroyed tells everybody the truth, and refuses what comes then") {
  for (const bool begun : {false, true}) {
    world<Where> other({.queue_depth = 8, .workers = 2});
    auto file = other.with(64 * 4096);
    std::deque<reader<world<Where>>> readers;
    for (std::size_t i = 0; i < 200; ++i) readers.emplace_back(4096).start(file, i % 64 * 4096);
    std::optional<qio::result<std::size_t>> first, second;
    memory buffer(4096);
    const auto read = [](auto& from, std::span<std::byte> into, auto& one, auto& other_one) -> frame {
      one.emplace(co_await from.async_read_at(0, into));
      other_one.emplace(co_await from.async_read_at(0, into));
    };
    frame suspended = read(file, buffer.all(), first, second);
    if (begun) other.context->poll();
    const bool first_came_before = first.has_value();
    other.context.reset();

    bool all_real = true;
    for (auto& each : readers) all_real = all_real && each.is_real();
    CHECK(all_real);
    const auto is_real = [](const qio::result<std::size_t>& answer) {
      return answer || answer.error() == std::errc::operation_canceled;
    };
    CHECK((first && is_real(*first)));
    CHECK((second && is_real(*second)));
    if (!first_came_before) CHECK((!*second && second->error() == errc::context_closed));
  }
}

PROMISE(outlived_context, asynchronous, "a file that outlives its context blocks as before, and refuses to do more") {
  world<Where> other;
  auto file = other.with(4096);
  auto made_before = file.async_read_at(0, std::span<std::byte>());
  other.context.reset();
  memory buffer(4096);
  CHECK(file.read_at(0, buffer.all()).value() == 4096);
  CHECK(holds_pattern(buffer.all(), 0));

  reader<world<Where>> refused(4096);
  refused.start(file, 0);
  CHECK(refused.calls == 1);
  CHECK(refused.answer.error() == errc::context_closed);
  CHECK(refused.answer.error() == std::errc::operation_canceled);

  bool told = false;
  const auto read = [](auto& from, std::span<std::byte> into, bool& refusal) -> frame {
    const auto answer = co_await from.async_read_at(0, into);
    refusal = answer.error() == errc::context_closed;
  };
  frame over = read(file, buffer.all(), told);
  CHECK(told);
  CHECK(file.write_at(0, buffer.all()).value() == 4096);
  CHECK(file.close());
}

PROMISE(closed_under_load, asynchronous, "the memory of a read is touched by nobody after the context has gone") {
  memory buffer(16 * megabyte);
  {
    world<Where> other;
    auto file = other.with(16 * megabyte);
    auto read = file.async_read_at(0, buffer.all());
    read.start([](qio::result<std::size_t>) {});
    other.context->poll();
    other.context.reset();
    std::fill(buffer.all().begin(), buffer.all().end(), std::byte{0xee});
    REQUIRE(file.close());
  }
  CHECK(holds_only(buffer.all(), std::byte{0xee}));
}

PROMISE(open_given_up, asynchronous, "a task of async_open that is destroyed leaves no handle open") {
  put(w.where / "file", "contents");
  { auto never_run = qio::basic_file<typename Where::mode>::async_open(*w.context, w.where / "file"); }
  {
    auto task = qio::basic_file<typename Where::mode>::async_open(*w.context, w.where / "file");
    frame suspended = [](auto opening) -> frame { static_cast<void>(co_await std::move(opening)); }(std::move(task));
    CHECK(!suspended.coroutine.done());
  }
  CHECK(!os::has_open(w.where / "file"));
}

}  // namespace contract
