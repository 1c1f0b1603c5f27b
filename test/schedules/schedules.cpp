// What several threads do with contexts, files and stop tokens, in one schedule after another: by worker threads, and
// by a model of io_uring.
//   QIO_SCHEDULES      schedules of each scenario and engine; 1,000, each night 5,000
//   QIO_SCHEDULE_SEED  only this one
#include "catch.hpp"
#include "directory.hpp"
#include "scenarios.hpp"
#include <qio/call.hpp>
#include <qio/io_scheduler.hpp>
#include <qio/shared_file.hpp>
#include <qio/shared_log.hpp>

#include <poll.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace schedules {
namespace {

// --- what is handed to a loop ---

/// Threads post again and again. The last post of each is followed by a call, which sees what was done before it.
void posts() {
  constexpr int threads = 2, times = 3;
  struct poster {
    int done = 0, seen = 0, calls = 0;
    std::optional<qio::posted_call> call;
  };
  std::array<poster, threads> posters;
  std::optional<qio::context> context(new_context());
  for (poster& each : posters)
    each.call.emplace([of = &each] {
      of->seen = of->done;
      ++of->calls;
    });
  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  std::thread runner([&] { context->run_until(token); });
  std::vector<std::thread> all;
  for (poster& each : posters)
    all.emplace_back([&] {
      for (int i = 0; i != times; ++i) {
        ++each.done;
        context->post(*each.call);
      }
    });
  if (choose(2) == 0) stop.request_stop();
  for (std::thread& each : all) each.join();
  stop.request_stop();
  runner.join();
  context.reset();
  for (const poster& each : posters) {
    expect(each.seen == times, "a post was lost");
    expect(each.calls >= 1 && each.calls <= times, "a call ran more often than it was posted");
  }
}

/// A loop that runs until a post from another thread: nothing else would wake it.
void post_ends_run() {
  qio::context context = new_context();
  event arrived;
  qio::posted_call call([&arrived] { arrived.set(); });
  std::thread runner([&] { context.run(until(arrived)); });
  std::thread poster([&] { context.post(call); });
  poster.join();
  runner.join();
}

/// Calls that destroy themselves, and calls that are taken back, while others are posted.
void posts_are_destroyed() {
  qio::context context = new_context();
  int ran = 0;
  event arrived;
  struct self_destroying {
    int* ran;
    event* arrived;
    qio::posted_call call{[this] {
      if (++*ran == 4) arrived->set();
      delete this;
    }};
  };
  std::thread runner([&] {
    const auto never_run = std::make_unique<qio::posted_call>([] { expect(false, "a call ran that was destroyed"); });
    context.post(*never_run);
  });
  runner.join();
  std::thread second([&] { context.run(until(arrived)); });
  std::array<std::thread, 2> posters;
  for (std::thread& each : posters)
    each = std::thread([&] {
      for (int i = 0; i != 2; ++i) context.post((new self_destroying{&ran, &arrived})->call);
    });
  for (std::thread& each : posters) each.join();
  second.join();
  expect(ran == 4, "a post was lost");
}

/// Coroutines that other threads hand to a context.
void coroutines_arrive() {
  qio::context context = new_context();
  int arrived = 0;
  event all;
  std::thread runner([&] { context.run(until(all)); });
  std::array<std::thread, 2> threads;
  for (std::thread& each : threads)
    each = std::thread([&] {
      for (int i = 0; i != 2; ++i)
        [](qio::context& to, int& count, event& end) -> detached {
          expect(co_await to.schedule(), "a context closed before a coroutine arrived");
          if (++count == 4) end.set();
        }(context, arrived, all);
    });
  for (std::thread& each : threads) each.join();
  runner.join();
}

qio::task<int> visit(qio::context& other) {
  co_await other.schedule();
  co_return 1;
}

/// A task visits the other context, and its awaiter continues at home, whatever ends first.
void tasks_visit() {
  qio::context other = new_context();
  event stopped;
  std::thread neighbor([&] { other.run(until(stopped)); });
  {
    qio::context home = new_context();
    const auto here = std::this_thread::get_id();
    const auto both = [&]() -> qio::task<int> {
      int right = 0;
      for (int i = 0; i != 2; ++i) {
        right += co_await visit(other);
        expect(std::this_thread::get_id() == here, "a coroutine continued on another thread than its context's");
      }
      co_return right;
    };
    expect(home.run(both()) == 2, "a task was lost");
    // Another one may finish after its home has closed.
    const auto starts = [&]() -> qio::task<> {
      [](qio::context& to) -> detached { co_await visit(to); }(other);
      co_return;
    };
    home.run(starts());
  }
  [](qio::context& to, event& end) -> detached {
    co_await to.schedule();
    end.set();
  }(other, stopped);
  neighbor.join();
}

/// Another event loop, which sleeps until the context's handle is readable.
void other_loop() {
  qio::context context = new_context();
  async_file file = open_file(context);
  int arrived = 0;
  std::thread poster([&] {
    for (int i = 0; i != 2; ++i)
      [](qio::context& to, int& count) -> detached {
        co_await to.schedule();
        ++count;
      }(context, arrived);
  });
  std::deque<reading> reads;
  for (std::size_t i = 0; i != 3; ++i) reads.emplace_back(i).start(file);
  unsigned called = 0;
  auto call = qio::async_call(context, [] {});
  call.start([&called](qio::result<void> answer) {
    expect(bool(answer), "a call failed");
    ++called;
  });
  const int handle = context.wake_handle().value();
  const auto has_all = [&] {
    for (const reading& each : reads)
      if (!each.has_ended()) return false;
    return arrived == 2 && called == 1;
  };
  while (!has_all()) {
    if (context.prepare_to_wait()) {
      pollfd ready{handle, POLLIN, 0};
      ::poll(&ready, 1, -1);
    }
    context.poll();
  }
  poster.join();
}

/// Contexts come and go on several threads, which enter them into one list.
void contexts_come_and_go() {
  std::array<std::thread, 3> threads;
  for (std::thread& each : threads)
    each = std::thread([] {
      for (int i = 0; i != 2; ++i) {
        qio::context context = new_context();
        qio::context other = new_context();
        const auto ends_elsewhere = [&]() -> qio::task<> { co_return; };
        context.run(ends_elsewhere());
        int ran = 0;
        qio::posted_call call([&ran] { ++ran; });
        other.post(call);
        while (ran == 0) other.run_one();
      }
    });
  for (std::thread& each : threads) each.join();
}

// --- stop tokens, deadlines, destruction ---

/// A thread requests stops while the operations complete.
void stops() {
  qio::context context = new_context();
  async_file file = open_file(context);
  std::array<std::stop_source, 2> sources;
  const std::array<std::stop_token, 2> tokens{sources[0].get_token(), sources[1].get_token()};
  std::deque<reading> reads;
  std::thread stopper([&] {
    for (std::stop_source& each : sources) each.request_stop();
  });
  for (std::size_t i = 0; i != 4; ++i) {
    reading& each = reads.emplace_back(i);
    each.may_be_canceled = i < 2;
    if (i < 2)
      each.start(file, {.stop = tokens[i]});
    else
      each.start(file);
  }
  context.run();
  for (const reading& each : reads) expect(each.has_ended(), "run() has returned before an operation ended");
  stopper.join();
  while (context.poll()) {}
}

/// Operations end by their deadlines, are canceled, and are destroyed, in any state.
void canceled_and_destroyed() {
  qio::context context = new_context();
  async_file file = open_file(context);
  std::stop_source source;
  const std::stop_token token = source.get_token();
  std::deque<reading> reads;
  for (std::size_t i = 0; i != 6; ++i) {
    reading& each = reads.emplace_back(i);
    each.may_be_canceled = i < 4;
    reading::options options;
    if (i == 1) options.deadline = std::chrono::microseconds(choose(50));
    if (i == 2) options.stop = token;
    each.start(file, options);
  }
  std::thread stopper([&] { source.request_stop(); });
  for (unsigned polls = choose(4); polls != 0; --polls) context.poll();
  if (!reads[0].has_ended()) reads[0].cancel();
  if (choose(2) == 0) context.poll();
  if (!reads[3].has_ended()) reads[3].cancel();
  if (choose(2) == 0) reads[2].destroy();
  reads[5].destroy();
  context.run();
  expect(reads[0].has_ended() && reads[1].has_ended() && reads[4].has_ended(), "an operation did not end");
  stopper.join();
}

/// Cancellations for which the ring has no place wait, while what they cancel completes and is destroyed.
void cancellations_wait() {
  qio::context_options options = some_options();
  options.queue_depth = 1;
  qio::context context = new_context(options);
  async_file file = open_file(context);
  std::deque<reading> reads;
  for (std::size_t i = 0; i != 8; ++i) {
    reading& each = reads.emplace_back(i);
    each.may_be_canceled = true;
    each.start(file);
  }
  for (reading& each : reads) {
    context.poll();
    if (!each.has_ended()) each.cancel();
    if (choose(4) == 0) each.destroy();
  }
  context.run();
}

/// Sleeping coroutines are stopped by a thread while their time comes.
void sleeps() {
  qio::context context = new_context();
  std::array<std::stop_source, 2> sources;
  int ended = 0;
  std::thread stopper([&] {
    for (std::stop_source& each : sources) each.request_stop();
  });
  const auto sleeper = [&](std::stop_token stop, std::chrono::nanoseconds time) -> qio::task<> {
    const auto slept = co_await context.sleep_for(time, stop);
    expect(slept || slept.error() == std::errc::operation_canceled, "a sleep failed");
    ++ended;
  };
  const auto both = [&]() -> qio::task<> {
    std::vector<qio::task<>> all;
    all.push_back(sleeper(sources[0].get_token(), std::chrono::hours(1)));
    all.push_back(sleeper(sources[1].get_token(), std::chrono::microseconds(1 + choose(20))));
    co_await qio::when_all(std::move(all));
  };
  context.run(both());
  expect(ended == 2, "a sleep did not end");
  stopper.join();
}

/// A context ends, and its file before or after it, while operations are in flight and a thread requests a stop.
void teardown() {
  std::stop_source source;
  const std::stop_token token = source.get_token();
  std::thread stopper([&] { source.request_stop(); });
  std::deque<reading> reads;
  {
    std::optional<async_file> outlives;
    std::optional<qio::context> context(new_context());
    outlives.emplace(open_file(*context));
    for (std::size_t i = 0; i != 4; ++i) {
      reading& each = reads.emplace_back(i);
      each.may_be_canceled = each.may_fail = true;
      if (i % 2 == 0)
        each.start(*outlives, {.stop = token});
      else
        each.start(*outlives);
    }
    for (unsigned polls = choose(3); polls != 0; --polls) context->poll();
    if (choose(3) == 0) static_cast<void>(outlives->close());
    context.reset();
    for (const reading& each : reads)
      expect(each.has_ended() || !outlives->is_open(), "a context ended before an operation of it");
    reads.clear();
  }
  stopper.join();
}

/// A file is closed while its operations are in flight; those of another file go on.
void closes() {
  qio::context context = new_context();
  async_file closed = open_file(context), stays = open_file(context);
  std::deque<reading> reads;
  for (std::size_t i = 0; i != 6; ++i) {
    reading& each = reads.emplace_back(i);
    each.may_be_canceled = i % 2 == 0;
    each.start(i % 2 == 0 ? closed : stays);
  }
  for (unsigned polls = choose(3); polls != 0; --polls) context.poll();
  expect(bool(closed.close()), "a file could not be closed");
  context.run();
  for (const reading& each : reads) expect(each.has_ended(), "an operation did not end");
}

// --- workers ---

/// Calls that workers carry out, with deadlines and stops.
void calls() {
  qio::context context = new_context();
  std::stop_source source;
  const std::stop_token token = source.get_token();
  std::array<int, 4> ran{};
  unsigned ended = 0;
  const auto call = [&](std::size_t which, qio::operation_options options) -> qio::task<> {
    auto operation = qio::async_call(
        context,
        [&ran, which] {
          ++ran[which];
          return which;
        },
        options);
    const qio::result<std::size_t> answer = co_await operation;
    ++ended;
    if (answer) {
      expect(answer.value() == which && ran[which] == 1, "a call returned without having been made");
    } else {
      expect(which >= 2 && ran[which] == 0, "a call was made that has failed");
    }
  };
  std::thread stopper([&] { source.request_stop(); });
  const auto all = [&]() -> qio::task<> {
    std::vector<qio::task<>> made;
    made.push_back(call(0, {}));
    made.push_back(call(1, {}));
    made.push_back(call(2, {.stop = token}));
    made.push_back(call(3, {.deadline = std::chrono::microseconds(choose(20))}));
    co_await qio::when_all(std::move(made));
  };
  context.run(all());
  expect(ended == 4, "a call did not end");
  stopper.join();
}

// --- files of several threads ---

/// One of several threads closes the file for all of them.
void shared_file() {
  auto file = qio::shared_file<qio::cached>::open(path_of_file).value();
  std::array<std::thread, 2> threads;
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      qio::context context = new_context();
      auto mine = file.open_on(context);
      if (!mine) return;
      std::deque<reading> reads;
      for (std::size_t i = 0; i != 2; ++i) {
        reading& each = reads.emplace_back(i);
        each.may_fail = each.may_be_canceled = true;
        each.start(mine.value());
      }
      context.run();
      for (const reading& each : reads) expect(each.has_ended(), "an operation did not end");
    });
  std::thread blocking([&] {
    auto mine = file.open_blocking();
    if (!mine) return;
    std::array<std::byte, page> buffer;
    const auto answer = mine.value().read_at(0, buffer);
    expect(!answer || answer.value() == page, "a read was short");
    expect(!answer || buffer[page - 1] == contents(0), "a read returned wrong data");
  });
  if (choose(4) == 0) threads[0].join();
  expect(bool(file.close()), "a shared file could not be closed");
  for (std::thread& each : threads)
    if (each.joinable()) each.join();
  blocking.join();
}

