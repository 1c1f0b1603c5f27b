// What an operation costs besides the transfer: no allocation, and one system call.
#include "catch.hpp"
#include "os.hpp"
#include <qio/bounced.hpp>
#include <qio/buffer_pool.hpp>
#include <qio/execution.hpp>
#include <qio/qio.hpp>
#include <qio/reader.hpp>
#include <qio/writer.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace {

std::atomic<std::size_t> allocations = 0;
std::atomic<std::size_t> failing = 0;  // the number of the allocation that fails; 0: none

}  // namespace

// Replaces the operators that the library and its coroutines use, and the whole program with them.
// Not inlined: GCC would see malloc() and free() without the operators between, and call them mismatched.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (++allocations == failing) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const std::size_t multiple = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  ++allocations;
  const std::size_t multiple = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using qio::access;
using qio::creation;

// CTest runs the cases in separate processes, at the same time.
const std::string path = "cost-" + std::to_string(::getpid()) + ".tmp";

struct removed_at_end {
  ~removed_at_end() { ::unlink(path.c_str()); }
};

alignas(4096) std::array<std::byte, 32 * 4096> block;

std::span<std::byte> part(std::size_t index) { return std::span(block).subspan(index * 4096, 4096); }

template <class File>
using read_of = decltype(std::declval<File&>().async_read_at(0, part(0)));

/// Starts `count` reads with callbacks, and waits for them.
template <class Context, class File>
bool read_batch(Context& context, File& file, std::size_t count) {
  static std::array<qio::operation_slot<read_of<File>>, 32> reads;
  std::size_t right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    reads[i]
        .emplace([&] { return file.async_read_at(i * 4096, part(i)); })
        .start([&right](qio::result<std::size_t> answer) {
          if (answer && answer.value() == 4096) ++right;
        });
  }
  context.run();
  return right == count;
}

template <class Mode, class Context>
auto open(Context& context) {
  return qio::basic_file<Mode>::open(context, path, access::read_write, creation::if_needed);
}

bool write_file() {
  auto file = qio::cached_file::open(path, access::read_write, creation::always_new);
  return file && file.value().write_at(0, block) && file.value().sync();
}

template <class Mode>
void allocates_nothing(qio::engine_kind engine) {
  // One worker, because a second one would start when the first falls behind, which may be at any time.
  auto context = qio::context::create({.engine = engine, .queue_depth = 8, .workers = 1});
  if (!context) QIO_SKIP("no engine: " + context.error().message());
  auto opened = open<Mode>(context.value());
  if (!opened) QIO_SKIP(opened.error().message());
  auto& file = opened.value();
  const std::array<qio::mutable_buffer, 2> pair{part(0), part(1)};
  const auto everything = [&](bool& right) -> qio::task<> {
    for (int round = 0; round < 10; ++round) {
      if (round == 1) allocations = 0;  // everything that is allocated once has been allocated
      const auto first = co_await file.async_write_at(0, part(0));
      const auto second = co_await file.async_read_at(0, part(0));
      const auto third = co_await file.async_read_at(0, pair, {.deadline = std::chrono::hours(1)});
      const auto fourth = co_await file.async_sync();
      right = right && first && second && third && fourth;
    }
  };
  bool right = true;
  std::size_t counted = 0;
  const auto counting = [&]() -> qio::task<> {
    co_await everything(right);
    counted = allocations;
  };
  context.value().run(counting());
  CHECK(counted == 0);
  right = read_batch(context.value(), file, 32) && right;
  allocations = 0;
  right = read_batch(context.value(), file, 32) && right;
  counted = allocations;
  CHECK(counted == 0);
  CHECK(right);
}

}  // namespace

