// Operations as senders, and the scheduler of a context, without a library of senders: receivers and stop tokens of the
// tests' own.
#include "world.hpp"
#include <qio/call.hpp>
#include <qio/execution.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace contract {

namespace {

namespace ex = qio::execution;

// --- receivers ---

/// How a state has completed. Written by the thread that completes it.
struct completion {
  int values = 0, errors = 0, stops = 0;
  std::size_t bytes = 0;
  std::string text;
  std::optional<qio::error> failure;
  std::thread::id thread;
  std::atomic<int> count = 0;       // after the others have been written
  std::function<void()> then = {};  // what the receiver does
};

/// Without an environment: it has no stop token.
struct receiver {
  using receiver_concept = ex::receiver_tag;

  explicit receiver(completion& reported) noexcept : to(&reported) {}

  void set_value() && noexcept {
    end([](completion& of) { ++of.values; });
  }
  void set_value(std::size_t bytes) && noexcept {
    end([bytes](completion& of) { ++of.values, of.bytes = bytes; });
  }
  void set_value(std::string text) && noexcept {
    end([&](completion& of) { ++of.values, of.text = std::move(text); });
  }
  void set_error(qio::error failure) && noexcept {
    end([failure](completion& of) { ++of.errors, of.failure = failure; });
  }
  void set_stopped() && noexcept {
    end([](completion& of) { ++of.stops; });
  }

  template <class Note>
  void end(const Note& note) const noexcept {
    note(*to);
    to->thread = std::this_thread::get_id();
    const auto then = std::move(to->then);
    ++to->count;  // the last access: another thread may wait for it
    if (then) then();
  }

  completion* to;
};

/// With a stop token of any type.
template <class Token>
struct stoppable_receiver : receiver {
  struct environment {
    Token token;
    Token query(ex::get_stop_token_t) const noexcept { return token; }
  };

  stoppable_receiver(completion& reported, Token of) noexcept : receiver(reported), token(std::move(of)) {}
  environment get_env() const noexcept { return {token}; }

  Token token;
};

/// A stop token as std::inplace_stop_token is one: it refers to its source, and names the type of its callbacks. The
/// source calls one callback.
class small_source {
 public:
  class token {
   public:
    template <class Callback>
    class callback_type {
     public:
      callback_type(token of, Callback call) noexcept : source_(of.source_), call_(std::move(call)) {
        source_->self_ = this;
        source_->call_ = [](void* self) noexcept { static_cast<callback_type*>(self)->call_(); };
      }
      callback_type(const callback_type&) = delete;
      ~callback_type() { source_->call_ = nullptr; }

     private:
      small_source* source_;
      Callback call_;
    };

    explicit token(small_source& of) noexcept : source_(&of) {}
    bool stop_requested() const noexcept { return source_->is_requested_; }
    bool stop_possible() const noexcept { return true; }
    bool operator==(const token&) const = default;

   private:
    small_source* source_;
  };

  token get_token() noexcept { return token(*this); }
  bool has_callback() const noexcept { return call_ != nullptr; }
  void request_stop() noexcept {
    is_requested_ = true;
    if (call_ != nullptr) call_(self_);
  }