/// A file on two contexts, each on its thread. One closes it while the other uses it; syncs of both overlap.
void shared_with() {
  qio::context here = new_context(), there = new_context();
  async_file first = open_file(here);
  std::optional<async_file> second(first.share_with(there).value());
  std::thread other([&] {
    reading read(1);
    read.start(*second);
    unsigned synced = 0;
    auto sync = second->async_sync();
    sync.start([&synced](qio::result<void> answer) {
      expect(bool(answer), "a sync failed");
      ++synced;
    });
    there.run();
    expect(read.has_ended() && synced == 1, "an operation did not end");
    second.reset();
  });
  std::deque<reading> reads;
  for (std::size_t i = 0; i != 2; ++i) {
    reads.emplace_back(i).may_be_canceled = true;
    reads.back().start(first);
  }
  auto sync = first.async_sync();
  unsigned synced = 0;
  sync.start([&synced](qio::result<void> answer) {
    expect(answer || answer.error() == std::errc::operation_canceled, "a sync failed");
    ++synced;
  });
  for (unsigned polls = choose(3); polls != 0; --polls) here.poll();
  expect(bool(first.close()), "a file could not be closed");
  here.run();
  expect(synced == 1, "a sync did not end");
  for (const reading& each : reads) expect(each.has_ended(), "an operation did not end");
  other.join();
}