TEMPLATE_TEST_CASE("batches allocate nothing, in order or not", "", qio::cached, qio::direct, qio::mapped) {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  auto context = qio::context::create({.queue_depth = 8, .workers = 1}).value();
  auto opened = open<TestType>(context);
  if (!opened) QIO_SKIP(opened.error().message());
  auto& file = opened.value();
  std::array<qio::read_request, 32> reads;
  std::array<qio::write_request, 32> writes;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    reads[i].offset = writes[i].offset = i * 7 % 32 * 4096;
    reads[i].buffer = part(i);
    writes[i].buffer = part(i);
  }
  bool right = true;
  std::size_t counted = 0;
  const auto everything = [&]() -> qio::task<> {
    for (int round = 0; round < 10; ++round) {
      if (round == 1) allocations = 0;  // everything that is allocated once has been allocated
      const auto first = co_await file.async_write_many(writes);
      const auto second = co_await file.async_read_many(reads, {.deadline = std::chrono::hours(1)});
      right = right && first && first.value() == 0 && second && second.value() == 0;
      right = right && file.read_many(reads).value() == 0 && file.write_many(writes).value() == 0;
    }
    counted = allocations;
  };
  context.run(everything());
  CHECK(counted == 0);
  CHECK(right);
}

TEMPLATE_TEST_CASE("bounced transfers allocate nothing", "", qio::cached, qio::direct, qio::mapped) {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  auto context = qio::context::create({.queue_depth = 8, .workers = 1}).value();
  auto opened = open<TestType>(context);
  if (!opened) QIO_SKIP(opened.error().message());
  auto& file = opened.value();
  auto pool = qio::bounce_pool::allocate({.slots = 2, .slot_bytes = 8192}).value();
  std::array<qio::read_request, 32> reads;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    reads[i].offset = i * 7 % 32 * 4096 + 5;
    reads[i].buffer = part(i).first(100 + i * 10);
  }
  bool right = true;
  std::size_t counted = 0;
  const auto everything = [&]() -> qio::task<> {
    const auto bounced = qio::bounced(file, pool, {.gap = 4096});
    for (int round = 0; round < 10; ++round) {
      if (round == 1) allocations = 0;  // everything that is allocated once has been allocated
      const auto first = co_await bounced.async_read_many(reads);
      const auto second = co_await bounced.async_read_many(reads, {.deadline = std::chrono::hours(1)});
      const auto third = co_await bounced.async_read_at(77, std::span(block).first(9000));
      const auto fourth = co_await bounced.async_write_at(77, std::span(block).first(9000));
      const auto fifth = co_await bounced.async_write_at(77, std::span(block).first(9000),
                                                         {.durable = true, .deadline = std::chrono::hours(1)});
      right = right && first && first.value() == 0 && second && second.value() == 0 && third && fourth && fifth;
      right = right && bounced.read_many(reads).value() == 0 && bounced.read_at(77, std::span(block).first(9000)) &&
              bounced.write_at(77, std::span(block).first(9000)) &&
              bounced.write_at(77, std::span(block).first(9000), {.durable = true});
    }
    counted = allocations;
  };
  context.run(everything());
  CHECK(counted == 0);
  CHECK(right);
}

TEST_CASE("blocking transfers allocate nothing") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  auto cached = qio::cached_file::open(path, access::read_write);
  auto mapped = qio::mapped_file::open(path, access::read_write);
  const int handle = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  auto without_path = qio::cached_file::adopt(handle);
  const std::array<qio::mutable_buffer, 2> pair{part(0), part(1)};
  allocations = 0;
  bool right = true;
  for (int round = 0; round < 10; ++round) {
    right = right && cached.value().read_at(0, part(0)) && cached.value().write_at(0, part(0)) &&
            cached.value().read_at(0, pair) && mapped.value().read_at(0, pair) && mapped.value().write_at(0, part(1)) &&
            mapped.value().view(0, 4096);
    // Nor do failed operations, unless their error names the file.
    right = right && !without_path.value().read_at(~std::uint64_t(0), part(0));
  }
  const std::size_t counted = allocations;
  CHECK(counted == 0);
  CHECK(right);
}

TEMPLATE_TEST_CASE("asynchronous transfers allocate nothing", "", qio::cached, qio::direct, qio::mapped) {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  allocates_nothing<TestType>(qio::engine_kind::any);
  allocates_nothing<TestType>(qio::engine_kind::workers);
#if QIO_HAS_URING
  allocates_nothing<TestType>(qio::engine_kind::aio);
#endif
}

