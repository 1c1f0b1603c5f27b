// Mistakes that are noticed where QIO_CHECKS is 1.
#include "mistake.hpp"
#include <qio/bounced.hpp>
#include <qio/buffer_pool.hpp>
#include <qio/engine/simulated.hpp>
#include <qio/execution.hpp>
#include <qio/io_scheduler.hpp>
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>
#include <qio/reader.hpp>
#include <qio/shared_log.hpp>
#include <qio/when_any.hpp>
#include <qio/writer.hpp>

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

// On a simulated disk, which leaves no files behind.
using context = qio::basic_context<qio::simulated>;
using file = qio::async_file<qio::cached, qio::simulated>;

qio::task<int> value(int number) { co_return number; }

struct world {
  context on = context::create().value();
  file data = qio::cached_file::open(on, "data", qio::access::read_write, qio::creation::always_new).value();
  std::array<std::byte, 16> buffer{};

  auto read() { return data.async_read_at(0, buffer); }
  static qio::task<> nothing() { co_return; }
};

constexpr auto ignore = [](qio::result<std::size_t>) {};

MISTAKE("poll() on a moved-from context", "a moved-from context was used") {
  world w;
  context moved = std::move(w.on);
  w.on.poll();
}

MISTAKE("too many classes", "an io_scheduler was asked for more than 16 classes") {
  qio::io_scheduler scheduler;
  for (int i = 0; i < 17; ++i) static_cast<void>(scheduler.make_class());
}

MISTAKE("an io_scheduler destroyed before its context", "an io_scheduler was destroyed before a context that uses it") {
  std::optional<qio::io_scheduler> scheduler(std::in_place);
  auto on = context::create({.io_class = scheduler->foreground()}).value();
  scheduler.reset();
}

MISTAKE("run() on a moved-from context", "a moved-from context was used") {
  world w;
  context moved = std::move(w.on);
  w.on.run();
}

MISTAKE("run(task) on a moved-from context", "a moved-from context was used") {
  world w;
  context moved = std::move(w.on);
  w.on.run(value(1));
}

MISTAKE("explain() on a moved-from context", "a moved-from context was used") {
  world w;
  context moved = std::move(w.on);
  static_cast<void>(w.on.explain());
}

MISTAKE("schedule() on a moved-from context", "a moved-from context was used") {
  world w;
  context moved = std::move(w.on);
  static_cast<void>(w.on.schedule());
}

MISTAKE("registered_memory() on a moved-from context", "a moved-from context was used") {
  world w;
  context moved = std::move(w.on);
  static_cast<void>(w.on.registered_memory());
}

// NOLINTBEGIN(bugprone-use-after-move): the mistakes
MISTAKE("a task is awaited twice", "a task was awaited or run twice: it runs once") {
  world w;
  w.on.run([]() -> qio::task<int> {
    auto once = value(1);
    const int first = co_await std::move(once);
    co_return first + co_await std::move(once);
  }());
}

MISTAKE("a moved-from task is awaited", "an empty task was awaited or run: it has been moved from") {
  world w;
  w.on.run([]() -> qio::task<int> {
    auto from = value(1);
    [[maybe_unused]] auto to = std::move(from);
    co_return co_await std::move(from);
  }());
}

MISTAKE("a moved-from task is run", "an empty task was awaited or run: it has been moved from") {
  world w;
  auto from = value(1);
  [[maybe_unused]] auto to = std::move(from);
  w.on.run(std::move(from));
}

MISTAKE("a moved-from task is given to when_all", "an empty task was awaited or run: it has been moved from") {
  world w;
  auto from = value(1);
  [[maybe_unused]] auto to = std::move(from);
  w.on.run(qio::when_all(std::move(from), value(2)));
}
// NOLINTEND(bugprone-use-after-move)

MISTAKE("when_any of no task", "when_any was given a function that made no task") {
  world w;
  w.on.run(qio::when_any([](const std::stop_token&) { return std::vector<qio::task<int>>(); }));
}

