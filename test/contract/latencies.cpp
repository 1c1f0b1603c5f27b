// What a context tells its observer of operations that end, and what a latency_recorder makes of that.
#include "world.hpp"
#include <qio/call.hpp>
#include <qio/latencies.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace contract {

using namespace std::chrono_literals;
using qio::operation_kind, qio::operation_path;

// What an observer has heard, in order.
class notes final : public qio::operation_observer {
 public:
  struct entry {
    operation_kind kind{};
    operation_path path{};
    std::uint64_t offset = 0;
    std::size_t bytes = 0, transferred = 0;
    qio::error failure{};
    std::string file{};
    std::chrono::nanoseconds took{}, queued{};
  };

  void ended(const qio::ended_operation& what) noexcept override {
    entries.push_back({what.kind(), what.path(), what.offset(), what.bytes(), what.transferred(), what.failure(),
                       std::string(what.file()), what.took(), what.queued()});
  }

  std::vector<entry> take() { return std::exchange(entries, {}); }

  std::vector<entry> entries;
};

// A file of another context, which `observer` observes.
template <class World>
struct observed {
  explicit observed(World& w, qio::operation_observer& observer, const qio::context_options& options = {})
      : context(World::new_context(with(options, observer)).value()),
        path(path_in(w)),
        file(qio::basic_file<typename World::mode>::open(context, path, access::read_write, creation::if_needed)
                 .value()) {}
  // The simulated disk of a context is its own.
  static std::string path_in(World& w) {
    return std::is_same_v<typename World::engine, qio::simulated> ? std::string("data") : w.where / "observed";
  }
  static qio::context_options with(qio::context_options options, qio::operation_observer& observer) {
    options.observer = &observer;
    return options;
  }

  template <class Answer, class Make>
  qio::result<Answer> run(Make&& make) {
    return context.run(World::template awaited<Answer>(make));
  }

  typename World::context_type context;
  std::string path;
  typename World::file file;
};

PROMISE(tells_transfers, asynchronous, "an observer hears of each operation once, and what it was") {
  notes told;
  observed<world<Where>> to(w, told);
  const std::size_t bytes = 2 * w.unit;
  memory some(bytes);
  CHECK(to.template run<std::size_t>([&] { return to.file.async_write_at(w.unit, some.all()); }).value() == bytes);
  auto one = told.take();
  REQUIRE(one.size() == 1);
  CHECK(one[0].kind == operation_kind::write);
  CHECK(one[0].offset == w.unit);
  CHECK(one[0].bytes == bytes);
  CHECK(one[0].transferred == bytes);
  CHECK(!one[0].failure.exists());
  CHECK(one[0].file == to.path);
  CHECK(one[0].took >= 0ns);
  CHECK(one[0].queued <= one[0].took);

  // At the end of the file, it moves less.
  CHECK(to.template run<std::size_t>([&] { return to.file.async_read_at(2 * w.unit, some.all()); }).value() == w.unit);
  one = told.take();
  REQUIRE(one.size() == 1);
  CHECK(one[0].kind == operation_kind::read);
  CHECK(one[0].bytes == bytes);
  CHECK(one[0].transferred == w.unit);

  CHECK(to.template run<std::size_t>([&] { return to.file.async_write_at(0, some.all(), {.durable = true}); }));
  one = told.take();
  REQUIRE(one.size() == 1);
  CHECK(one[0].kind == operation_kind::durable_write);

  CHECK(to.template run<void>([&] { return to.file.async_sync(); }));
  one = told.take();
  REQUIRE(one.size() == 1);
  // Where that takes more than a call of the system, a worker is called.
  const bool is_call = Where::mode::is_mapped && one[0].kind == operation_kind::call;
  CHECK((is_call || one[0].kind == operation_kind::sync));
  CHECK(one[0].bytes == 0);
}