/// Blocking operations of one file by several threads, beside asynchronous ones. Their syncs wait for one another.
void blocking() {
  auto file = qio::shared_file<qio::cached>::open(path_of_file, qio::access::read_write).value();
  std::array<std::thread, 3> threads;
  for (std::size_t which = 0; which != threads.size(); ++which)
    threads[which] = std::thread([&, which] {
      auto mine = file.open_blocking().value();
      std::array<std::byte, page> buffer;
      buffer.fill(contents(which));
      if (which != 0) expect(bool(mine.write_at(which * page, buffer)), "a write failed");
      for (int syncs = 0; syncs != 2; ++syncs) expect(bool(mine.sync()), "a sync failed");
      buffer.fill({});
      expect(bool(mine.read_at(which * page, buffer)) && buffer[0] == contents(which), "a read returned wrong data");
    });
  qio::context context = new_context();
  auto mine = file.open_on(context).value();
  reading read(3);
  read.start(mine);
  unsigned synced = 0;
  const auto count = [&synced](qio::result<void> answer) {
    expect(bool(answer), "a sync failed");
    ++synced;
  };
  auto first = mine.async_sync(), second = mine.async_sync();
  first.start(count);
  second.start(count);
  context.run();
  expect(read.has_ended() && synced == 2, "an operation did not end");
  for (std::thread& each : threads) each.join();
}