#if QIO_HAS_URING
namespace {

template <class Operation>
qio::task<> repeat(int times, Operation operation, bool& right) {
  for (int i = 0; i < times; ++i) {
    const auto answer = co_await operation();
    right = right && answer;
  }
}

}  // namespace

TEMPLATE_TEST_CASE("if memory is exhausted, adopt() leaves the handle to its caller", "", qio::cached, qio::direct,
                   qio::mapped) {
  const removed_at_end remover;
  auto context = qio::context::create().value();
  auto made = qio::basic_file<TestType>::open(path, access::read_write, creation::if_needed);
  if (!made) QIO_SKIP(made.error().message());
  const int handle = made.value().release().value();
  std::size_t failures = 0;
  for (bool is_adopted = false; !is_adopted; ++failures) {
    allocations = 0;
    failing = failures + 1;
    try {
      auto adopted = qio::basic_file<TestType>::adopt(context, handle);
      failing = 0;
      is_adopted = adopted.has_value();
    } catch (const std::bad_alloc&) {
      failing = 0;
      REQUIRE(::fcntl(handle, F_GETFD) >= 0);
    }
    REQUIRE(failures < 100);
  }
  CHECK(failures > 1);
  CHECK(::fcntl(handle, F_GETFD) < 0);  // the file has closed it
}

TEST_CASE("a sleep allocates nothing, with a stop token or without") {
  auto context = qio::context::create({.workers = 1}).value();
  std::stop_source never, stops;
  std::size_t counted = 0;
  bool right = true, is_last = false;
  const auto stop = [&]() -> qio::task<> {
    while (!is_last) co_await context.schedule();
    stops.request_stop();
  };
  const auto sleep = [&](std::stop_token unused, std::stop_token stopped) -> qio::task<> {
    for (int round = 0; round < 10; ++round) {
      if (round == 1) allocations = 0;  // everything that is allocated once has been allocated
      const auto first = co_await context.sleep_for(std::chrono::microseconds(10));
      const auto second = co_await context.sleep_for(std::chrono::microseconds(10), unused);
      right = right && first && second;
    }
    is_last = true;
    const auto last = co_await context.sleep_for(std::chrono::hours(1), stopped);
    right = right && !last;
    counted = allocations;
  };
  context.run(qio::when_all(sleep(never.get_token(), stops.get_token()), stop()));
  CHECK(right);
  CHECK(counted == 0);
}

namespace {

struct counting_receiver {
  using receiver_concept = qio::execution::receiver_tag;
  struct environment {
    std::stop_token stop;
    std::stop_token query(qio::execution::get_stop_token_t) const noexcept { return stop; }
  };
  environment get_env() const noexcept { return {stop}; }
  void set_value(std::size_t = 0) && noexcept { ++*values; }
  void set_error(const qio::error&) && noexcept {}
  void set_stopped() && noexcept { ++*stops; }

  int* values;
  int* stops;
  std::stop_token stop;
};

}  // namespace

TEST_CASE("senders allocate nothing: connecting, starting, stopping, completing") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  auto context = qio::context::create({.queue_depth = 8, .workers = 1}).value();
  auto file = open<qio::cached>(context).value();
  int values = 0, stops = 0;
  const auto round = [&] {
    std::stop_source source;
    const std::size_t before = allocations;  // the source has allocated
    const auto scheduler = qio::get_scheduler(context);
    auto scheduled = scheduler.schedule().connect(counting_receiver{&values, &stops, source.get_token()});
    auto read = qio::senders::read_at(file, 0, part(0)).connect(counting_receiver{&values, &stops, source.get_token()});
    auto synced = qio::senders::sync(file).connect(counting_receiver{&values, &stops, source.get_token()});
    auto last = qio::senders::read_at(file, 0, part(1)).connect(counting_receiver{&values, &stops, source.get_token()});
    scheduled.start(), read.start(), synced.start();
    context.run();
    last.start();
    source.request_stop();
    context.run();
    return allocations - before;
  };
  static_cast<void>(round());  // everything that is allocated once has been allocated
  const std::size_t counted = round();
  CHECK(counted == 0);
  CHECK(values == 6);
  CHECK(stops == 2);
}

