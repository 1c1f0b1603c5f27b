// A context inside an io_context: every completion token, errors, cancellation, and the order of destruction. Compiled
// for Asio, and for Boost.Asio where QIO_TEST_BOOST_ASIO is defined.
// Asio's own memory comes from operator new, which fails here on purpose.
#define ASIO_DISABLE_STD_ALIGNED_ALLOC
#define ASIO_DISABLE_BOOST_ALIGN
#define BOOST_ASIO_DISABLE_STD_ALIGNED_ALLOC
#define BOOST_ASIO_DISABLE_BOOST_ALIGN
#include "catch.hpp"
#include "directory.hpp"
#include <qio/call.hpp>
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

// The features that came with a version, which both have.
#if defined(QIO_TEST_BOOST_ASIO)
#include <qio/boost_asio.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/bind_cancellation_slot.hpp>
#define HAS_CANCELLATION
#endif
#if BOOST_ASIO_VERSION >= 102400
#include <boost/asio/deferred.hpp>
#define HAS_DEFERRED
#endif
#if BOOST_ASIO_VERSION >= 103100
#include <boost/asio/cancel_after.hpp>
#define HAS_CANCEL_AFTER
#endif
namespace net = boost::asio;
using error_code = boost::system::error_code;
using system_error = boost::system::system_error;
using asio_context = qio::boost_asio_context;
#else
#include <qio/asio.hpp>

#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#if ASIO_VERSION >= 101900
#include <asio/bind_cancellation_slot.hpp>
#define HAS_CANCELLATION
#endif
#if ASIO_VERSION >= 102400
#include <asio/deferred.hpp>
#define HAS_DEFERRED
#endif
#if ASIO_VERSION >= 103100
#include <asio/cancel_after.hpp>
#define HAS_CANCEL_AFTER
#endif
namespace net = asio;
using error_code = std::error_code;
using system_error = std::system_error;
using asio_context = qio::asio_context;
#endif

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<std::size_t> allocations = 0;

/// How many allocations of this thread succeed before one fails; then all do again.
thread_local std::size_t allocations_until_failure = ~std::size_t(0);
bool is_to_fail() noexcept { return allocations_until_failure != ~std::size_t(0) && allocations_until_failure-- == 0; }

}  // namespace

// Not inlined: GCC would see malloc() and free() without the operators between, and call them mismatched.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (is_to_fail()) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace std::chrono_literals;

constexpr std::string_view contents = "forty-two";

/// An io_context with a context whose only worker a test can hold, and a file with contents.
struct world {
  explicit world(const qio::context_options& options = {}) : files(asio_context::create(loop, options).value()) {}

  static qio::context_options one_worker() {
    return {.engine = qio::engine_kind::workers, .workers = 1, .inline_work = qio::inline_work::never};
  }

  auto open() {
    auto file =
        qio::cached_file::open(files.context(), place / "data", qio::access::read_write, qio::creation::always_new)
            .value();
    file.write_at(0, std::as_bytes(std::span(contents))).value();
    return file;
  }

  qio_test::directory place;
  net::io_context loop;
  asio_context files;
};

/// Keeps a worker thread busy until it is let go.
class gate {
 public:
  gate() = default;
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { let_go(); }

  void let_go() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