 private:
  bool is_requested_ = false;
  void (*call_)(void*) noexcept = nullptr;
  void* self_ = nullptr;
};

/// What connect() returns, in a place that its receiver may destroy.
template <class Sender, class Receiver>
auto connected(const Sender& sender, Receiver to) {
  using state = decltype(sender.connect(std::move(to)));
  struct place {
    place(const Sender& from, Receiver receiver) : state_of(from.connect(std::move(receiver))) {}
    state state_of;
    void start() noexcept { state_of.start(); }
  };
  return std::make_unique<place>(sender, std::move(to));
}

/// Runs a context on a thread of its own.
template <class Context>
class runner {
 public:
  explicit runner(Context& context) : thread_([this, &context] { context.run_until(end_.get_token()); }) {}
  ~runner() { stop(); }
  void stop() {
    end_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  std::stop_source end_;
  std::thread thread_;
};

void wait_for(const std::atomic<int>& count, int wanted) {
  while (count < wanted) std::this_thread::yield();
}

template <class Context>
void run_until_completed(Context& context, const completion& one) {
  while (one.count == 0) context.run_one();
}

using simulated_only = decltype(cached_ones(static_cast<simulated*>(nullptr)));

}  // namespace

// --- values and errors ---

PROMISE(sender_values, each_engine, "a sender completes with what the operation returns, on the context's thread") {
  auto file = w.with(8192);
  memory target(4096), source = memory::with_pattern(5, 100);
  const auto in_context = [&](const auto& sender, completion& to) {
    const auto state = connected(sender, receiver(to));
    state->start();
    CHECK(to.count == 0);  // nothing runs the context yet
    run_until_completed(*w.context, to);
    CHECK(to.values == 1);
    CHECK(to.count == 1);
    CHECK(to.thread == std::this_thread::get_id());
  };
  completion read, end, written, synced, called, vectored;
  in_context(qio::senders::read_at(file, 4096, target.all()), read);
  CHECK(read.bytes == 4096);
  CHECK(holds_pattern(target.all(), 4096));
  in_context(qio::senders::read_at(file, 8000, target.all(), {.deadline = std::chrono::hours(1)}), end);
  CHECK(end.bytes == 192);
  in_context(qio::senders::write_at(file, 0, source.all(), {.durable = true}), written);
  CHECK(written.bytes == 100);
  in_context(qio::senders::sync(file), synced);
  in_context(qio::senders::call(*w.context, [] { return std::string("called"); }), called);
  CHECK(called.text == "called");
  const std::array<qio::mutable_buffer, 2> pair{target.part(0, 100), target.part(100, 100)};
  in_context(qio::as_sender(file, [&] { return file.async_read_at(4096, pair); }), vectored);
  CHECK(vectored.bytes == 200);
}

PROMISE(sender_errors, each_engine, "a sender completes with the operation's error, and the bytes it had moved") {
  const auto kept_open = w.with(4096);
  auto reader = w.open("data", access::read, creation::open_existing).value();
  memory target(4096);
  const qio::deadline passed((qio::deadline::clock::time_point::min)());
  const auto failure_of = [&](const auto& sender) {
    completion to;
    const auto state = connected(sender, receiver(to));
    state->start();
    run_until_completed(*w.context, to);
    CHECK(to.errors == 1);
    CHECK(to.count == 1);
    return to.failure.value();
  };
  CHECK(failure_of(qio::senders::write_at(reader, 0, target.all())) == std::errc::bad_file_descriptor);
  CHECK(failure_of(qio::senders::read_at(reader, 0, target.all(), {.deadline = passed})) == std::errc::timed_out);
  const auto partly = failure_of(qio::as_sender(*w.context, [&] {
    return qio::async_call(*w.context, []() -> qio::result<std::size_t> {
      return qio::error::of_transfer(std::make_error_code(std::errc::io_error), 512);
    });
  }));
  CHECK(partly == std::errc::io_error);
  CHECK(partly.transferred() == 512);
  REQUIRE(reader.close());
  CHECK(failure_of(qio::senders::read_at(reader, 0, target.all())) == std::errc::bad_file_descriptor);
}

PROMISE(sender_canceled, each_engine,
        "a canceled operation that moved bytes is an error, one that moved none is stopped") {
  const auto after = [&](std::size_t bytes) {
    return qio::senders::call(*w.context, [bytes]() -> qio::result<std::size_t> {
      return qio::error::of_transfer(std::make_error_code(std::errc::operation_canceled), bytes);
    });
  };
  completion some, none;
  const auto first = connected(after(4096), receiver(some));
  const auto second = connected(after(0), receiver(none));
  first->start();
  second->start();
  run_until_completed(*w.context, some);
  run_until_completed(*w.context, none);
  REQUIRE(some.errors == 1);
  CHECK(*some.failure == std::errc::operation_canceled);
  CHECK(some.failure->transferred() == 4096);
  CHECK(none.stops == 1);
  CHECK((some.count == 1 && none.count == 1));
}

PROMISE(sender_descriptions, each_engine,
        "a sender can be copied, and connected again and again; its states are apart") {
  auto file = w.with(4096);
  memory target(4096);
  const auto sender = qio::senders::read_at(file, 0, target.all());
  static_assert(std::is_copy_constructible_v<decltype(sender)>);
  auto copied = sender;
  completion first, second, third;
  auto one = sender.connect(receiver(first));
  auto two = copied.connect(receiver(second));
  auto three = std::move(copied).connect(receiver(third));
  static_assert(!std::is_move_constructible_v<decltype(one)>);
  one.start(), two.start(), three.start();
  for (auto* each : {&first, &second, &third}) {
    run_until_completed(*w.context, *each);
    CHECK(each->bytes == 4096);
  }
}

PROMISE(sender_within_run, each_engine, "a receiver may start the next state, and destroy its own") {
  auto file = w.with(4096);
  memory target(4096);
  const auto sender = qio::senders::read_at(file, 0, target.all());
  using state = decltype(connected(sender, receiver(std::declval<completion&>())));
  completion each;
  state running;
  int left = 100;
  std::function<void()> next = [&] {
    CHECK(each.bytes == 4096);
    if (--left == 0) return;
    each.then = next;
    running = connected(sender, receiver(each));  // which destroys the one that completes
    running->start();
  };
  each.then = next;
  running = connected(sender, receiver(each));
  running->start();
  while (left != 0) w.context->run_one();
  CHECK(each.values == 100);
  CHECK(each.count == 100);
}

PROMISE(sender_from_thread, each_engine, "any thread may connect and start a sender; the context's completes it") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  auto file = w.with(4096);
  memory target(4096);
  runner running(*w.context);
  for (int round = 0; round < 20; ++round) {
    completion to;
    auto state = qio::senders::read_at(file, 0, target.all()).connect(receiver(to));
    state.start();
    wait_for(to.count, 1);
    CHECK(to.bytes == 4096);
    CHECK(to.thread == running.id());
  }
  running.stop();
}