TEST_CASE("taking a buffer of a pool and giving it back allocates nothing, also where a coroutine waits for it") {
  auto context = qio::context::create().value();
  auto pool = qio::buffer_pool::allocate({.buffers = 1, .buffer_bytes = 4096}).value();
  int uses = 0;
  std::size_t most = 0;
  const auto use = [&]() -> qio::task<> {
    for (int round = 0; round < 10; ++round) {
      if (round == 1) allocations = 0;  // the tasks have their frames
      const auto buffer = co_await pool.async_take(context);
      if (!buffer) co_return;
      ++uses;
      co_await context.schedule();  // meanwhile the other one begins to wait
    }
    most = std::max<std::size_t>(most, allocations);
  };
  context.run(qio::when_all(use(), use()));
  CHECK(uses == 20);
  CHECK(most == 0);
  allocations = 0;
  { const auto buffer = pool.take(); }
  CHECK(allocations == 0);
}

TEST_CASE("a context waits awake only for what a device completes for the ring itself") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  for (const auto policy : {qio::wait_policy::sleep, qio::wait_policy::spin}) {
    auto context = qio::context::create({.engine = qio::engine_kind::ring, .waiting = policy});
    if (!context) QIO_SKIP("no ring: " + context.error().message());
    auto& on = context.value();
    auto file = open<qio::direct>(on);
    if (!file) QIO_SKIP(file.error().message());
    bool right = true;
    const auto waits = [&] { return on.waits().asleep + on.waits().awake + on.waits().awake_in_vain; };
    // What completes before the wait needs none, so the operation is repeated until there were 20 more waits.
    const auto wait_for_20 = [&](auto start) {
      const auto enough = waits() + 20;
      for (int tries = 0; tries < 1000 && waits() < enough; ++tries) on.run(repeat(1, start, right));
      CHECK(waits() >= enough);
    };
    wait_for_20([&] { return file.value().async_sync(); });
    wait_for_20([&] { return file.value().async_resize(sizeof block); });  // the ring is empty meanwhile
    const qio::wait_statistics others = on.waits();
    CHECK(others.asleep >= 40);
    CHECK(others.awake + others.awake_in_vain == 0);
    wait_for_20([&] { return file.value().async_read_at(0, part(0)); });
    const qio::wait_statistics all = on.waits();
    CHECK((all.awake + all.awake_in_vain != 0) == (policy == qio::wait_policy::spin));
    CHECK(right);
  }
}

TEST_CASE("a context waits asleep for a durable write") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  for (const bool durable : {true, false}) {
    auto context = qio::context::create({.engine = qio::engine_kind::ring, .waiting = qio::wait_policy::spin});
    if (!context) QIO_SKIP("no ring: " + context.error().message());
    auto& on = context.value();
    auto file =
        qio::direct_file::open(on, path, access::read_write, qio::creation::open_existing, {.durable_writes = durable});
    if (!file) QIO_SKIP(file.error().message());
    bool right = true;
    on.run(repeat(
        20, [&] { return file.value().async_write_at(0, part(0)); }, right));
    CHECK(right);
    CHECK((on.waits().awake + on.waits().awake_in_vain == 0) == durable);
    if (durable) CHECK(on.waits().asleep >= 20);
  }
}
#endif

