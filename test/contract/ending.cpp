// Ending early: cancellation, stop tokens, deadlines; and destruction with operations in flight.
#include "reader.hpp"
#include "world.hpp"

#include <atomic>
#include <chrono>
#include <coroutine>
#include <deque>
#include <limits>
#include <stop_token>
#include <thread>

namespace contract {

using namespace std::chrono_literals;

namespace {

/// A coroutine that starts immediately; its frame is destroyed with this object.
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

PROMISE(cancelled_stages, asynchronous, "cancel() may be called at any stage, and the result is what really happened") {
  auto file = w.with(megabyte);
  reader<world<Where>> one(megabyte);
  one.read.emplace([&] { return file.async_read_at(0, one.buffer.all()); });
  one.read->cancel();  // not started, so there is nothing to cancel
  one.start(file, 0);
  w.context->run();
  CHECK(one.is_right());
  one.read->cancel();  // completed
  CHECK(!w.context->poll());
  CHECK(one.is_right());

  one.start(file, 0);
  one.read->cancel();
  one.read->cancel();
  w.context->run();
  CHECK(one.is_real());

  one.start(file, 0);
  w.context->poll();  // started by the system, or completed
  one.read->cancel();
  w.context->run();
  CHECK(one.is_real());
}

PROMISE(cancelled_in_a_crowd, asynchronous, "canceling some of many operations does not affect the others") {
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

PROMISE(cancelled_writes, asynchronous, "the bytes that a canceled write reports are in the file") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(0);
  auto source = memory::with_pattern(0, 64 * 4096);
  using operation = decltype(file.async_write_at(0, source.all()));
  struct slot {
    qio::operation_slot<operation> write{};
    qio::result<std::size_t> answer = std::size_t(0);
  };
  std::deque<slot> slots(64);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slot& each = slots[i];
    each.write.emplace([&] { return file.async_write_at(i * 4096, source.part(i * 4096, 4096)); });
    each.write->start([&each](qio::result<std::size_t> given) { each.answer = given; });
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

PROMISE(stopped_before, asynchronous, "an operation whose stop was requested before the start makes no system call") {
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

PROMISE(stopped_meanwhile, asynchronous,
        "a stop request may end an operation in flight early, and does not affect a completed one") {
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

PROMISE(stopped_elsewhere, asynchronous, "another thread may request a stop at any time") {
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

PROMISE(deadline_past, asynchronous,
        "an operation whose deadline has passed does not start, and fails with timed_out") {
  auto file = w.with(megabyte);
  using time_point = std::chrono::steady_clock::time_point;
  for (const qio::deadline past :
       {qio::deadline(time_point::min()), qio::deadline(time_point::min() + 1ns), qio::deadline(time_point::min() + 1h),
        qio::deadline(time_point{}), qio::deadline(std::chrono::hours::min())}) {
    controlled_reader<world<Where>> read(megabyte);
    read.start(file, 0, {.deadline = past});
    CHECK(read.calls == 0);
    w.context->run();
    CHECK(read.is_ended_by(std::errc::timed_out));
    CHECK(read.answer.error().transferred() == 0);
    CHECK(holds_only(read.buffer.all(), std::byte{0}));

    const auto written =
        w.template run<std::size_t>([&] { return file.async_write_at(0, read.buffer.all(), {.deadline = past}); });
    CHECK(written.error() == std::errc::timed_out);
    const auto synced = w.template run<void>([&] { return file.async_sync(qio::sync_kind::data, {.deadline = past}); });
    CHECK(synced.error() == std::errc::timed_out);
  }
  CHECK(served(file.statistics()) == 0);
  memory found(megabyte);
  REQUIRE(file.read_at(0, found.all()).value() == megabyte);
  CHECK(holds_pattern(found.all(), 0));
}

// On the clock of the system, which a simulated disk does not follow.
PROMISE(deadline_of_no_duration, of_the_system, "a deadline of zero or negative duration has already passed") {
  auto file = w.with(4096);
  for (const qio::deadline past :
       {qio::deadline(0s), qio::deadline(-1ns), qio::deadline(-1h), qio::deadline(std::chrono::steady_clock::now())}) {
    controlled_reader<world<Where>> one(4096);
    one.start(file, 0, {.deadline = past});
    w.context->run();
    CHECK(one.is_ended_by(std::errc::timed_out));
  }
  CHECK(served(file.statistics()) == 0);
}

PROMISE(deadline_future, asynchronous, "a deadline in the future does not affect operations that complete before it") {
  auto file = w.with(4096);
  using time_point = std::chrono::steady_clock::time_point;
  for (const qio::deadline future :
       {qio::deadline(1h), qio::deadline(std::chrono::hours::max()),
        qio::deadline(std::chrono::duration<double>(1e300)),
        qio::deadline(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())),
        qio::deadline(time_point::max() - 1ns), qio::deadline(time_point::max() - 1h), qio::deadline()}) {
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
// Operations that wait for a place in the ring have not started, so it is known which end early.
using ring_modes = std::tuple<on_ring<qio::cached>, on_ring<qio::uncached>, on_ring<qio::direct>, on_ring<qio::mapped>>;

PROMISE(ended_in_backlog, ring_modes,
        "an operation that is canceled, stopped or late before it starts transfers nothing") {
  world<Where> small({.queue_depth = 4});
  static_cast<void>(small.with(64 * 4096));
  auto file =
      small.open("data", access::read, creation::open_existing, {.inline_reads = qio::inline_transfers::never}).value();
  std::deque<reader<world<Where>>> before;
  for (std::size_t i = 0; i < 200; ++i) before.emplace_back(4096).start(file, i % 64 * 4096);

  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  reader<world<Where>> canceled(4096);
  controlled_reader<world<Where>> stopped(4096), late(4096);
  canceled.start(file, 0);
  stopped.start(file, 0, {.stop = token});
  late.start(file, 0, {.deadline = 0s});
  canceled.read->cancel();
  stop.request_stop();
  small.context->run();

  CHECK(canceled.calls == 1);
  CHECK(canceled.answer.error() == std::errc::operation_canceled);
  CHECK(stopped.is_ended_by(std::errc::operation_canceled));
  CHECK(late.is_ended_by(std::errc::timed_out));
  CHECK(late.answer.error().transferred() == 0);
  CHECK(holds_only(late.buffer.all(), std::byte{0}));
  bool all_right = true;
  for (auto& each : before) all_right = all_right && each.is_right();
  CHECK(all_right);
}
#endif

PROMISE(destroyed_operation, asynchronous, "after a started operation has been destroyed, its buffer is not touched") {
  auto file = w.with(4 * megabyte);
  memory buffer(4 * megabyte);
  for (int round = 0; round < 5; ++round) {
    bool called = false;
    {
      auto read = file.async_read_at(0, buffer.all());
      read.start([&called](qio::result<std::size_t>) { called = true; });
      if (round % 2 == 1 && w.context->poll()) continue;  // already completed
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

PROMISE(destroyed_by_another, asynchronous, "a callback may destroy other operations") {
  auto file = w.with(64 * 4096);
  std::deque<reader<world<Where>>> others;
  reader<world<Where>> first(4096);
  struct everything {
    std::deque<reader<world<Where>>>& others;
  } context{others};
  first.read.emplace([&] { return file.async_read_at(0, first.buffer.all()); })
      .start([&context](qio::result<std::size_t>) { context.others.clear(); });
  for (std::size_t i = 0; i < 50; ++i) others.emplace_back(4096).start(file, i * 4096);
  w.context->run();
  CHECK(others.empty());
  CHECK(!w.context->poll());
}

PROMISE(destroyed_task, asynchronous, "destroying a suspended coroutine cancels and joins its operation") {
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
        "closing a file cancels its operations; the context completes them with their real results") {
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
        "destroying a context completes its operations with their real results, and refuses new ones") {
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

PROMISE(outlived_context, asynchronous,
        "a file that outlives its context keeps its blocking operations, and refuses asynchronous ones") {
  world<Where> other;
  auto file = other.with(4096);
  [[maybe_unused]] auto made_before = file.async_read_at(0, std::span<std::byte>());
  other.context.reset();
  memory buffer(4096);
  CHECK(file.read_at(0, buffer.all()).value() == 4096);
  CHECK(holds_pattern(buffer.all(), 0));

  reader<world<Where>> refused(4096);
  refused.start(file, 0);
  CHECK(refused.calls == 1);
  CHECK(refused.answer.error() == errc::context_closed);
  CHECK(refused.answer.error() == std::errc::operation_canceled);

  bool was_refused = false;
  const auto read = [](auto& from, std::span<std::byte> into, bool& refusal) -> frame {
    const auto answer = co_await from.async_read_at(0, into);
    refusal = answer.error() == errc::context_closed;
  };
  frame over = read(file, buffer.all(), was_refused);
  CHECK(was_refused);
  CHECK(file.write_at(0, buffer.all()).value() == 4096);
  CHECK(file.close());
}

PROMISE(closed_under_load, asynchronous, "after a context is destroyed, the buffers of its reads are not touched") {
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

PROMISE(open_given_up, asynchronous, "destroying a task of async_open leaves no handle open") {
  put(w.where / "file", "contents");
  { [[maybe_unused]] auto never_run = qio::basic_file<typename Where::mode>::async_open(*w.context, w.where / "file"); }
  {
    auto task = qio::basic_file<typename Where::mode>::async_open(*w.context, w.where / "file");
    frame suspended = [](auto opening) -> frame { static_cast<void>(co_await std::move(opening)); }(std::move(task));
    CHECK(!suspended.coroutine.done());
  }
  CHECK(!os::has_open(w.where / "file"));
}

}  // namespace contract