// --- stopping ---

PROMISE(sender_stopped_before, each_engine, "a sender whose stop was requested before does not start, and is stopped") {
  auto file = w.with(4096);
  int made = 0;
  memory target(4096);
  const auto sender = qio::as_sender(file, [&] {
    ++made;
    return file.async_read_at(0, target.all());
  });
  std::stop_source common;
  small_source small;
  common.request_stop();
  small.request_stop();
  completion first, second;
  const auto one = connected(sender, stoppable_receiver(first, common.get_token()));
  const auto two = connected(sender, stoppable_receiver(second, small.get_token()));
  one->start();
  two->start();
  run_until_completed(*w.context, first);
  run_until_completed(*w.context, second);
  CHECK((first.stops == 1 && first.count == 1));
  CHECK((second.stops == 1 && second.count == 1));
  CHECK(first.thread == std::this_thread::get_id());
  CHECK(made == 0);
}

PROMISE(sender_stopped, each_engine_of_the_system, "a stop of another thread ends an operation in flight") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  auto context = w.new_context({.workers = 1}).value();
  std::atomic<bool> has_begun = false, may_end = false;
  std::atomic<int> calls = 0;
  completion busy, stopped;
  std::stop_source source;
  auto holder = qio::senders::call(context, [&] {
                  has_begun = true;
                  while (!may_end) std::this_thread::yield();
                }).connect(receiver(busy));
  auto waiting = qio::senders::call(context, [&] { ++calls; }).connect(stoppable_receiver(stopped, source.get_token()));
  {
    runner running(context);
    holder.start();
    while (!has_begun) std::this_thread::yield();
    waiting.start();  // waits for the only worker
    source.request_stop();
    wait_for(stopped.count, 1);
    CHECK(stopped.stops == 1);
    CHECK(stopped.thread == running.id());
    may_end = true;
    wait_for(busy.count, 1);
  }
  CHECK(busy.values == 1);
  CHECK(stopped.count == 1);
  CHECK(calls == 0);
}

PROMISE(sender_too_late, each_engine_of_the_system,
        "an operation that succeeds after a stop completes with its value") {
  std::atomic<bool> has_begun = false, may_end = false;
  completion to;
  std::stop_source source;
  auto state = qio::senders::call(*w.context, [&] {
                 has_begun = true;
                 while (!may_end) std::this_thread::yield();
                 return std::string("done");
               }).connect(stoppable_receiver(to, source.get_token()));
  state.start();
  while (!has_begun) w.context->poll();
  std::thread([&] { source.request_stop(); }).join();
  w.context->poll();  // which cancels it, too late
  may_end = true;
  run_until_completed(*w.context, to);
  CHECK(to.values == 1);
  CHECK(to.text == "done");
  CHECK(to.count == 1);
}

PROMISE(sender_any_token, each_engine, "a stop token of any type is asked, and its callback ends with the operation") {
  auto file = w.with(4096);
  memory target(4096);
  completion to;
  small_source source;
  const auto state =
      connected(qio::senders::read_at(file, 0, target.all()), stoppable_receiver(to, source.get_token()));
  bool had_callback = false;
  to.then = [&] { had_callback = source.has_callback(); };
  state->start();
  CHECK(!source.has_callback());
  run_until_completed(*w.context, to);
  CHECK(!had_callback);
  source.request_stop();  // reaches nothing
  CHECK(to.values == 1);
  CHECK(to.count == 1);
}