TEST_CASE("simulated/cached: an observer hears of each sync that fails because an earlier one has failed") {
  qio::latency_recorder latencies;
  qio::simulated_disk disk({.sync_errors = 1});
  auto context = qio::basic_context<qio::simulated>::create({.observer = &latencies, .disk = &disk}).value();
  auto file = qio::cached_file::open(context, "data", access::read_write, creation::if_needed).value();
  memory some(512);
  REQUIRE(file.write_at(0, some.all()));
  for (int i = 0; i < 3; ++i) CHECK(context.run(file.async_sync()).has_error());
  const auto counted = latencies.statistics();
  CHECK(counted.failed[static_cast<std::size_t>(operation_kind::sync)] == 3);
  CHECK(counted.of(operation_kind::sync).count() == 3);
}

PROMISE(tells_no_wait, each_engine,
        "an operation that waits nowhere has waited for nothing, whatever its memory held") {
  notes told;
  observed<world<Where>> to(w, told);
  memory some(w.unit);
  REQUIRE(to.template run<std::size_t>([&] { return to.file.async_write_at(0, some.all()); }));
  REQUIRE(to.template run<void>([&] { return to.file.async_sync(); }));  // the first waits until a ring is ready
  told.take();
  using sync = decltype(to.file.async_sync());
  alignas(sync) std::byte room[sizeof(sync)];
  std::fill(std::begin(room), std::end(room), std::byte(0x7f));
  auto* const made = ::new (static_cast<void*>(room)) sync(to.file.async_sync());
  made->start([](qio::result<void> answer) { CHECK(answer); });
  to.context.run();
  made->~sync();
  const auto one = told.take();
  REQUIRE(one.size() == 1);
  CHECK(one[0].queued <= one[0].took);
  CHECK(one[0].took < 1h);
}

PROMISE(tells_paths, asynchronous, "the paths that an observer hears of are those that the file's statistics count") {
  notes told;
  observed<world<Where>> to(w, told);
  memory some(w.unit);
  for (unsigned i = 0; i < 20; ++i) {
    REQUIRE(to.template run<std::size_t>([&] { return to.file.async_write_at(i * w.unit, some.all()); }));
    REQUIRE(to.template run<std::size_t>([&] { return to.file.async_read_at(i * w.unit, some.all()); }));
  }
  REQUIRE(to.template run<void>([&] { return to.file.async_sync(); }));
  std::array<std::uint64_t, 3> paths{};
  for (const notes::entry& each : told.entries) ++paths[static_cast<std::size_t>(each.path)];
  const qio::file_statistics counted = to.file.statistics();
  CHECK(paths[0] + paths[1] + paths[2] == 41);
  CHECK(paths[2] == counted.served_by_worker);
  // What a completion port completes at once is the port's.
  CHECK(paths[0] + paths[1] == counted.served_inline + counted.served_by_ring);
#if !QIO_HAS_IOCP
  CHECK(paths[0] == counted.served_inline);
#endif
}

PROMISE(tells_batches, asynchronous, "an observer hears of each part of a batch") {
  notes told;
  observed<world<Where>> to(w, told);
  constexpr unsigned count = 40;
  memory some(count * w.unit);
  REQUIRE(to.template run<std::size_t>([&] { return to.file.async_write_at(0, some.all()); }));
  told.take();
  std::vector<qio::read_request> reads;
  for (unsigned i = 0; i < count; ++i) reads.push_back({i * w.unit, some.all().subspan(i * w.unit, w.unit)});
  CHECK(to.template run<std::size_t>([&] { return to.file.async_read_many(reads); }).value() == 0);
  const auto each_read = told.take();
  CHECK(each_read.size() == count);
  std::vector<bool> found(count);
  for (const notes::entry& each : each_read) {
    CHECK(each.kind == operation_kind::read);
    CHECK(each.transferred == w.unit);
    found.at(each.offset / w.unit) = true;
  }
  CHECK(found == std::vector<bool>(count, true));
}