MISTAKE("an operation is started twice", "an operation was started that has already been started or awaited") {
  world w;
  auto read = w.read();
  read.start(ignore);
  read.start(ignore);
}

MISTAKE("an operation is started again after it completed", "an operation was started that has already been started") {
  world w;
  auto read = w.read();
  read.start(ignore);
  w.on.run();
  read.start(ignore);
}

MISTAKE("a started operation is awaited", "an operation was awaited that has already been started or awaited") {
  world w;
  w.on.run([](world& in) -> qio::task<> {
    auto read = in.read();
    read.start(ignore);
    static_cast<void>(co_await read);
  }(w));
}

MISTAKE("an operation is awaited twice", "an operation was awaited that has already been started or awaited") {
  world w;
  w.on.run([](world& in) -> qio::task<> {
    auto read = in.read();
    static_cast<void>(co_await read);
    static_cast<void>(co_await read);
  }(w));
}

MISTAKE("a started operation is run", "an operation was started that has already been started or awaited") {
  world w;
  auto read = w.read();
  read.start(ignore);
  static_cast<void>(w.on.run(std::move(read)));
}

MISTAKE("an operation is run on another context", "run() was given an operation of another context's file") {
  world w, other;
  static_cast<void>(other.on.run(w.read()));
}

MISTAKE("requests are destroyed while their batch is in flight", "a read_request or write_request was destroyed") {
  world w;
  std::optional<std::array<qio::read_request, 2>> requests(std::in_place);
  for (auto& each : *requests) each.buffer = w.buffer;
  auto batch = w.data.async_read_many(*requests);
  batch.start(ignore);
  requests.reset();
}

MISTAKE("a container of requests grows in flight", "a read_request or write_request was destroyed") {
  world w;
  std::vector<qio::read_request> requests(1);
  requests[0].buffer = w.buffer;
  auto batch = w.data.async_read_many(requests);
  batch.start(ignore);
  requests.resize(requests.capacity() + 1);
}

MISTAKE("a request is assigned to while its batch is in flight", "a read_request or write_request was assigned to") {
  world w;
  qio::write_request request{.buffer = w.buffer};
  auto batch = w.data.async_write_many({&request, 1});
  batch.start(ignore);
  request = {};
}

MISTAKE("a request is in two batches at once", "a read_request or write_request was given to a batch while another") {
  world w;
  qio::read_request request{.buffer = w.buffer};
  auto one = w.data.async_read_many({&request, 1});
  one.start(ignore);
  [[maybe_unused]] auto other = w.data.async_read_many({&request, 1});
}

MISTAKE("a batch is started twice", "an operation was started that has already been started or awaited") {
  world w;
  qio::read_request request{.buffer = w.buffer};
  auto batch = w.data.async_read_many({&request, 1});
  batch.start(ignore);
  batch.start(ignore);
}

MISTAKE("an empty slot is used", "an empty operation_slot was dereferenced: emplace() an operation first") {
  qio::operation_slot<qio::operation<qio::simulated, std::size_t>> slot;
  slot->cancel();
}

MISTAKE("poll() in a callback of the same context", "run() or poll() was called by a callback or coroutine") {
  world w;
  auto read = w.read();
  read.start([&w](qio::result<std::size_t>) { w.on.poll(); });
  w.on.run();
}

MISTAKE("run() in a coroutine of the same context", "run() or poll() was called by a callback or coroutine") {
  world w;
  w.on.run([](world& in) -> qio::task<> {
    in.on.run(value(1));
    co_return;
  }(w));
}

MISTAKE("a context is destroyed by its own callback", "a context was destroyed by one of its own callbacks or corout") {
  world w;
  std::optional<context> own = context::create().value();
  auto opened = qio::cached_file::open(*own, "data", qio::access::read_write, qio::creation::always_new).value();
  auto read = opened.async_read_at(0, w.buffer);
  read.start([&own](qio::result<std::size_t>) { own.reset(); });
  own->run();
}