PROMISE(sender_stop_results, simulated_only, "a stopped transfer completes with its value, its bytes, or as stopped") {
  // The seed decides how far a canceled transfer gets.
  int values = 0, errors = 0, stops = 0;
  memory target(65536);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    qio::simulated_disk disk({.seed = seed});
    auto context = w.new_context({.disk = &disk}).value();
    auto file = qio::cached_file::open(context, "data", access::read_write, creation::always_new).value();
    REQUIRE(file.write_at(0, target.all()));
    completion to;
    small_source source;
    auto state = qio::senders::read_at(file, 0, target.all()).connect(stoppable_receiver(to, source.get_token()));
    state.start();
    while (!source.has_callback()) context.poll();
    source.request_stop();
    run_until_completed(context, to);
    REQUIRE(to.count == 1);
    values += to.values, errors += to.errors, stops += to.stops;
    if (to.values == 1) CHECK(to.bytes == 65536);
    if (to.errors == 1) {
      CHECK(*to.failure == std::errc::operation_canceled);
      CHECK(to.failure->transferred() > 0);
    }
  }
  CHECK(values > 0);
  CHECK(errors > 0);
  CHECK(stops > 0);
}

PROMISE(sender_stop_races, each_engine,
        "stops of another thread race with completions, and each state completes once") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  auto file = w.with(4096);
  memory target(4096);
  const auto sender = qio::senders::read_at(file, 0, target.all());
  runner running(*w.context);
  for (int round = 0; round < 100; ++round) {
    completion to;
    std::stop_source source;
    auto state = sender.connect(stoppable_receiver(to, source.get_token()));
    state.start();
    for (int wait = round % 4; wait != 0; --wait) std::this_thread::yield();
    source.request_stop();
    wait_for(to.count, 1);
    REQUIRE(to.values + to.errors + to.stops == 1);
    REQUIRE(to.count == 1);
  }
}

PROMISE(sender_unstoppable, each_engine, "a receiver without a stop token needs no room for one") {
  auto file = w.with(0);
  const auto sender = qio::senders::sync(file);
  using without = decltype(sender.connect(std::declval<receiver>()));
  using with = decltype(sender.connect(std::declval<stoppable_receiver<small_source::token>>()));
  // The token, and its callback: a pointer and what it refers to, in an optional.
  CHECK(sizeof(with) >= sizeof(without) + sizeof(small_source::token) + 3 * sizeof(void*));
}

// --- states that are destroyed ---

PROMISE(sender_not_started, each_engine, "a state that is destroyed before its start has done nothing") {
  auto file = w.with(4096);
  int made = 0;
  memory target(4096);
  completion to;
  {
    auto state = qio::as_sender(file, [&] {
                   ++made;
                   return file.async_read_at(0, target.all());
                 }).connect(receiver(to));
    w.context->poll();
  }
  CHECK(made == 0);
  CHECK(to.count == 0);
}

PROMISE(sender_destroyed, each_engine, "destroying a started state ends its operation, and completes nothing") {
  auto file = w.with(4096);
  memory target(4096);
  completion pending, in_flight;
  int made = 0;
  const auto sender = qio::as_sender(file, [&] {
    ++made;
    return file.async_read_at(0, target.all());
  });
  {
    auto state = sender.connect(receiver(pending));
    state.start();  // posted
  }
  while (w.context->poll()) {}
  CHECK(made == 0);
  small_source source;
  std::optional<qio::posted_call> within;
  {
    const auto state = connected(sender, stoppable_receiver(in_flight, source.get_token()));
    within.emplace([&] { state->start(); });
    w.context->post(*within);
    while (made == 0) w.context->run_one();
    // Without the engine, it may have completed: then there is nothing to destroy.
    if (in_flight.count == 0) source.request_stop();  // which is posted
  }
  const int before = in_flight.count;
  CHECK(!source.has_callback());
  while (w.context->poll()) {}
  CHECK(in_flight.count == before);
  CHECK(pending.count == 0);
}

// --- the scheduler ---

PROMISE(scheduler_equality, each_engine, "schedulers are equal if they are of the same context") {
  auto file = w.with(0);
  auto other = w.new_context().value();
  const auto scheduler = qio::get_scheduler(*w.context);
  static_assert(std::is_trivially_copyable_v<decltype(scheduler)>);
  CHECK(scheduler == qio::get_scheduler(file));
  CHECK(scheduler != qio::get_scheduler(other));
  const auto where_completes = ex::get_completion_scheduler<ex::set_value_t>;
  CHECK(where_completes(ex::get_env(scheduler.schedule())) == scheduler);
  CHECK(where_completes(ex::get_env(qio::senders::sync(file))) == scheduler);
  auto moved = std::move(*w.context);
  CHECK(scheduler == qio::get_scheduler(moved));
  w.context.emplace(std::move(moved));
}