/// Contexts on two threads, whose operations wait for each other in a scheduler.
void classes() {
  qio::io_scheduler scheduler({.latency_goal = std::chrono::milliseconds(1), .largest_part = page / 2});
  const qio::io_class background = scheduler.make_class();
  std::array<std::thread, 2> threads;
  std::stop_source source;
  const std::stop_token token = source.get_token();
  for (std::size_t which = 0; which != threads.size(); ++which)
    threads[which] = std::thread([&, which] {
      qio::context_options options = some_options();
      options.io_class = which == 0 ? scheduler.foreground() : background;
      qio::context context = new_context(options);
      async_file file = open_file(context);
      std::deque<reading> reads;
      for (std::size_t i = 0; i != 3; ++i) {
        reading& each = reads.emplace_back(i);
        each.may_be_canceled = i == 2;
        reading::options how;
        if (i == 1) how.io_class = background;
        if (i == 2) how.stop = token;
        each.start(file, how);
      }
      context.run();
      for (const reading& each : reads) expect(each.has_ended(), "an operation did not end");
    });
  if (choose(2) == 0) source.request_stop();
  for (std::thread& each : threads) each.join();
}

/// Threads that append to one log, which has a context on a thread of its own.
void log() {
  const std::string path = path_of_file + ".log";
  qio::shared_log_options options;
  options.context = some_options();
  options.log.extent = 2 * page;
  options.log.largest_batch = page;
  options.log.id = 1;
  unsigned records = 0;
  const auto count = [&records](const qio::log_record&) {
    ++records;
    return true;
  };
  {
    auto log = qio::shared_log<qio::cached>::open(path, count, options).value();
    std::array<std::thread, 2> threads;
    for (std::size_t which = 0; which != threads.size(); ++which)
      threads[which] = std::thread([&, which] {
        for (std::size_t i = 0; i != 2; ++i) {
          const std::array<std::byte, 2> record{static_cast<std::byte>(which), static_cast<std::byte>(i)};
          expect(bool(log.append(record)), "a record was not appended");
        }
      });
    for (std::thread& each : threads) each.join();
  }
  { const auto again = qio::shared_log<qio::cached>::open(path, count, options).value(); }
  expect(records == 4, "a record is missing");
  std::remove(path.c_str());
}