MISTAKE("a context is run by two threads", "a context was run by another thread than the one that first ran it") {
  world w;
  w.on.poll();
  std::thread([&w] { w.on.poll(); }).join();
}

MISTAKE("an operation is started by another thread", "an operation was started by another thread than its context's") {
  world w;
  w.on.poll();
  auto sync = w.data.async_sync();
  std::thread([&sync] { sync.start([](qio::result<void>) {}); }).join();
}

MISTAKE("a scope ends, its task is elsewhere", "an operation was destroyed by another thread than the one that runs") {
  world w, other;
  const auto move_and_read = [&]() -> qio::task<void> {
    co_await other.on.schedule();
    static_cast<void>(co_await other.read());
  };
  qio::task_scope scope(w.on);
  scope.spawn(move_and_read());
  w.on.poll();
  std::thread([&other] { other.on.poll(); }).join();
}

/// Runs once, by a thread of its own.
void run_elsewhere(context& on) {
  std::thread([&on] { on.poll(); }).join();
}

MISTAKE("an operation is canceled by another thread", "an operation was canceled by another thread than its con") {
  world w;
  w.on.poll();
  auto read = w.read();
  read.start(ignore);
  std::thread([&read] { read.cancel(); }).join();
}

MISTAKE("a file is closed by another thread", "a file was closed by another thread than its context's") {
  world w;
  w.on.run([](world& in) -> qio::task<> {
    static_cast<void>(co_await in.read());
    std::thread([&in] { static_cast<void>(in.data.close()); }).join();
  }(w));
}

MISTAKE("closing elsewhere while a class waits", "a file was closed by another thread than its context's") {
  qio::io_scheduler scheduler;
  const qio::io_class slow = scheduler.make_class({.bytes_per_second = 1});
  auto on = context::create({.io_class = scheduler.foreground()}).value();
  file data = qio::cached_file::open(on, "data", qio::access::read_write, qio::creation::always_new, {.io_class = slow})
                  .value();
  const std::array<std::byte, 16> buffer{};
  static_cast<void>(on.run(data.async_write_at(0, buffer)));
  auto waits = data.async_write_at(0, buffer);
  waits.start(ignore);
  on.poll();
  std::thread([&data] { static_cast<void>(data.close()); }).join();
}

MISTAKE("a scope ends on another thread", "a task_scope was destroyed before its tasks ended, by another thread") {
  world w;
  std::optional<qio::task_scope> scope(std::in_place, w.on);
  scope->spawn(
      [](context& on) -> qio::task<void> { static_cast<void>(co_await on.sleep_for(std::chrono::hours(1))); }(w.on));
  w.on.poll();
  std::thread([&scope] { scope.reset(); }).join();
}

MISTAKE("a task is spawned by another thread", "a task was spawned in a task_scope by another thread") {
  world w;
  w.on.poll();
  qio::task_scope scope(w.on);
  const auto read = [&]() -> qio::task<void> { static_cast<void>(co_await w.read()); };
  std::thread([&] { scope.spawn(read()); }).join();
}

MISTAKE("a scope ends, its task sleeps elsewhere", "a sleeping coroutine was destroyed by another thread") {
  world w, other;
  const auto move_and_sleep = [&]() -> qio::task<void> {
    co_await other.on.schedule();
    static_cast<void>(co_await other.on.sleep_for(std::chrono::hours(1), std::stop_token()));
  };
  qio::task_scope scope(w.on);
  scope.spawn(move_and_sleep());
  w.on.poll();
  run_elsewhere(other.on);
}

MISTAKE("a scope ends, its task moves elsewhere", "a coroutine that awaits schedule() was destroyed by an") {
  world w, other;
  run_elsewhere(other.on);
  qio::task_scope scope(w.on);
  scope.spawn([](context& to) -> qio::task<void> { co_await to.schedule(); }(other.on));
  w.on.poll();
}