#if QIO_HAS_URING && !defined(__SANITIZE_THREAD__)
namespace {

// In the traced child: system calls between two of these are counted.
void marker() { ::syscall(SYS_getpgid, 0); }

using call_info = decltype(__ptrace_syscall_info::entry);

bool any_call(const call_info&) { return true; }
bool is_question(const call_info& call) { return call.nr == SYS_statx || call.nr == SYS_fstat; }
bool is_submission(const call_info& call) { return call.nr == SYS_io_uring_enter && call.args[1] != 0; }

/// System calls of a kind that `body` makes between two markers, in a child process; -1 where that cannot be traced.
template <class Body>
long system_calls_of(Body body, bool (*is_counted)(const call_info&)) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(9);
    ::raise(SIGSTOP);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return -1;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  long count = 0;
  int markers = 0;
  for (;;) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) break;
    __ptrace_syscall_info call{};
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call);
    if (call.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    if (call.entry.nr == SYS_getpgid)
      ++markers;
    else if (markers == 1 && is_counted(call.entry))
      ++count;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 && markers == 2 ? count : -1;
}

/// The same of what `body(context, file)` does with a file of a ring's context.
template <class Mode, class Body>
long system_calls_on_ring(Body body, bool (*is_counted)(const call_info&)) {
  return system_calls_of(
      [&] {
        auto context = qio::context::create({.engine = qio::engine_kind::ring});
        if (!context) return false;
        auto opened = open<Mode>(context.value());
        return opened && body(context.value(), opened.value());
      },
      is_counted);
}

/// System calls of `repetitions` operations, one after another. `start` starts one, and `is_right` judges its result.
/// Before them, there are 70 more: at the 64th, the file is registered with the ring, once.
template <class Mode, class Start, class IsRight>
long calls_of_each(int repetitions, Start start, IsRight is_right, bool (*is_counted)(const call_info&) = &any_call) {
  return system_calls_on_ring<Mode>(
      [&](auto& context, auto& file) {
        bool right = true;
        const auto all = [&]() -> qio::task<> {
          for (int i = -70; i < repetitions; ++i) {
            if (i == 0) marker();
            right = is_right(co_await start(file)) && right;
          }
          marker();
        };
        context.run(all());
        return right;
      },
      is_counted);
}

/// Whether the file system tells which reads would wait. On others (overlay), a plain read runs inline, and the time
/// that it takes is looked at now and then.
bool tells_hits() {
  char byte = 0;
  const iovec part{&byte, 1};
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool tells = ::preadv2(handle, &part, 1, 0, RWF_NOWAIT) == 1 || errno != EOPNOTSUPP;
  ::close(handle);
  return tells;
}
constexpr const char* no_hits = "this file system does not tell whether a read would wait (RWF_NOWAIT)";

template <class Mode>
long calls_of_reads(int reads) {
  return calls_of_each<Mode>(
      reads, [](auto& file) { return file.async_read_at(4096, part(0)); },
      [](const auto& answer) { return answer && answer.value() == 4096; });
}

}  // namespace

TEST_CASE("a read costs one system call: inline from the cache, or by the ring from the device") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  if (!tells_hits()) QIO_SKIP(no_hits);
  const long cached = calls_of_reads<qio::cached>(50), direct = calls_of_reads<qio::direct>(50);
  if (cached < 0 || direct < 0) QIO_SKIP("no ptrace, no io_uring or no direct I/O here");
  CHECK(cached == 50);
  CHECK(direct == 50);
}

TEST_CASE("with Linux AIO, a direct read costs two system calls, and 32 are handed over four at a time") {
  if (os::is_in_overlay(".")) QIO_SKIP("an overlay, of which Linux AIO gets no transfers");
  const removed_at_end cleaner;
  REQUIRE(write_file());
  static constexpr auto on_aio = [](auto&& body, bool (*is_counted)(const call_info&)) {
    return system_calls_of(
        [&] {
          auto context = qio::context::create({.engine = qio::engine_kind::aio});
          if (!context) return false;
          auto file = open<qio::direct>(context.value());
          if (!file) return false;
          marker();
          bool right = true;
          for (int i = 0; i < 50; ++i) right = body(context.value(), file.value()) && right;
          marker();
          return right;
        },
        is_counted);
  };
  const auto is_hand_over = [](const call_info& call) { return call.nr == SYS_io_submit; };
  const long calls =
      on_aio([](auto& context, auto& file) { return context.run(file.async_read_at(4096, part(0))).value() == 4096; },
             &any_call);
  if (calls < 0) QIO_SKIP("no ptrace, no Linux AIO or no direct I/O here");
  CHECK(calls >= 50);
  CHECK(calls <= 100);  // fewer if a read completes before it is waited for
  CHECK(on_aio([](auto& context, auto& file) { return read_batch(context, file, 32); }, is_hand_over) == 50 * 32 / 4);
  const auto batch = [](auto& context, auto& file) {
    std::array<qio::read_request, 32> reads;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      reads[i].offset = i * 4096;
      reads[i].buffer = part(i);
    }
    const auto failures = context.run(file.async_read_many(reads));
    return failures && failures.value() == 0;
  };
  CHECK(on_aio(batch, is_hand_over) == 50 * 32 / 4);
}