  /// Starts a call that holds the worker.
  template <class Token>
  void hold(asio_context& files, Token&& token) {
    files.async_start([&] { return qio::async_call(files.context(), [this] { wait(); }); }, std::forward<Token>(token));
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

constexpr auto nothing = [](const auto&...) {};

/// A file that is opened before the coroutine that uses it is created.
template <class Function>
void run(world& w, Function function) {
  std::exception_ptr failure;
  net::co_spawn(w.loop, std::move(function), [&](std::exception_ptr left) { failure = left; });
  w.loop.run();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

TEST_CASE("a coroutine of Asio awaits reads and writes") {
  world w(GENERATE(qio::context_options{}, world::one_worker()));
  auto file = w.open();
  std::array<char, 64> text{};
  run(w, [&]() -> net::awaitable<void> {
    CHECK(co_await w.files.async_read_at(file, 0, net::buffer(text), net::use_awaitable) == contents.size());
    CHECK(std::string_view(text.data()) == contents);
    const std::string_view more = ", or so";
    CHECK(co_await w.files.async_write_at(file, contents.size(), net::buffer(more), net::use_awaitable) == more.size());
    CHECK(co_await w.files.async_write_at(file, 0, std::as_bytes(std::span("F", 1)), {.durable = true},
                                          net::use_awaitable) == 1);
    co_await w.files.async_sync(file, qio::sync_kind::data, net::use_awaitable);
    CHECK(co_await w.files.async_read_at(file, 0, std::as_writable_bytes(std::span(text)), {.deadline = 1min},
                                         net::use_awaitable) == contents.size() + more.size());
    CHECK(std::string_view(text.data()) == "Forty-two, or so");
    CHECK(co_await w.files.async_read_at(file, 100, net::buffer(text), net::use_awaitable) == 0);
  });
}

TEST_CASE("a callback gets the bytes, and is not called before the function returns") {
  world w;
  auto file = w.open();
  std::array<char, 64> text{};
  std::size_t bytes = 0;
  bool has_returned = false;
  net::post(w.loop, [&] {
    w.files.async_read_at(file, 0, net::buffer(text), [&](error_code failure, std::size_t got) {
      CHECK(!failure);
      CHECK(has_returned);
      bytes = got;
    });
    has_returned = true;
  });
  w.loop.run();
  CHECK(bytes == contents.size());
}

TEST_CASE("use_future and detached are served, by an io_context that another thread runs") {
  world w;
  auto file = w.open();
  std::array<char, 64> text{};
  auto guard = net::make_work_guard(w.loop);
  std::thread runs([&] {
    w.loop.run();
    w.files.close();
  });
  CHECK(w.files.async_read_at(file, 0, net::buffer(text), net::use_future).get() == contents.size());
  CHECK_THROWS_AS(w.files.async_start([&] { return file.async_resize(std::uint64_t(1) << 63); }, net::use_future).get(),
                  system_error);
  w.files.async_sync(file, qio::sync_kind::data, net::detached);
  guard.reset();
  runs.join();
}

// A test for the thread sanitizer: the other thread is still in the turn whose handler has set the future.
TEST_CASE("a thread that has the result of an operation destroys the context, while another runs the io_context") {
  net::io_context loop;
  auto work = net::make_work_guard(loop);
  std::thread other([&] { loop.run(); });
  for (int i = 0; i < 200; ++i) {
    auto files = asio_context::create(loop, {.engine = qio::engine_kind::workers}).value();
    const auto sleep = [&files](std::stop_token) -> qio::task<int> {
      static_cast<void>(co_await files.context().sleep_for(50us));
      co_return 1;
    };
    CHECK(files.async_run(sleep, net::use_future).get() == 1);
  }
  work.reset();
  other.join();
}

TEST_CASE("contexts of one io_context are created and destroyed by different threads") {
  net::io_context loop;
  auto work = net::make_work_guard(loop);
  std::thread other([&] { loop.run(); });
  for (int i = 0; i < 200; ++i) {
    auto created = asio_context::create(loop, {.engine = qio::engine_kind::workers});
    CHECK(created);
    net::post(loop, [files = std::move(created)]() mutable { files = qio::error(qio::errc::context_closed); });
  }
  work.reset();
  other.join();
}

#if defined(HAS_DEFERRED)
TEST_CASE("a deferred operation begins when it is given a handler") {
  world w;
  auto file = w.open();
  std::array<char, 64> text{};
  std::size_t bytes = 0;
  auto later = w.files.async_read_at(file, 0, net::buffer(text), net::deferred);
  w.loop.run();
  w.loop.restart();
  std::move(later)([&](error_code, std::size_t got) { bytes = got; });
  w.loop.run();
  CHECK(bytes == contents.size());
}
#endif

TEST_CASE("errors keep their codes") {
  world w;
  auto file =
      qio::cached_file::open(w.files.context(), w.place / "data", qio::access::read, qio::creation::if_needed).value();
  std::array<char, 64> text{};
  error_code denied, too_far, closed;
  w.files.async_write_at(file, 0, net::buffer(text), [&](error_code code, std::size_t) { denied = code; });
  w.files.async_read_at(file, ~std::uint64_t(0), net::buffer(text),
                        [&](error_code code, std::size_t) { too_far = code; });
  auto gone = w.open();
  gone.close().value();
  w.files.async_sync(gone, qio::sync_kind::data, [&](error_code code) { closed = code; });
  w.loop.run();
  CHECK(denied == qio::errc::access_not_granted);
  CHECK(denied.message() == std::error_code(qio::errc::access_not_granted).message());
  CHECK(std::string_view(denied.category().name()) == "qio");
  CHECK(too_far == qio::errc::offset_too_large);
  CHECK(closed == std::errc::bad_file_descriptor);
}

TEST_CASE("a deadline that passes is asio::error::timed_out") {
  world w(world::one_worker());
  auto file = w.open();
  gate held;
  held.hold(w.files, nothing);
  error_code code;
  std::array<char, 64> text{};
  w.files.async_read_at(file, 0, net::buffer(text), {.deadline = 1ms}, [&](error_code failure, std::size_t bytes) {
    code = failure;
    CHECK(bytes == 0);
    held.let_go();
  });
  w.loop.run();
  CHECK(code == net::error::timed_out);
}

#if defined(HAS_CANCELLATION)
TEST_CASE("a terminal or partial cancellation ends an operation in flight, a total one does not") {
  world w(world::one_worker());
  auto file = w.open();
  gate held;
  held.hold(w.files, nothing);
  net::cancellation_signal signal;
  const auto kind =
      GENERATE(net::cancellation_type::terminal, net::cancellation_type::partial, net::cancellation_type::total);
  std::optional<error_code> code;
  std::array<char, 64> text{};
  w.files.async_read_at(file, 0, net::buffer(text),
                        net::bind_cancellation_slot(signal.slot(), [&](error_code failure, std::size_t) {
                          code = failure;
                          held.let_go();
                        }));
  net::post(w.loop, [&] {
    signal.emit(kind);
    net::post(w.loop, [&] {
      net::post(w.loop, [&] {
        if (kind == net::cancellation_type::total) held.let_go();
      });
    });
  });
  w.loop.run();
  CHECK(code == (kind == net::cancellation_type::total ? error_code() : error_code(net::error::operation_aborted)));
}

TEST_CASE("a cancellation before an operation of another thread has begun cancels it") {
  world w;
  auto file = w.open();
  auto holder = w.open();
  REQUIRE(holder.try_lock(qio::lock_kind::exclusive).value());
  net::cancellation_signal signal;
  net::post(w.loop, [&] { signal.emit(net::cancellation_type::terminal); });
  std::optional<error_code> code;
  // This thread does not run the loop yet: the lock begins behind the cancellation.
  w.files.async_start([&] { return file.async_lock(qio::lock_kind::exclusive); },
                      net::bind_cancellation_slot(signal.slot(), [&](error_code failure) { code = failure; }));
  w.loop.run();
  CHECK(code == error_code(net::error::operation_aborted));
  std::optional<error_code> begun;
  w.files.async_start([&] { return file.async_lock(qio::lock_kind::exclusive); },
                      net::bind_cancellation_slot(signal.slot(), [&](error_code failure) { begun = failure; }));
  REQUIRE(holder.unlock());
  w.loop.restart();
  w.loop.run();
  CHECK(begun == error_code());
}

TEST_CASE("an operation that has not begun when its loop ends is destroyed") {
  net::cancellation_signal signal;
  bool was_called = false;
  {
    world w;
    auto file = w.open();
    w.files.async_sync(file, qio::sync_kind::data,
                       net::bind_cancellation_slot(signal.slot(), [&](error_code) { was_called = true; }));
  }
  CHECK(!was_called);
}

TEST_CASE("a cancellation after the end of the io_context does nothing") {
  qio_test::directory place;
  auto loop = std::make_unique<net::io_context>();
  auto files = asio_context::create(*loop).value();
  auto file =
      qio::cached_file::open(files.context(), place / "data", qio::access::read_write, qio::creation::always_new)
          .value();
  net::cancellation_signal signal;
  bool was_called = false;
  files.async_sync(file, qio::sync_kind::data,
                   net::bind_cancellation_slot(signal.slot(), [&](error_code) { was_called = true; }));
  loop.reset();
  signal.emit(net::cancellation_type::terminal);
  CHECK(!was_called);
}

TEST_CASE("a cancellation after the completion does nothing, also from another thread") {
  world w(world::one_worker());
  auto file = w.open();
  gate held;
  net::cancellation_signal signal;
  std::array<char, 64> text{};
  int calls = 0;
  w.files.async_read_at(file, 0, net::buffer(text),
                        net::bind_cancellation_slot(signal.slot(), [&](error_code failure, std::size_t) {
                          CHECK(!failure);
                          ++calls;
                        }));
  w.loop.run();
  signal.emit(net::cancellation_type::terminal);
  w.loop.restart();
  w.loop.run();
  CHECK(calls == 1);
}

TEST_CASE("a cancellation stops the token of a task") {
  world w;
  net::cancellation_signal signal;
  bool has_ended = false;
  w.files.async_run(
      [&](std::stop_token stop) -> qio::task<qio::result<void>> {
        co_return co_await w.files.context().sleep_for(1h, stop);
      },
      net::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr, qio::result<void> answer) {
        CHECK(answer.error() == std::errc::operation_canceled);
        has_ended = true;
      }));
  net::post(w.loop, [&] { signal.emit(net::cancellation_type::terminal); });
  w.loop.run();
  CHECK(has_ended);
}
#endif

#if defined(HAS_CANCEL_AFTER)
TEST_CASE("cancel_after limits the time of an operation") {
  world w(world::one_worker());
  auto file = w.open();
  gate held;
  held.hold(w.files, nothing);
  error_code code;
  std::array<char, 64> text{};
  w.files.async_read_at(file, 0, net::buffer(text), net::cancel_after(1ms, [&](error_code failure, std::size_t) {
                          code = failure;
                          held.let_go();
                        }));
  w.loop.run();
  CHECK(code == net::error::operation_aborted);
}
#endif

TEST_CASE("close() ends operations, whose handlers are called later, and refuses others") {
  world w(world::one_worker());
  auto file = w.open();
  gate held;
  held.hold(w.files, nothing);
  std::vector<error_code> codes;
  const auto handler = [&](error_code failure, std::size_t) { codes.push_back(failure); };
  std::array<char, 64> text{};
  w.files.async_read_at(file, 0, net::buffer(text), handler);
  w.loop.poll();
  std::thread opens([&] { held.let_go(); });
  w.files.close();
  opens.join();
  CHECK(codes.empty());
  w.loop.restart();
  w.loop.run();
  REQUIRE(codes.size() == 1);
  CHECK((!codes[0] || codes[0] == net::error::operation_aborted));
  w.files.async_read_at(file, 0, net::buffer(text), handler);
  w.loop.restart();
  w.loop.run();
  REQUIRE(codes.size() == 2);
  CHECK(codes[1] == qio::errc::context_closed);
}

TEST_CASE("an io_context that is destroyed ends operations, and destroys handlers when their memory is unused") {
  qio_test::directory place;
  struct watch {  // in the frame of the coroutine, with its buffer
    const std::atomic<bool>& is_busy;
    int& destroyed;
    ~watch() {
      CHECK(!is_busy);
      ++destroyed;
    }
  };
  std::atomic<bool> is_busy = false, has_begun = false;
  int destroyed = 0, called = 0;
  const auto serve = [&](asio_context& files) -> net::awaitable<void> {
    const watch when_destroyed{is_busy, destroyed};
    auto file =
        qio::cached_file::open(files.context(), place / "data", qio::access::read_write, qio::creation::always_new)
            .value();
    std::vector<std::byte> buffer(1 << 20), of_the_call(1);
    files.async_write_at(file, 0, buffer, [&](error_code, std::size_t) { ++called; });
    co_await files.async_start(
        [&] {
          return qio::async_call(files.context(), [&] {
            is_busy = has_begun = true;
            std::this_thread::sleep_for(1ms);
            of_the_call[0] = std::byte(1);
            is_busy = false;
          });
        },
        net::use_awaitable);
    ++called;
  };
  // The context is outside, and outlives the io_context, or the coroutine owns it.
  const bool is_outside = GENERATE(false, true);
  std::optional<asio_context> outside;
  {
    net::io_context loop;
    auto files =
        asio_context::create(loop, {.engine = qio::engine_kind::workers, .inline_work = qio::inline_work::never})
            .value();
    if (is_outside) {
      outside = std::move(files);
      net::co_spawn(
          loop, [&] { return serve(*outside); }, net::detached);
    } else {
      const auto owns = [](asio_context own, auto& run) -> net::awaitable<void> { co_await run(own); };
      net::co_spawn(loop, owns(std::move(files), serve), net::detached);
    }
    while (!has_begun) loop.poll();
    called = 0;  // the write may be complete
  }
  CHECK(called == 0);
  CHECK(destroyed == 1);
}

// --- what does not depend on which of the two libraries it is ---

#if !defined(QIO_TEST_BOOST_ASIO)

TEST_CASE("a task of qio runs inside the io_context, and its exception arrives") {
  world w;
  w.open().close().value();
  const std::string path = w.place / "data";
  bool has_thrown = false;
  run(w, [&]() -> net::awaitable<void> {
    auto opened = co_await w.files.async_run(
        [&](std::stop_token) { return qio::cached_file::async_open(w.files.context(), path); }, net::use_awaitable);
    std::array<char, 64> text{};
    CHECK(co_await w.files.async_read_at(opened.value(), 0, net::buffer(text), net::use_awaitable) == contents.size());
    try {
      co_await w.files.async_run(
          [](std::stop_token) -> qio::task<int> {
            bool throws = true;
            if (throws) throw std::runtime_error("by the task");
            co_return 1;
          },
          net::use_awaitable);
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
    CHECK(co_await w.files.async_run([](std::stop_token) -> qio::task<int> { co_return 7; }, net::use_awaitable) == 7);
    co_await w.files.async_run(
        [&](std::stop_token) -> qio::task<void> { static_cast<void>(co_await w.files.context().sleep_for(1ms)); },
        net::use_awaitable);
  });
  CHECK(has_thrown);
}

TEST_CASE("operations without a default value complete with their own result") {
  world w;
  auto file = w.open();
  bool is_synced = false;
  w.files.async_start([&] { return file.async_write_and_sync(0, std::as_bytes(std::span("xyz", 3))); },
                      [&](qio::synced_write both) { is_synced = both.written && both.synced; });
  w.loop.run();
  CHECK(is_synced);
}

TEST_CASE("a stop is asio::error::operation_aborted") {
  world w(world::one_worker());
  auto file = w.open();
  gate held;
  held.hold(w.files, nothing);
  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  error_code code;
  std::array<char, 64> text{};
  w.files.async_read_at(file, 0, net::buffer(text), {.stop = token}, [&](error_code failure, std::size_t) {
    code = failure;
    held.let_go();
  });
  std::thread other([&] { stop.request_stop(); });
  w.loop.run();
  other.join();
  CHECK(code == net::error::operation_aborted);
}

TEST_CASE("operations are in flight at once, while a timer of Asio runs") {
  world w;
  gate held;
  int ended = 0;
  held.hold(w.files, [&](error_code) { ++ended; });
  held.hold(w.files, [&](error_code) { ++ended; });
  int ticks = 0;
  net::steady_timer timer(w.loop);
  std::function<void()> tick = [&] {
    timer.expires_after(1ms);
    timer.async_wait([&](error_code) {
      CHECK(ended == 0);
      if (++ticks == 3)
        held.let_go();
      else
        tick();
    });
  };
  tick();
  w.loop.run();
  CHECK(ticks == 3);
  CHECK(ended == 2);
}

TEST_CASE("run() returns when no operation is in flight, and can be called again") {
  world w(GENERATE(qio::context_options{}, world::one_worker()));
  auto file = w.open();
  std::array<char, 64> text{};
  int calls = 0;
  w.loop.run();
  for (int round = 0; round < 3; ++round) {
    w.loop.restart();
    w.files.async_read_at(file, 0, net::buffer(text), {.deadline = 1h}, [&](error_code, std::size_t) { ++calls; });
    w.loop.run();
    CHECK(calls == round + 1);
  }
}

TEST_CASE("closing a file with an operation in flight completes it") {
  world w(GENERATE(qio::context_options{.inline_work = qio::inline_work::never}, world::one_worker()));
  auto file = w.open();
  std::array<char, 64> text{};
  bool has_ended = false;
  w.files.async_read_at(file, 0, net::buffer(text), [&](error_code, std::size_t) { has_ended = true; });
  net::post(w.loop, [&] { net::post(w.loop, [&] { file.close().value(); }); });
  w.loop.run();
  CHECK(has_ended);
}

TEST_CASE("a handler is called on its strand, and the io_context of its executor has work until then") {
  world w;
  auto file = w.open();
  std::array<char, 64> text{};
  net::io_context elsewhere;
  auto strand = net::make_strand(elsewhere);
  bool was_on_strand = false;
  std::thread::id called_by;
  net::post(w.loop, [&] {
    w.files.async_read_at(file, 0, net::buffer(text), net::bind_executor(strand, [&](error_code, std::size_t) {
                            was_on_strand = strand.running_in_this_thread();
                            called_by = std::this_thread::get_id();
                          }));
  });
  w.loop.run_one();  // starts it
  std::thread other([&] { elsewhere.run(); });
  const auto id = other.get_id();
  w.loop.run();
  other.join();
  CHECK(was_on_strand);
  CHECK(called_by == id);
}

TEST_CASE("a handler may throw, and the others are still called") {
  world w;
  auto file = w.open();
  std::array<char, 64> text{};
  int calls = 0;
  for (int count = 0; count < 3; ++count)
    w.files.async_read_at(file, 0, net::buffer(text), [&](error_code, std::size_t) {
      if (++calls == 1) throw std::runtime_error("by a handler");
    });
  CHECK_THROWS_AS(w.loop.run(), std::runtime_error);
  w.loop.restart();
  w.loop.run();
  CHECK(calls == 3);
}

namespace {

/// Counts what it allocates.
template <class T>
struct counting {
  using value_type = T;

  explicit counting(std::size_t& of) : count(&of) {}
  template <class Other>
  counting(const counting<Other>& other) : count(other.count) {}
  T* allocate(std::size_t number) {
    ++*count;
    return std::allocator<T>().allocate(number);
  }
  void deallocate(T* memory, std::size_t number) { std::allocator<T>().deallocate(memory, number); }
  bool operator==(const counting& other) const { return count == other.count; }

  std::size_t* count;
};

/// Reads again and again.
struct reader {
  using allocator_type = counting<void>;

  allocator_type get_allocator() const noexcept { return allocator_type(*count); }
  void operator()(error_code failure, std::size_t) {
    CHECK(!failure);
    if (*left == 50) *at_the_start = allocations, *count = 0;
    if (--*left != 0) return files->async_read_at(*file, 0, net::buffer(*text), *this);
    *at_the_end = allocations;
  }

  asio_context* files;
  qio::async_cached_file* file;
  std::array<char, 64>* text;
  std::size_t *count, *left, *at_the_start, *at_the_end;
};

}  // namespace

TEST_CASE("an operation takes one piece of memory, from the associated allocator, and nothing else") {
  world w(GENERATE(qio::context_options{}, qio::context_options{.inline_work = qio::inline_work::never}));
  auto file = w.open();
  std::array<char, 64> text{};
  std::size_t count = 0, left = 100, at_the_start = 0, at_the_end = 0;
  w.files.async_read_at(file, 0, net::buffer(text),
                        reader{&w.files, &file, &text, &count, &left, &at_the_start, &at_the_end});
  w.loop.run();
  CHECK(left == 0);
  CHECK(count == 49);
  CHECK(at_the_end - at_the_start == 49);
}

TEST_CASE("a handler may destroy the asio_context") {
  qio_test::directory place;
  net::io_context loop;
  std::optional<asio_context> files(asio_context::create(loop).value());
  auto file =
      qio::cached_file::open(files->context(), place / "data", qio::access::read_write, qio::creation::always_new)
          .value();
  std::array<char, 64> text{};
  int calls = 0;
  for (int count = 0; count < 3; ++count)
    files->async_read_at(file, 0, net::buffer(text), [&](error_code, std::size_t) {
      ++calls;
      files.reset();
    });
  loop.run();
  CHECK(calls == 3);
}

TEST_CASE("a task that waits for something else is destroyed with the context") {
  world w;
  auto other = qio::context::create().value();
  bool has_failed = false;
  w.files.async_run([&](std::stop_token) -> qio::task<void> { co_await other.schedule(); },
                    [&](std::exception_ptr failure) { has_failed = failure != nullptr; });
  w.loop.poll();
  w.files.close();
  w.loop.restart();
  w.loop.run();
  CHECK(has_failed);
}

TEST_CASE("records are appended to a log by any completion token") {
  world w;
  auto file =
      qio::direct_file::open(w.files.context(), w.place / "log", qio::access::read_write, qio::creation::if_needed);
  if (!file) QIO_SKIP("no direct I/O here");
  const auto accept = [](const qio::log_record&) { return true; };
  std::optional<qio::log_writer<qio::direct>> log;
  std::uint64_t number = 0;
  w.files.async_run(
      [&](std::stop_token) -> qio::task<void> {
        log.emplace((co_await qio::open_log(std::move(file).value(), accept, {.extent = 65536})).value());
      },
      [&](std::exception_ptr failure) {
        REQUIRE(failure == nullptr);
        w.files.async_start([&] { return log->append(std::as_bytes(std::span(contents))); },
                            [&](error_code failed, std::uint64_t appended) {
                              CHECK(!failed);
                              number = appended;
                            });
      });
  w.loop.run();
  CHECK(number == 1);
  // Its end comes within the start.
  auto moved = std::move(log);
  int refused = 0;
  w.loop.restart();
  const auto count = [&](error_code failed, std::uint64_t) { refused += failed == std::errc::bad_file_descriptor; };
  w.files.async_start([&] { return log->append({}); }, count);
  w.files.async_start([&] { return log->trim(1); }, count);
  w.loop.run();
  CHECK(refused == 2);
  moved.reset();
}

TEST_CASE("an operation for which there is no memory does not start, and its buffer is free") {
  int thrown = 0;
  for (std::size_t before = 0; before < 5; ++before) {
    INFO("after " << before << " allocations");
    world w(world::one_worker());
    auto file = w.open();
    std::array<char, 64> text{};
    bool has_thrown = false, is_called = false;
    net::post(w.loop, [&] {
      for (int i = 0; i < 4; ++i) net::post(w.loop, [] {});  // so that Asio has no memory left from earlier handlers
      allocations_until_failure = before;
      try {
        w.files.async_read_at(file, 0, net::buffer(text), [&](error_code, std::size_t) { is_called = true; });
      } catch (const std::bad_alloc&) {
        has_thrown = true;
      }
      allocations_until_failure = ~std::size_t(0);
    });
    w.loop.run();
    thrown += has_thrown;
    CHECK(is_called != has_thrown);
    CHECK((text[0] == '\0') == has_thrown);
  }
  CHECK(thrown > 0);
}

TEST_CASE("an io_context that had no memory for a turn of a context takes it when it is run again") {
  for (std::size_t before = 0; before < 6; ++before) {
    INFO("after " << before << " allocations");
    world w(world::one_worker());
    auto file = w.open();
    std::array<char, 64> text{};
    bool is_called = false;
    net::post(w.loop, [&] {
      w.files.async_read_at(file, 0, net::buffer(text), [&](error_code, std::size_t) { is_called = true; });
      allocations_until_failure = before;
    });
    for (int runs = 0; runs < 3 && !is_called; ++runs) {
      try {
        w.loop.run();
      } catch (const std::bad_alloc&) {}
      w.loop.restart();
    }
    allocations_until_failure = ~std::size_t(0);
    CHECK(is_called);
  }
}

#endif