MISTAKE("next_deadline() on another thread", "next_deadline() was called by another thread than the one that runs") {
  world w;
  run_elsewhere(w.on);
  static_cast<void>(w.on.next_deadline());
}

MISTAKE("a scope ends while it is joined", "a task_scope was destroyed while a coroutine awaited join() or join_one") {
  world w;
  std::optional<qio::task_scope> scope(std::in_place, w.on);
  const auto read = [&]() -> qio::task<void> { static_cast<void>(co_await w.read()); };
  const auto join = [&]() -> qio::task<void> { co_await scope->join_one(); };
  scope->spawn(read());
  qio::task_scope outer(w.on);
  outer.spawn(join());
  w.on.poll();
  scope.reset();
}

MISTAKE("two join a scope", "two coroutines await join() or join_one() of the same task_scope") {
  world w;
  qio::task_scope scope(w.on), outer(w.on);
  const auto read = [&]() -> qio::task<void> { static_cast<void>(co_await w.read()); };
  const auto join = [&]() -> qio::task<void> { co_await scope.join_one(); };
  scope.spawn(read());
  outer.spawn(join());
  outer.spawn(join());
  w.on.poll();
}

MISTAKE("a file of another context is awaited in run()", "an operation was awaited inside another context's run()") {
  world w, other;
  w.on.run([](world& elsewhere) -> qio::task<> { static_cast<void>(co_await elsewhere.read()); }(other));
}

MISTAKE("a coroutine sleeps on another context in run()", "a coroutine slept on another context inside run()") {
  world w, other;
  w.on.run(
      [](context& on) -> qio::task<> { static_cast<void>(co_await on.sleep_for(std::chrono::hours(1))); }(other.on));
}

using log_writer = qio::log_writer<qio::cached, qio::simulated>;

log_writer log_of(world& w) {
  const auto accept = [](const qio::log_record&) { return true; };
  return w.on.run(qio::open_log(std::move(w.data), accept, {.extent = 4096, .largest_batch = 4096})).value();
}
constexpr auto ignore_number = [](qio::result<std::uint64_t>) {};

MISTAKE("a log of another context is awaited in run()", "an operation of a log was awaited inside another context's") {
  world w, other;
  auto log = log_of(other);
  w.on.run([](log_writer& to) -> qio::task<> { static_cast<void>(co_await to.append({})); }(log));
}

MISTAKE("another thread appends to a log", "a log was changed by another thread than its context's") {
  world w;
  auto log = log_of(w);
  auto append = log.append({});
  std::thread([&] { append.start(ignore_number); }).join();
}

MISTAKE("another thread destroys an append to a log", "an operation of a log was destroyed by another thread") {
  world w;
  auto log = log_of(w);
  std::optional<decltype(log.append({}))> append;
  struct place {
    log_writer& log;
    operator decltype(log.append({}))() { return log.append({}); }
  };
  append.emplace(place{log});
  append->start(ignore_number);
  std::thread([&] { append.reset(); }).join();
}

MISTAKE("a task destroys its own scope", "a task_scope was destroyed by a task that it was starting") {
  world w;
  std::optional<qio::task_scope> scope(std::in_place, w.on);
  const auto end = [&]() -> qio::task<void> {
    scope.reset();
    co_return;
  };
  const auto spawn = [&]() -> qio::task<void> {
    scope->spawn(end());
    co_return;
  };
  w.on.run(spawn());
}

MISTAKE("a moved-from task is spawned", "an empty task was awaited or run: it has been moved from") {
  world w;
  qio::task_scope scope(w.on);
  auto from = w.nothing();
  [[maybe_unused]] auto to = std::move(from);
  scope.spawn(std::move(from));
}

MISTAKE("a buffer_pool is destroyed while a buffer is in use", "a buffer_pool was destroyed while buffers of it were") {
  auto pool = std::optional(qio::buffer_pool::allocate().value());
  const auto buffer = pool->take().value();
  auto* volatile seen = &pool;  // not by the compiler, which would warn
  seen->reset();
}