PROMISE(tells_waits, each_engine, "an observer hears how long operations wait for a place") {
  notes told;
  // One at a time: with workers and AIO, the others wait until one has ended.
  observed<world<Where>> to(w, told, {.queue_depth = 1, .workers = 1});
  constexpr unsigned count = 200;
  memory some(count * w.unit);
  REQUIRE(to.file.write_at(0, some.all()));
  std::vector<qio::write_request> writes;
  for (unsigned i = 0; i < count; ++i) writes.push_back({i * w.unit, some.all().subspan(i * w.unit, w.unit)});
  CHECK(to.template run<std::size_t>([&] { return to.file.async_write_many(writes, {.durable = true}); }).value() == 0);
  std::chrono::nanoseconds longest{};
  for (const notes::entry& each : told.entries) {
    CHECK(each.queued <= each.took);
    longest = std::max(longest, each.queued);
  }
  CHECK(told.entries.size() == count);
  CHECK(longest > 0ns);
}

PROMISE(tells_failures, each_engine,
        "an observer hears of operations that fail in flight, and of none that never starts") {
  notes told;
  observed<world<Where>> to(w, told);
  memory some(w.unit);
  REQUIRE(to.template run<std::size_t>([&] { return to.file.async_write_at(0, some.all()); }));
  REQUIRE(to.file.close());
  auto read_only = qio::basic_file<typename Where::mode>::open(to.context, to.path, access::read).value();
  told.take();
  const auto refused =
      to.template run<std::size_t>([&] { return read_only.async_write_at(0, some.all(), {.durable = true}); });
  REQUIRE(!refused);
  const auto one = told.take();
  REQUIRE(one.size() == 1);
  CHECK(one[0].failure == refused.error());

  // What does not start is not told.
  std::stop_source stopped;
  stopped.request_stop();
  const std::stop_token stop = stopped.get_token();
  CHECK(!to.template run<std::size_t>([&] { return read_only.async_read_at(0, some.all(), {.stop = stop}); }));
  CHECK(told.take().empty());
}

PROMISE(tells_calls, each_engine, "an observer hears that a call on a worker has failed, or not") {
  notes told;
  observed<world<Where>> to(w, told);
  const auto call = [&](bool fails) {
    auto calls = [](auto& context, bool with_failure) -> qio::task<qio::result<int>> {
      const auto function = [with_failure]() -> qio::result<int> {
        if (with_failure) return qio::error(std::make_error_code(std::errc::no_space_on_device));
        return 7;
      };
      auto made = qio::async_call(context, function);
      co_return co_await made;
    };
    return to.context.run(calls(to.context, fails));
  };
  CHECK(call(false).value() == 7);
  CHECK(call(true).error() == std::errc::no_space_on_device);
  REQUIRE(told.entries.size() == 2);
  CHECK(told.entries[0].kind == operation_kind::call);
  CHECK(!told.entries[0].failure.exists());
  CHECK(told.entries[1].failure == std::errc::no_space_on_device);
}

PROMISE(tells_canceled_waits, each_engine_of_the_system,
        "an observer hears how long an operation has waited that is canceled in a queue") {
  notes told;
  observed<world<Where>> to(w, told, {.workers = 1});
  std::atomic<bool> may_end = false;
  auto blocks = qio::async_call(to.context, [&] {
    while (!may_end) std::this_thread::yield();
  });
  blocks.start([](qio::result<void>) {});
  memory some(w.unit);
  std::optional<qio::error> failure;
  auto waits = to.file.async_write_at(0, some.all(), {.durable = true});
  waits.start([&](qio::result<std::size_t> answer) { failure = answer.error(); });
  std::this_thread::sleep_for(2ms);
  waits.cancel();
  may_end = true;
  to.context.run();
  REQUIRE(failure);
  CHECK(*failure == std::errc::operation_canceled);
  for (const notes::entry& each : told.entries) {
    CHECK(each.queued <= each.took);
    if (each.kind != operation_kind::durable_write) continue;
    CHECK(each.failure == std::errc::operation_canceled);
    CHECK(each.queued >= 2ms);
  }
  CHECK(told.entries.size() == 2);
}