// --- all of them ---

struct scenario {
  const char* name;
  void (*body)();
};
constexpr scenario scenarios[] = {
    {"posts", posts},
    {"post ends run", post_ends_run},
    {"posts are destroyed", posts_are_destroyed},
    {"coroutines arrive", coroutines_arrive},
    {"tasks visit", tasks_visit},
    {"other loop", other_loop},
    {"contexts come and go", contexts_come_and_go},
    {"stops", stops},
    {"canceled and destroyed", canceled_and_destroyed},
    {"cancellations wait", cancellations_wait},
    {"sleeps", sleeps},
    {"teardown", teardown},
    {"closes", closes},
    {"calls", calls},
    {"shared file", shared_file},
    {"shared with", shared_with},
    {"blocking", blocking},
    {"classes", classes},
    {"log", log},
};

void write_file(const qio_test::directory& in) {
  path_of_file = in / "data";
  std::ofstream to(path_of_file, std::ios::binary);
  for (std::size_t which = 0; which != pages; ++which) to << std::string(page, static_cast<char>(contents(which)));
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct explored {
  std::uint64_t schedules = 0, points = 0, switches = 0;
  std::unordered_set<std::uint64_t> digests;
};

/// One schedule after another of a scenario, and some of them again.
void explore(const scenario& of, qio::engine_kind engine, std::uint64_t count, explored& all) {
  present_engine = engine;
  const std::string name = std::string(of.name) + (engine == qio::engine_kind::ring ? ", ring" : ", workers");
  run(name.c_str(), 0, of.body);  // what is made once for the process is made here
  constexpr std::uint64_t any = 0;
  const std::uint64_t only = number_from("QIO_SCHEDULE_SEED", any);
  const std::uint64_t first = only == any ? 1 : only, last = only == any ? count : only;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const outcome found = run(name.c_str(), seed, of.body);
    ++all.schedules;
    all.points += found.points;
    all.switches += found.switches;
    all.digests.insert(found.digest);
    if (seed % 64 != 1) continue;
    // The files are real: rarely, the system answers otherwise, such as that a read of a cached page would have to
    // wait.
    std::uint64_t newest = found.digest;
    const auto repeats = [&] {
      const std::uint64_t before = std::exchange(newest, run(name.c_str(), seed, of.body).digest);
      return newest == before;
    };
    if (!repeats() && !repeats() && !repeats())
      FAIL("\"" << name << "\" differs each time that it runs with the seed " << seed);
  }
}