MISTAKE("a part of a pooled buffer that is too long", "view() reaches past the end of the pooled_buffer") {
  auto pool = qio::buffer_pool::allocate({.buffer_bytes = 4096}).value();
  static_cast<void>(pool.take().value().view(1, 4096));
}

MISTAKE("a file is moved while bounced() reads it", "a file was moved or destroyed while an operation of bounced()") {
  world w;
  auto pool = qio::bounce_pool::allocate().value();
  auto from = qio::direct_file::open(w.on, "data", qio::access::read_write, qio::creation::if_needed).value();
  auto read = qio::bounced(from, pool).async_read_at(1, w.buffer);
  read.start(ignore);
  [[maybe_unused]] auto to = std::move(from);
  w.on.run();
}

MISTAKE("a file is destroyed while bounced() reads it", "a file was moved or destroyed while an operation of bou") {
  world w;
  auto pool = qio::bounce_pool::allocate().value();
  std::optional<qio::async_file<qio::direct, qio::simulated>> from;
  from.emplace(qio::direct_file::open(w.on, "data", qio::access::read_write, qio::creation::if_needed).value());
  auto read = qio::bounced(*from, pool).async_read_at(1, w.buffer);
  read.start(ignore);
  from.reset();
}

MISTAKE("a pending posted_call is destroyed elsewhere", "a pending posted_call was destroyed while another") {
  world w;
  std::optional<qio::posted_call> pending(std::in_place, [] {});
  qio::posted_call first([&] {
    w.on.post(*pending);
    std::thread([&] { pending.reset(); }).join();
  });
  w.on.post(first);
  w.on.poll();
}

MISTAKE("two operations of a reader are awaited", "a reader or writer was used while an operation of it was awaited") {
  world w;
  auto from = qio::reader<file>::create(w.data).value();
  auto first = from.next();
  if (!first.await_ready()) first.await_suspend(std::noop_coroutine());
  auto second = from.read(w.buffer);
  second.await_ready();
}

MISTAKE("a writer is used after finish()", "a writer was used after finish(): create another one") {
  world w;
  auto to = qio::writer<file>::create(w.data).value();
  w.on.run(to.finish()).value();
  static_cast<void>(to.write(w.buffer));
}

MISTAKE("the position of a moved-from reader is asked for", "position() of a reader that was moved from") {
  world w;
  auto from = qio::reader<file>::create(w.data).value();
  [[maybe_unused]] auto to = std::move(from);
  static_cast<void>(from.position());
}

MISTAKE("what a moved-from log of threads has found is asked for", "a moved-from shared_log was used") {
  const auto accept = [](const qio::log_record&) { return true; };
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto path = std::filesystem::temp_directory_path() / ("qio-moved-log-" + std::to_string(now));
  auto log = qio::shared_log<qio::cached>::open(path, accept).value();
  std::filesystem::remove(path);
  [[maybe_unused]] const auto moved = std::move(log);
  static_cast<void>(log.recovered());
}

MISTAKE("a scheduler of a moved-from context", "a scheduler or sender of a moved-from context was requested") {
  world w;
  [[maybe_unused]] const auto moved = std::move(w.on);
  static_cast<void>(qio::get_scheduler(w.on));
}

MISTAKE("the state of a sender is destroyed elsewhere", "the state of a sender was destroyed before it completed") {
  struct receiver {
    void set_value(std::size_t) && noexcept {}
    void set_error(const qio::error&) && noexcept {}
    void set_stopped() && noexcept {}
  };
  world w;
  const auto read = qio::senders::read_at(w.data, 0, w.buffer);
  std::unique_ptr<decltype(read.connect(receiver()))> state(new auto(read.connect(receiver())));
  qio::posted_call first([&] { std::thread([&] { state.reset(); }).join(); });
  w.on.post(first);
  state->start();  // its turn comes after that of the call
  w.on.poll();
}

}  // namespace