PROMISE(tells_destroyed, each_engine, "an observer hears of an operation that is destroyed in flight, once") {
  notes told;
  observed<world<Where>> to(w, told);
  memory some(w.unit);
  {
    auto write = to.file.async_write_at(0, some.all(), {.durable = true});
    write.start([](qio::result<std::size_t>) { FAIL("the callback of a destroyed operation was called"); });
  }
  to.context.run();
  CHECK(told.entries.size() == 1);
}

PROMISE(tells_without_attempts, each_engine_of_the_system,
        "operations that were made before one finds out that none can be served at once are carried out") {
  if (!std::filesystem::exists("/proc/version")) QIO_SKIP("no file system here that cannot tell whether a read waits");
  notes told;
  auto context = w.new_context({.observer = &told}).value();
  auto file = qio::cached_file::open(context, "/proc/version").value();
  memory some(512);
  auto first = file.async_read_at(0, some.all()), second = file.async_read_at(0, some.all());
  std::size_t bytes = 0;
  const auto add = [&](qio::result<std::size_t> answer) { bytes += answer.value(); };
  first.start(add);
  second.start(add);
  context.run();
  CHECK(bytes > 0);
  CHECK(bytes % 2 == 0);
  CHECK(told.entries.size() == 2);
}

PROMISE(tells_closing, each_engine, "an observer hears of operations that a close ends while the file exists") {
  notes told;
  observed<world<Where>> to(w, told);
  memory some(w.unit);
  REQUIRE(to.template run<std::size_t>([&] { return to.file.async_write_at(0, some.all()); }));
  told.take();
  unsigned called = 0;
  auto sync = to.file.async_sync();
  sync.start([&](qio::result<void>) { ++called; });
  auto write = to.file.async_write_at(0, some.all(), {.durable = true});
  write.start([&](qio::result<std::size_t>) { ++called; });
  static_cast<void>(to.file.close());
  const auto both = told.take();
  CHECK(both.size() == 2);
  for (const notes::entry& each : both) CHECK(each.file == to.path);
  to.context.run();
  CHECK(called == 2);
  CHECK(told.take().empty());
}

PROMISE(tells_other_loops, each_engine, "an observer hears of what prepare_to_wait() finds") {
  notes told;
  observed<world<Where>> to(w, told);
  if (!to.context.wake_handle()) QIO_SKIP("this engine has no handle to wait for");
  memory some(w.unit);
  bool called = false;
  auto write = to.file.async_write_at(0, some.all(), {.durable = true});
  write.start([&](qio::result<std::size_t>) { called = true; });
  while (!called) {
    static_cast<void>(to.context.prepare_to_wait());
    to.context.poll();
  }
  CHECK(told.entries.size() == 1);
}

PROMISE(tells_opening, each_engine_of_the_system, "an observer hears of files that workers open and close") {
  notes told;
  observed<world<Where>> to(w, told);
  using file_type = qio::basic_file<typename Where::mode>;
  auto opens = [&]() -> qio::task<> {
    auto opened = co_await file_type::async_open(to.context, to.path, access::read_write, creation::always_new);
    REQUIRE(opened);
    CHECK(told.entries.size() == 1);
  };
  to.context.run(opens());
  REQUIRE(told.entries.size() == 1);
  CHECK(told.entries[0].kind == operation_kind::call);
  CHECK(told.entries[0].path == operation_path::worker);
  CHECK(told.entries[0].file == to.path);
}

// --- what a recorder makes of that ---