TEST_CASE("32 direct reads are handed to the device four at a time") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  const long submissions = system_calls_on_ring<qio::direct>(
      [](auto& context, auto& file) {
        bool right = read_batch(context, file, 32);
        marker();
        for (int i = 0; i < 20; ++i) right = read_batch(context, file, 32) && right;
        marker();
        return right;
      },
      &is_submission);
  if (submissions < 0) QIO_SKIP("no ptrace, no io_uring or no direct I/O here");
  CHECK(submissions == 20 * 32 / 4);
}

// Four at a time keeps a device busy; a kernel worker carries out each of these.
TEST_CASE("32 reads of a direct file that fell back to the cache are submitted together") {
  const std::string in_memory = "/dev/shm/qio-cost-" + std::to_string(::getpid());
  const long submissions = system_calls_of(
      [&] {
        auto context = qio::context::create({.engine = qio::engine_kind::ring});
        if (!context) return false;
        auto file = qio::direct_file::open(
            context.value(), in_memory, access::read_write, creation::always_new,
            {.fallback = qio::if_unavailable::use_cache, .inline_reads = qio::inline_transfers::never});
        if (!file || file.value().is_direct() || !file.value().write_at(0, block)) return false;
        bool right = read_batch(context.value(), file.value(), 32);
        marker();
        for (int i = 0; i < 20; ++i) right = read_batch(context.value(), file.value(), 32) && right;
        marker();
        return right;
      },
      &is_submission);
  ::unlink(in_memory.c_str());
  if (submissions < 0) QIO_SKIP("no ptrace, no io_uring or no tmpfs here");
  CHECK(submissions == 20);
}

TEST_CASE("a batch of cached reads costs one system call, a small one as many as it has reads") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  if (!tells_hits()) QIO_SKIP(no_hits);
  for (const std::size_t size : {1u, 3u, 4u, 32u}) {
    CAPTURE(size);
    std::array<qio::read_request, 32> reads;
    for (std::size_t i = 0; i < size; ++i) {
      reads[i].offset = i * 4096;
      reads[i].buffer = part(i);
    }
    const long calls = calls_of_each<qio::cached>(
        20, [&](auto& file) { return file.async_read_many(std::span(reads).first(size)); },
        [](const auto& failures) { return failures && failures.value() == 0; });
    if (calls < 0) QIO_SKIP("no ptrace or no io_uring here");
    CHECK(calls == static_cast<long>(20 * (size <= 3 ? size : 1)));
  }
}

