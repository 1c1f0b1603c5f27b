// How a context shows that something had to wait for its thread, and how a program keeps it from waiting.
#include "world.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

namespace contract {

using namespace std::chrono_literals;

// Where a test can see that another thread has carried out an operation.
struct on_workers : under<qio::default_engine, qio::cached> {
  static bool is_on(const qio_test::tested_engine& engine) { return engine.name == qio_test::workers.name; }
};
using workers_only = std::tuple<on_workers>;

inline void compute(std::chrono::steady_clock::duration time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {}
}

PROMISE(new_context, each_engine_of_the_system, "a context that has not run has no stalls") {
  const qio::stall_statistics found = w.context->stalls();
  CHECK(found.longer_than(0ns) == 0);
  CHECK(found.longest == 0ns);
  CHECK(found.cause == qio::stall_cause::none);
  CHECK(w.context->explain().find("longest stall") == nullptr);
}

PROMISE(late_sleep, each_engine_of_the_system,
        "a sleep that ends while a coroutine computes is late, and stalls() shows by how much") {
  auto sleeps = [](auto& context) -> qio::task<> { static_cast<void>(co_await context.sleep_for(1ms)); };
  auto computes = []() -> qio::task<> {
    compute(41ms);
    co_return;
  };
  auto both = [&]() -> qio::task<> { co_await qio::when_all(sleeps(*w.context), computes()); };
  w.context->run(both());
  const qio::stall_statistics found = w.context->stalls();
  CHECK(found.longest >= 40ms);
  CHECK(found.cause == qio::stall_cause::program);
  CHECK(found.path.empty());
  CHECK(found.longer_than(30ms) >= 1);
  const auto explained = w.context->explain();
  REQUIRE(explained.find("longest stall") != nullptr);
  CHECK(explained.find("longest stall")->value == std::to_string(found.longest / 1ms) + " ms");
  CHECK(explained.find("longest stall")->reason == "program");
}

PROMISE(late_post, each_engine_of_the_system,
        "what another thread posts while a coroutine computes is late, and stalls() shows it") {
  std::atomic<bool> is_computing = false, has_posted = false, was_called = false;
  qio::posted_call call([&] { was_called = true; });
  auto work = [&]() -> qio::task<> {
    is_computing = true;
    while (!has_posted) std::this_thread::yield();
    compute(40ms);
    co_return;
  };
  std::thread poster([&] {
    while (!is_computing) std::this_thread::yield();
    CHECK(w.context->post(call));
    has_posted = true;
  });
  w.context->run(work());
  poster.join();
  while (!was_called) w.context->poll();
  CHECK(w.context->stalls().longest >= 40ms);
}

PROMISE(late_operation, workers_only,
        "an operation that completes while a callback computes is late, and stalls() shows it") {
  auto file = w.with(4096);
  const auto other = qio::cached_file::open(w.where / "data", access::read).value();
  auto computes = [&]() -> qio::task<> {
    memory zero(1), seen(1);
    auto write = file.async_write_at(0, zero.all());
    bool has_completed = false;
    write.start([&](qio::result<std::size_t> answer) { has_completed = answer.has_value(); });
    do REQUIRE(other.read_at(0, seen.all()));
    while (seen.all()[0] != std::byte{0});  // until a worker has written it, and is about to complete the write
    compute(300ms);                         // far longer than that takes
    while (!has_completed) static_cast<void>(co_await w.context->sleep_for(1ms));
  };
  w.context->run(computes());
  CHECK(w.context->stalls().longest >= 50ms);
}

// Twice: the second open would need no worker.
inline qio::task<> opens_and_transfers(qio::context& context, std::string path) {
  const qio::open_options always{.inline_reads = qio::inline_transfers::always,
                                 .inline_writes = qio::inline_transfers::always,
                                 .inline_opening = qio::inline_transfers::always};
  for (int i = 0; i < 2; ++i) {
    auto opened =
        co_await qio::cached_file::async_open(context, path, access::read_write, creation::open_existing, always);
    auto file = std::move(opened).value();
    memory some(100);
    const auto written = co_await file.async_write_at(0, some.all());
    CHECK(written.value() == 100);
    const auto once = co_await file.async_read_at(0, some.all()), again = co_await file.async_read_at(0, some.all());
    CHECK(once.value() == 100);
    CHECK(again.value() == 100);
    CHECK(file.statistics().served_inline == 0);
    CHECK(file.statistics().served_by_ring + file.statistics().served_by_worker == 3);
    CHECK(file.explain().find("inline reads")->value == "off");
    CHECK(file.explain().find("inline writes")->value == "off");
    const auto closed = co_await file.async_close();
    CHECK(closed);
  }
}

PROMISE(never_inline, each_engine_of_the_system, "a context that never works inline leaves all to other threads") {
  auto context = w.new_context({.inline_work = qio::inline_work::never}).value();
  REQUIRE(w.with(64 * 1024).close());
  context.run(opens_and_transfers(context, w.where / "data"));
  REQUIRE(context.explain().find("inline work") != nullptr);
  CHECK(context.explain().find("inline work")->value == "off");
}

// --- reads that wait for a thread of the kernel ---

inline qio::task<> reads_often(qio::async_cached_file& file, std::uint64_t block, unsigned& left) {
  memory some(4096);
  for (int i = 0; i < 10; ++i) {
    const auto read = co_await file.async_read_at(block * 4096, some.all());
    CHECK(read.value() == 4096);
  }
  --left;
}
inline qio::task<> writes_meanwhile(qio::async_cached_file& file, std::uint64_t block, const unsigned& left,
                                    unsigned& writes) {
  constexpr unsigned most = 500'000;  // so that the test ends
  memory some(4096);
  while (left != 0 && writes < most) {
    const auto written = co_await file.async_write_at(block * 4096, some.all());
    CHECK(written.value() == 4096);
    ++writes;
  }
  CHECK(writes < most);
}
inline qio::task<> reads_and_writes(qio::async_cached_file& read, qio::async_cached_file& written) {
  constexpr unsigned readers = 100, writers = 127;  // as many as a ring of 64 entries takes
  unsigned left = readers, writes = 0;
  std::vector<qio::task<>> all;
  for (unsigned i = 0; i < writers; ++i) all.push_back(writes_meanwhile(written, i, left, writes));
  for (unsigned i = 0; i < readers; ++i) all.push_back(reads_often(read, i, left));
  static_cast<void>(co_await qio::when_all(std::move(all)));
}

PROMISE(fair_reads, each_engine_of_the_system, "reads complete although writes take every place of the ring") {
  auto context = w.new_context({.queue_depth = 64, .inline_work = qio::inline_work::never}).value();
  REQUIRE(w.with(100 * 4096).close());
  auto read = qio::cached_file::open(context, w.where / "data", access::read).value();
  auto written = qio::cached_file::open(context, w.where / "other", access::write, creation::if_needed).value();
  context.run(reads_and_writes(read, written));
}

PROMISE(short_reads_elsewhere, each_engine_of_the_system,
        "another event loop is not left waiting for long reads that end early") {
  REQUIRE(w.with(100).close());
  const auto handle = w.context->wake_handle();
  if (!handle) QIO_SKIP(handle.error().message());
  auto file =
      w.open("data", access::read, creation::open_existing, {.inline_reads = qio::inline_transfers::never}).value();
  constexpr std::size_t bytes = 127 * 1024, reads = 8;  // one part of what is submitted at once
  memory some(reads * bytes);
  using operation = decltype(file.async_read_at(0, some.all()));
  w.context->poll();  // from now on, operations go to the ring as they start
  std::array<qio::operation_slot<operation>, reads> slots;
  std::size_t left = reads;
  for (std::size_t i = 0; i < reads; ++i)
    slots[i]
        .emplace([&] { return file.async_read_at(0, some.part(i * bytes, bytes)); })
        .start([&](qio::result<std::size_t> answer) {
          CHECK(answer.value() == 100);
          --left;
        });
  while (left != 0) {
    if (w.context->prepare_to_wait()) REQUIRE(os::wait_until_ready(handle.value(), std::chrono::minutes(1)));
    w.context->poll();
  }
}

}  // namespace contract