PROMISE(counts, asynchronous, "a recorder counts each operation once, by its kind") {
  qio::latency_recorder latencies;
  observed<world<Where>> to(w, latencies);
  memory some(w.unit);
  const auto operate = [&](unsigned writes, unsigned reads) {
    for (unsigned i = 0; i < writes; ++i)
      REQUIRE(to.template run<std::size_t>([&] { return to.file.async_write_at(i * w.unit, some.all()); }));
    for (unsigned i = 0; i < reads; ++i)
      REQUIRE(to.template run<std::size_t>([&] { return to.file.async_read_at(0, some.all()); }));
  };
  operate(3, 5);
  const qio::latency_statistics before = latencies.statistics();
  CHECK(before.of(operation_kind::write).count() == 3);
  CHECK(before.of(operation_kind::read).count() == 5);
  CHECK(before.of(operation_kind::sync).count() == 0);

  operate(2, 1);
  REQUIRE(to.file.close());
  auto write_only = qio::basic_file<typename Where::mode>::open(to.context, to.path, access::read).value();
  CHECK(!to.template run<std::size_t>([&] { return write_only.async_write_at(0, some.all(), {.durable = true}); }));
  qio::latency_statistics since = latencies.statistics();
  since -= before;
  CHECK(since.of(operation_kind::write).count() == 2);
  CHECK(since.of(operation_kind::read).count() == 1);
  CHECK(since.of(operation_kind::durable_write).count() == 1);
  CHECK(since.failed[static_cast<std::size_t>(operation_kind::durable_write)] == 1);
  CHECK(since.failed[static_cast<std::size_t>(operation_kind::write)] == 0);
  CHECK(latencies.slow_count() == 0);

  qio::latency_statistics both = before;
  both += since;
  CHECK(both.of(operation_kind::write).count() == 5);
  CHECK(both.of(operation_kind::read).sum() == latencies.statistics().of(operation_kind::read).sum());
}

PROMISE(keeps_slow_ones, each_engine, "a recorder keeps the last 64 slow operations, and calls for each") {
  std::vector<std::string> messages;
  qio::latency_recorder latencies(
      {.slow = 1ns, .on_slow = [&](const qio::slow_operation& slow) { messages.push_back(slow.message()); }});
  observed<world<Where>> to(w, latencies);
  memory some(w.unit);
  const auto before = std::chrono::system_clock::now();
  for (unsigned i = 0; i < 70; ++i)
    REQUIRE(to.template run<std::size_t>(
        [&] { return to.file.async_write_at(i * w.unit, some.all(), {.durable = true}); }));
  CHECK(latencies.slow_count() == 70);
  CHECK(messages.size() == 70);
  const auto kept = latencies.slow_operations();
  REQUIRE(kept.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(kept[i].offset == (i + 6) * w.unit);
    CHECK(kept[i].bytes == w.unit);
    CHECK(kept[i].transferred == w.unit);
    CHECK(kept[i].kind == operation_kind::durable_write);
    CHECK(kept[i].file == to.path);
    CHECK(kept[i].took >= 1ns);
    CHECK(!kept[i].failure);
    CHECK(kept[i].ended >= before);
    CHECK(kept[i].message() == messages[i + 6]);
  }
  const std::string begin = "durable write of " + std::to_string(w.unit) + " bytes at " + std::to_string(6 * w.unit);
  CHECK(messages[6].starts_with(begin + " of " + to.path + " took "));
}

PROMISE(counts_of_threads, each_engine_of_the_system, "contexts on several threads may share a recorder") {
  qio::latency_recorder latencies({.slow = 1ns});
  constexpr unsigned threads = 3, each = 200;
  std::atomic<bool> goes_on = true;
  std::thread reader([&] {
    std::uint64_t last = 0;
    while (goes_on) {
      const std::uint64_t now = latencies.statistics().of(operation_kind::durable_write).count();
      CHECK(now >= last);
      last = now;
      static_cast<void>(latencies.slow_operations());
    }
  });
  std::vector<std::thread> writers;
  for (unsigned number = 0; number < threads; ++number)
    writers.emplace_back([&, number] {
      auto context = w.new_context({.observer = &latencies}).value();
      using file_type = qio::basic_file<typename Where::mode>;
      auto file =
          file_type::open(context, w.where / std::to_string(number).c_str(), access::read_write, creation::always_new)
              .value();
      memory some(w.unit);
      for (unsigned i = 0; i < each; ++i)
        static_cast<void>(context.run(file.async_write_at(0, some.all(), {.durable = true})).value());
    });
  for (std::thread& writer : writers) writer.join();
  goes_on = false;
  reader.join();
  CHECK(latencies.statistics().of(operation_kind::durable_write).count() == threads * each);
  CHECK(latencies.slow_count() == threads * each);
}

}  // namespace contract