namespace {

constexpr std::size_t most_pages = 128;

/// Leaves those pages of the file in the page cache for which `is_kept(index)` is true, and no others. False if the
/// system keeps others.
template <class IsKept>
bool keep_pages(IsKept is_kept) {
  const int handle = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  std::vector<std::byte> page(4096, std::byte{7});
  bool right = handle >= 0;
  for (std::size_t i = 0; i < most_pages; ++i)
    right = right && ::pwrite(handle, page.data(), 4096, static_cast<off_t>(i * 4096)) == 4096;
  right = right && ::fsync(handle) == 0 && ::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED) == 0;
  right = right && ::posix_fadvise(handle, 0, 0, POSIX_FADV_RANDOM) == 0;  // nothing is read ahead
  for (std::size_t i = 0; i < most_pages; ++i)
    if (is_kept(i)) right = right && ::pread(handle, page.data(), 4096, static_cast<off_t>(i * 4096)) == 4096;
  void* const mapped = ::mmap(nullptr, most_pages * 4096, PROT_READ, MAP_SHARED, handle, 0);
  std::vector<unsigned char> cached(most_pages);
  right = right && mapped != MAP_FAILED && ::mincore(mapped, most_pages * 4096, cached.data()) == 0;
  for (std::size_t i = 0; i < most_pages; ++i) right = right && ((cached[i] & 1) != 0) == is_kept(i);
  if (mapped != MAP_FAILED) ::munmap(mapped, most_pages * 4096);
  if (handle >= 0) ::close(handle);
  return right;
}

bool is_look(const call_info& call) { return call.nr == SYS_preadv2; }
bool is_look_after_look(const call_info& call) {
  static bool follows_look = false;
  return std::exchange(follows_look, is_look(call)) && is_look(call);
}

/// A read for each page of the file, into `memory`.
std::vector<qio::read_request> reads_of_pages(std::vector<std::byte>& memory) {
  memory.resize(most_pages * 4096);
  std::vector<qio::read_request> reads(most_pages);
  for (std::size_t i = 0; i < most_pages; ++i) {
    reads[i].offset = i * 4096;
    reads[i].buffer = std::span(memory).subspan(i * 4096, 4096);
  }
  return reads;
}

/// How often a blocking batch of one read for each page looks whether a read would wait.
long looks_of_batch(bool (*is_counted)(const call_info&) = &is_look) {
  return system_calls_of(
      [] {
        auto file = qio::cached_file::open(path, access::read, creation::open_existing,
                                           {.pattern = qio::access_pattern::random});
        if (!file) return false;
        std::vector<std::byte> memory;
        auto reads = reads_of_pages(memory);
        marker();
        const auto failures = file.value().read_many(reads);
        marker();
        return failures && failures.value() == 0;
      },
      is_counted);
}

}  // namespace

TEST_CASE("a blocking batch looks ahead for misses in whatever order hits and misses come, and seldom among hits") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  if (::sysconf(_SC_PAGESIZE) != 4096) QIO_SKIP("for pages of 4 KiB");
  if (!tells_hits()) QIO_SKIP(no_hits);
  struct order {
    bool (*is_kept)(std::size_t page);
    long looks;
  };
  for (const order& each :
       {order{[](std::size_t) { return true; }, 12},  // at 0, 1, 3, 7, 15, 31, 47, ..., 127
        order{[](std::size_t) { return false; }, 128}, order{[](std::size_t page) { return page % 2 == 0; }, 128},
        order{[](std::size_t page) { return page % 2 != 0; }, 128},
        order{[](std::size_t page) { return page == 0; }, 128}}) {
    if (!keep_pages(each.is_kept)) QIO_SKIP("this system keeps other pages in memory than it was asked to");
    const long looks = looks_of_batch();
    if (looks < 0) QIO_SKIP("no ptrace here");
    // A page may arrive meanwhile that was not asked for, which changes a few looks.
    CHECK(looks >= each.looks * 3 / 4);
    CHECK(looks <= each.looks * 5 / 4);
  }
}

TEST_CASE("a blocking batch of misses asks the device for 64 reads before it waits for the first") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  if (::sysconf(_SC_PAGESIZE) != 4096) QIO_SKIP("for pages of 4 KiB");
  if (!tells_hits()) QIO_SKIP(no_hits);
  if (!keep_pages([](std::size_t) { return false; })) QIO_SKIP("this system keeps other pages than it was asked to");
  const long further = looks_of_batch(&is_look_after_look);
  if (further < 0) QIO_SKIP("no ptrace here");
  CHECK(further >= 96);  // of 2 * 63: a page may arrive that was not asked for
}