PROMISE(scheduler_schedules, each_engine, "schedule() completes on the context's thread, whichever starts it") {
  const auto scheduler = qio::get_scheduler(*w.context);
  completion here, again;
  auto own = scheduler.schedule().connect(receiver(here));
  auto next = scheduler.schedule().connect(receiver(again));
  here.then = [&] { next.start(); };
  own.start();
  CHECK(here.count == 0);
  run_until_completed(*w.context, again);  // within run_one(), the second is started
  CHECK((here.values == 1 && here.count == 1));
  CHECK((again.values == 1 && again.count == 1));
  completion there;
  auto elsewhere = scheduler.schedule().connect(receiver(there));
  std::thread([&] { elsewhere.start(); }).join();
  run_until_completed(*w.context, there);
  CHECK(there.thread == std::this_thread::get_id());
}

PROMISE(scheduler_stopped, each_engine, "schedule() is stopped if a stop was requested before its turn") {
  completion to;
  small_source source;
  auto state = qio::get_scheduler(*w.context).schedule().connect(stoppable_receiver(to, source.get_token()));
  state.start();
  source.request_stop();
  run_until_completed(*w.context, to);
  CHECK((to.stops == 1 && to.count == 1));
}

PROMISE(scheduler_destroyed, each_engine, "destroying a started state of schedule() completes nothing") {
  completion to;
  {
    auto state = qio::get_scheduler(*w.context).schedule().connect(receiver(to));
    state.start();
  }
  while (w.context->poll()) {}
  CHECK(to.count == 0);
}

// --- the end of the context ---

PROMISE(execution_ending, each_engine, "the end of a context completes all states: stopped, or with context_closed") {
  auto file = w.with(4096);
  memory target(4096);
  const auto scheduler = qio::get_scheduler(*w.context);
  const auto sender = qio::senders::read_at(file, 0, target.all());
  completion scheduled, pending, within_scheduled, within_pending;
  auto one = scheduler.schedule().connect(receiver(scheduled));
  auto two = sender.connect(receiver(pending));
  auto three = scheduler.schedule().connect(receiver(within_scheduled));
  auto four = sender.connect(receiver(within_pending));
  scheduled.then = [&] {
    three.start();
    four.start();
  };
  one.start();
  two.start();
  w.context.reset();
  CHECK((scheduled.stops == 1 && scheduled.count == 1));
  CHECK((within_scheduled.stops == 1 && within_scheduled.count == 1));
  for (completion* each : {&pending, &within_pending}) {
    CHECK((each->errors == 1 && each->count == 1));
    CHECK(each->failure.value_or(errc()) == errc::context_closed);
  }
}

PROMISE(execution_ended, each_engine, "after the end of the context, start() completes at once") {
  auto file = w.with(4096);
  int made = 0;
  memory target(4096);
  const auto scheduler = qio::get_scheduler(*w.context);
  const auto sender = qio::as_sender(file, [&] {
    ++made;
    return file.async_read_at(0, target.all());
  });
  w.context.reset();
  completion scheduled, read;
  auto one = scheduler.schedule().connect(receiver(scheduled));
  auto two = sender.connect(receiver(read));
  one.start();
  two.start();
  CHECK((scheduled.stops == 1 && scheduled.count == 1));
  REQUIRE((read.errors == 1 && read.count == 1));
  CHECK(*read.failure == errc::context_closed);
  CHECK(made == 0);
}

PROMISE(execution_ending_races, each_engine, "states that other threads start while the context ends complete once") {
  auto file = w.with(4096);
  memory target(4096);
  for (int round = 0; round < 4; ++round) {
    std::optional context = w.new_context().value();
    const auto scheduler = qio::get_scheduler(*context);
    const auto sender = qio::senders::call(*context, [] { return std::string("called"); });
    std::atomic<int> completed = 0;
    std::atomic<bool> has_ended = false;
    std::thread other([&] {
      while (!has_ended) {
        completion scheduled, called;
        auto one = scheduler.schedule().connect(receiver(scheduled));
        auto two = sender.connect(receiver(called));
        one.start();
        two.start();
        wait_for(scheduled.count, 1);
        wait_for(called.count, 1);
        if (scheduled.count != 1 || called.count != 1) std::abort();
        ++completed;
      }
    });
    while (completed < 3) context->poll();
    context.reset();
    has_ended = true;
    other.join();
    CHECK(completed >= 3);
  }
}

}  // namespace contract