void explore(std::string_view name, qio::engine_kind engine, std::uint64_t otherwise) {
  const qio_test::directory here;
  write_file(here);
  const std::uint64_t count = number_from("QIO_SCHEDULES", otherwise);
  explored all;
  for (const scenario& each : scenarios)
    if (name.empty() || name == each.name) explore(each, engine, count, all);
  REQUIRE(all.schedules != 0);
  INFO(all.schedules << " schedules, " << all.digests.size() << " different ones, " << all.points << " points, "
                     << all.switches << " switches");
  SUCCEED();
}

constexpr std::uint64_t each_change = 1'000, each_night = 5'000;

constexpr bool has_ring = !QIO_LACKS_LIBURING;

/// By each engine.
void explore(std::string_view name) {
  explore(name, qio::engine_kind::workers, each_change);
  if (has_ring) explore(name, qio::engine_kind::ring, each_change);
}

}  // namespace

TEST_CASE("in each schedule, what threads post to a context runs") {
  explore("posts");
  explore("post ends run");
  explore("posts are destroyed");
}
TEST_CASE("in each schedule, coroutines arrive at the context that they await") {
  explore("coroutines arrive");
  explore("tasks visit");
}
TEST_CASE("in each schedule, another event loop is woken for what a context has to do") { explore("other loop"); }
TEST_CASE("in each schedule, contexts may be created and destroyed by several threads") {
  explore("contexts come and go");
}
TEST_CASE("in each schedule, operations and sleeps that a thread stops end once") {
  explore("stops");
  explore("sleeps");
}
TEST_CASE("in each schedule, buffers are not used after operations were canceled or destroyed") {
  explore("canceled and destroyed");
  explore("cancellations wait");
  explore("teardown");
  explore("closes");
}
TEST_CASE("in each schedule, calls on worker threads are made once or not at all") { explore("calls"); }
TEST_CASE("in each schedule, files are used by several threads and closed by one") {
  explore("shared file");
  explore("shared with");
  explore("blocking");
}
TEST_CASE("in each schedule, operations of all classes end") { explore("classes"); }
TEST_CASE("in each schedule, records are appended by several threads") { explore("log"); }

TEST_CASE("in 95,000 schedules, contexts over workers, threads and stop tokens work together", "[nightly]") {
  explore("", qio::engine_kind::workers, each_night);
}
TEST_CASE("in 95,000 schedules, contexts over a ring, threads and stop tokens work together", "[nightly]") {
  if (!has_ring) QIO_SKIP("this program is built without io_uring");
  explore("", qio::engine_kind::ring, each_night);
}

}  // namespace schedules