TEST_CASE("a batch of misses that no ring gathers looks for hits until 32 reads are in flight") {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  if (::sysconf(_SC_PAGESIZE) != 4096) QIO_SKIP("for pages of 4 KiB");
  if (!tells_hits()) QIO_SKIP(no_hits);
  if (!keep_pages([](std::size_t) { return false; })) QIO_SKIP("this system keeps other pages than it was asked to");
  const long looks = system_calls_of(
      [] {
        auto context = qio::context::create({.engine = qio::engine_kind::workers, .workers = 1});
        auto file = qio::cached_file::open(context.value(), path, access::read, creation::open_existing,
                                           {.pattern = qio::access_pattern::random});
        if (!file) return false;
        std::vector<std::byte> memory;
        auto reads = reads_of_pages(memory);
        marker();
        const auto failures = context.value().run(file.value().async_read_many(reads));
        marker();
        return failures && failures.value() == 0;
      },
      &is_look);
  if (looks < 0) QIO_SKIP("no ptrace here");
  CHECK(looks >= 32);
  CHECK(looks <= 40);  // a page may arrive that was not asked for
}

TEMPLATE_TEST_CASE("a sync does not ask for the file's times", "", qio::cached, qio::direct) {
  const removed_at_end cleaner;
  REQUIRE(write_file());
  const auto is_success = [](const auto& answer) { return bool(answer); };
  const auto write_and_sync = [](auto& file) -> qio::task<bool> {
    const bool is_written = bool(co_await file.async_write_at(0, part(0)));
    const bool is_synced = bool(co_await file.async_sync());
    co_return is_written&& is_synced;
  };
  const long asked = calls_of_each<TestType>(5, write_and_sync, std::identity(), &is_question);
  if (asked < 0) QIO_SKIP("no ptrace, no io_uring or no direct I/O here");
  CHECK(asked == 0);
  const long asked_of_pairs = calls_of_each<TestType>(
      5, [](auto& file) { return file.async_write_and_sync(0, part(0)); },
      [](const auto& answer) { return answer.written && answer.synced; }, &is_question);
  CHECK(asked_of_pairs == 0);
  const long asked_of_syncs = calls_of_each<TestType>(
      200, [](auto& file) { return file.async_sync(); }, is_success, &is_question);
  CHECK(asked_of_syncs == 0);
}
#endif

namespace {

template <class File>
qio::task<std::uint64_t> read_stream(qio::reader<File>& from) {
  std::uint64_t bytes = 0;
  for (;;) {
    const auto next = co_await from.next();
    if (!next || next.value().empty()) co_return bytes;
    bytes += next.value().size();
  }
}

template <class File>
qio::task<bool> write_stream(qio::writer<File>& to, std::span<const std::byte> piece) {
  bool is_written = true;
  for (int i = 0; i < 100; ++i) {
    const auto written = co_await to.write(piece);
    is_written = is_written && written.has_value();
  }
  const auto flushed = co_await to.flush();
  co_return is_written&& flushed.has_value();
}

template <class Mode>
void check_streams_allocate_nothing() {
  const removed_at_end remover;
  auto context = qio::context::create().value();
  const qio::open_options options{.fallback = qio::if_unavailable::use_cache};
  auto file = qio::basic_file<Mode>::open(context, path, access::read_write, creation::always_new, options).value();
  const auto piece = qio::aligned_buffer::allocate(100'000).value();
  auto to = qio::writer<decltype(file)>::create(file).value();
  auto writes = write_stream(to, std::span(piece.data(), piece.size()));
  std::size_t before = allocations;
  CHECK(context.run(std::move(writes)));
  const std::size_t of_run = allocations - before;
  CHECK(of_run <= 1);  // the frame of run()
  auto from = qio::reader<decltype(file)>::create(file).value();
  auto reads = read_stream(from);
  before = allocations;
  CHECK(context.run(std::move(reads)) > 9'000'000);
  CHECK(allocations - before <= 1);
}

}  // namespace

TEST_CASE("streams allocate nothing after they are created") {
  check_streams_allocate_nothing<qio::cached>();
  check_streams_allocate_nothing<qio::direct>();
}
