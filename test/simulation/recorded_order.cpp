// SPDX-License-Identifier: BSL-1.0
// The completions of a real context, repeated on a simulated disk.
#include "directory.hpp"
#include "program.hpp"
#include <qio/call.hpp>
#include <qio/recorded_order.hpp>
#include <qio/trace_recorder.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace simulation;
using namespace std::chrono_literals;

constexpr std::uint64_t block = 4096, blocks = 64;

// What each operation does depends on the order in which the earlier ones of all tasks have ended.
struct shared_state {
  std::uint64_t number = 1;
  std::string history;

  std::uint64_t next(std::uint64_t task) { return number = number * 6364136223846793005u + task * 2 + 1; }
  void note(std::uint64_t task, std::uint64_t what) {
    next(task);
    history += std::to_string(task) + ':' + std::to_string(what) + ' ';
  }
};

template <class Engine, class File>
qio::task<> work(qio::basic_context<Engine>& context, File& file, shared_state& state, std::uint64_t task,
                 unsigned operations) {
  auto buffer = qio::aligned_buffer::allocate(4 * block, block).value();
  for (unsigned i = 0; i < operations; ++i) {
    const std::uint64_t chosen = state.next(task) >> 32, at = (chosen / 8) % blocks * block;
    const std::span<std::byte> memory = std::span(buffer).first((chosen % 3 + 1) * block);
    std::uint64_t found = 0;
    if (chosen % 8 < 4) {
      const qio::result<std::size_t> read = co_await file.async_read_at(at, memory);
      found = read.value();
    } else if (chosen % 8 < 6) {
      const qio::result<std::size_t> written = co_await file.async_write_at(at, memory);
      found = written.value();
    } else if (chosen % 8 == 6) {
      const qio::result<void> synced = co_await file.async_sync();
      synced.value();
    } else {
      const qio::result<void> called = co_await qio::async_call(context, [] {});
      called.value();
    }
    state.note(task, found);
  }
}

template <class Mode, class Engine>
std::string history_of(qio::basic_context<Engine>& context, const std::string& path) {
  auto file = qio::basic_file<Mode>::open(context, path, qio::access::read_write).value();
  shared_state state;
  std::vector<qio::task<>> all;
  for (std::uint64_t task = 0; task < 8; ++task) all.push_back(work(context, file, state, task, 20));
  context.run(qio::when_all(std::move(all)));
  return state.history;
}

using context_on_disk = qio::basic_context<qio::simulated>;

// A disk with a file, on which the operations end as in `order`.
struct repetition {
  repetition(std::vector<qio::traced_operation> operations, const std::string& path, std::size_t size)
      : order(std::move(operations)) {
    static_cast<void>(program(disk).open(path.c_str()).value().write_at(0, filled(size, 7)).value());
    disk.repeat(order);
    context.emplace(context_on_disk::create({.disk = &disk}).value());
  }

  qio::recorded_order order;
  qio::simulated_disk disk;
  std::optional<context_on_disk> context;
};

template <class Mode>
void repeat_recordings(qio::context_options options, unsigned count) {
  const qio_test::directory where;
  const std::string path = where / "data";
  const std::size_t size = (blocks + 3) * block;
  static_cast<void>(qio::cached_file::open(path, qio::access::write, qio::creation::always_new)
                        .value()
                        .write_at(0, filled(size, 7))
                        .value());
  std::set<std::string> different;
  for (unsigned i = 0; i < count; ++i) {
    qio::trace_recorder trace;
    options.observer = &trace;
    std::string recorded;
    {
      auto context = qio::context::create(options).value();
      recorded = history_of<Mode>(context, path);
    }
    different.insert(recorded);
    repetition again(trace.operations(), path, size);
    CHECK(history_of<Mode>(*again.context, path) == recorded);
    CHECK(again.order.difference() == "");
    CHECK(again.order.is_repeated());
    CHECK(again.order.repeated() == trace.count());
  }
  CHECK(different.size() > 1);
}

// What is served inline is repeated, but not always that others may go on in between.
TEST_CASE("recorded completions of cached files repeat on a simulated disk") {
  qio::context_options options;
  options.inline_work = qio::inline_work::never;
  repeat_recordings<qio::cached>(options, 100);
}

// A recording of one operation after another.
std::vector<qio::traced_operation> one_after_another(std::vector<qio::traced_operation> all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].path = qio::operation_path::ring;
    all[i].file = "data";
    all[i].started = std::chrono::steady_clock::time_point(1h + i * 1ms);
    all[i].took = 1ms;
  }
  return all;
}

qio::traced_operation recorded(qio::operation_kind kind, std::size_t size, std::size_t transferred,
                               std::error_code failure = {}) {
  qio::traced_operation made;
  made.kind = kind;
  made.bytes = size;
  made.transferred = transferred;
  made.failure = failure;
  return made;
}

TEST_CASE("recorded errors repeat on a simulated disk") {
  using qio::operation_kind;
  const std::error_code failed(qio::platform::system_code(std::errc::io_error), qio::platform::system_category());
  const auto canceled = std::make_error_code(std::errc::operation_canceled);
  repetition again(
      one_after_another({recorded(operation_kind::read, 4096, 512, failed), recorded(operation_kind::read, 4096, 4096),
                         recorded(operation_kind::write, 4096, 0, canceled),
                         recorded(operation_kind::sync, 0, 0, failed)}),
      "data", 8192);
  auto file = qio::basic_file<qio::cached>::open(*again.context, "data", qio::access::read_write).value();
  bytes buffer(4096, std::byte(1));
  const auto first = again.context->run(file.async_read_at(0, buffer));
  REQUIRE(!first);
  CHECK(first.error() == std::errc::io_error);
  CHECK(first.error().transferred() == 512);
  CHECK(again.context->run(file.async_read_at(0, buffer)).value() == 4096);
  CHECK(buffer == filled(4096, 7));
  const bytes others = filled(4096, 9);
  const auto write = again.context->run(file.async_write_at(0, others));
  REQUIRE(!write);
  CHECK(write.error() == std::errc::operation_canceled);
  const auto sync = again.context->run(file.async_sync());
  REQUIRE(!sync);
  CHECK(sync.error() == std::errc::io_error);
  CHECK(!file.sync());  // the failure stays
  CHECK(again.order.difference() == "");
  CHECK(again.order.is_repeated());
  CHECK(contents(again.disk, "data") == filled(8192, 7));
}

TEST_CASE("what was served inline when it was recorded goes on at once") {
  auto recording = one_after_another(
      {recorded(qio::operation_kind::read, 512, 512), recorded(qio::operation_kind::read, 1024, 1024)});
  recording[0].path = qio::operation_path::inlined;
  repetition again(recording, "data", 8192);
  auto file = qio::basic_file<qio::cached>::open(*again.context, "data", qio::access::read_write).value();
  std::string history;
  const auto read = [&](std::size_t size, const char* name) -> qio::task<> {
    bytes buffer(size);
    const qio::result<std::size_t> found = co_await file.async_read_at(0, buffer);
    history += found.value() == size ? name : "?";
  };
  std::vector<qio::task<>> both;
  both.push_back(read(512, "inline "));
  both.push_back([](std::string& to) -> qio::task<> {
    to += "other ";
    co_return;
  }(history));
  both.push_back(read(1024, "ring"));
  again.context->run(qio::when_all(std::move(both)));
  CHECK(history == "inline other ring");
  CHECK(again.order.is_repeated());
}

TEST_CASE("the parts of a batch that were served inline when they were recorded go on at once") {
  auto recording = one_after_another(
      {recorded(qio::operation_kind::read, 512, 512), recorded(qio::operation_kind::read, 1024, 1024)});
  for (qio::traced_operation& each : recording) each.path = qio::operation_path::inlined;
  repetition again(recording, "data", 8192);
  auto file = qio::basic_file<qio::cached>::open(*again.context, "data", qio::access::read_write).value();
  std::string history;
  const auto read = [&]() -> qio::task<> {
    bytes first(512), second(1024);
    qio::read_request requests[] = {{0, first}, {0, second}};
    static_cast<void>(co_await file.async_read_many(requests));
    history += requests[0].answer.value() == 512 && requests[1].answer.value() == 1024 ? "batch " : "?";
  };
  std::vector<qio::task<>> both;
  both.push_back(read());
  both.push_back([](std::string& to) -> qio::task<> {
    to += "other";
    co_return;
  }(history));
  again.context->run(qio::when_all(std::move(both)));
  CHECK(history == "batch other");
  CHECK(again.order.difference() == "");
  CHECK(again.order.is_repeated());
}

TEST_CASE("a recorded file that was opened and closed asynchronously repeats, and so do recorded errors of calls") {
  using qio::operation_kind;
  const std::error_code failed(qio::platform::system_code(std::errc::no_space_on_device),
                               qio::platform::system_category());
  auto recording =
      one_after_another({recorded(operation_kind::call, 0, 0, failed), recorded(operation_kind::call, 0, 0),
                         recorded(operation_kind::call, 0, 0, failed), recorded(operation_kind::call, 0, 0, failed)});
  repetition again(recording, "data", 8192);
  const auto open = [&] {
    return again.context->run(
        qio::basic_file<qio::cached>::async_open(*again.context, "data", qio::access::read_write));
  };
  const auto first = open();
  REQUIRE(!first);
  CHECK(first.error() == std::errc::no_space_on_device);
  auto file = open().value();
  const auto resized = again.context->run(file.async_resize(1'000'000));
  REQUIRE(!resized);
  CHECK(resized.error() == std::errc::no_space_on_device);
  CHECK(file.size().value() == 8192);
  CHECK(!again.context->run(file.async_close()));
  CHECK(again.order.difference() == "");
  CHECK(again.order.is_repeated());
}

TEST_CASE("a recorded transfer of several buffers repeats although the program cancels it again") {
  const auto canceled = std::make_error_code(std::errc::operation_canceled);
  repetition again(one_after_another({recorded(qio::operation_kind::read, 1536, 1300, canceled)}), "data", 8192);
  auto file = qio::basic_file<qio::cached>::open(*again.context, "data", qio::access::read).value();
  bytes first(512), second(1024);
  const std::array several{qio::mutable_buffer(std::span(first)), qio::mutable_buffer(std::span(second))};
  auto read = file.async_read_at(0, std::span(several));
  std::optional<qio::result<std::size_t>> answer;
  read.start([&](qio::result<std::size_t> given) { answer.emplace(given); });
  read.cancel();
  again.context->run();
  REQUIRE(answer);
  CHECK(answer->error() == std::errc::operation_canceled);
  CHECK(answer->error().transferred() == 1300);
  CHECK(again.order.difference() == "");
  CHECK(again.order.is_repeated());
}

TEST_CASE("recorded errors of several buffers, of batches and of writeback repeat on a simulated disk") {
  using qio::operation_kind;
  const std::error_code failed(qio::platform::system_code(std::errc::io_error), qio::platform::system_category());
  repetition again(
      one_after_another({recorded(operation_kind::read, 1536, 1300, failed),
                         recorded(operation_kind::read, 512, 100, failed), recorded(operation_kind::read, 1024, 1024),
                         recorded(operation_kind::writeback, 8192, 0, failed)}),
      "data", 8192);
  auto file = qio::basic_file<qio::cached>::open(*again.context, "data", qio::access::read_write).value();
  bytes first(512), second(1024);
  const std::array several{qio::mutable_buffer(std::span(first)), qio::mutable_buffer(std::span(second))};
  const auto read = again.context->run(file.async_read_at(0, std::span(several)));
  REQUIRE(!read);
  CHECK(read.error().transferred() == 1300);
  CHECK(first == filled(512, 7));
  qio::read_request requests[] = {{0, first}, {0, second}};
  static_cast<void>(again.context->run(file.async_read_many(requests)));
  REQUIRE(!requests[0].answer);
  CHECK(requests[0].answer.error().transferred() == 100);
  CHECK(requests[1].answer.value() == 1024);
  CHECK(!again.context->run(file.async_start_writeback(0, 8192)));
  CHECK(again.order.difference() == "");
  CHECK(again.order.is_repeated());
}

TEST_CASE("the first difference from a recording is reported") {
  const auto recording = one_after_another(
      {recorded(qio::operation_kind::read, 512, 512), recorded(qio::operation_kind::write, 512, 512)});
  bytes buffer(512);
  const auto open = [](repetition& on) {
    return qio::basic_file<qio::cached>::open(*on.context, "data", qio::access::read_write).value();
  };
  SECTION("another order") {
    repetition again(recording, "data", 8192);
    auto file = open(again);
    CHECK(again.context->run(file.async_write_at(0, buffer)).value() == 512);
    CHECK(again.order.difference() ==
          "operation 2, a write of 512 bytes at 0 of data, ended when operation 1 was to end");
    CHECK(!again.order.is_repeated());
    CHECK(again.order.repeated() == 0);
  }
  SECTION("another operation") {
    repetition again(recording, "data", 8192);
    auto file = open(again);
    CHECK(again.context->run(file.async_read_at(512, buffer)).value() == 512);
    CHECK(again.context->run(file.async_read_at(0, buffer)).value() == 512);
    CHECK(again.order.difference() == "a read of 512 bytes at 512 of data is not in the recording");
    CHECK(again.order.repeated() == 1);
  }
  SECTION("another result") {
    repetition again(recording, "data", 100);
    auto file = open(again);
    CHECK(again.context->run(file.async_read_at(0, buffer)).value() == 100);
    CHECK(again.order.difference() ==
          "operation 1, a read of 512 bytes at 0 of data, has moved 100 bytes instead of 512");
  }
  SECTION("another way") {
    auto of_two = one_after_another(
        {recorded(qio::operation_kind::read, 512, 512), recorded(qio::operation_kind::read, 512, 512)});
    of_two[1].path = qio::operation_path::inlined;
    repetition again(of_two, "data", 8192);
    auto file = open(again);
    bytes other(512);
    qio::read_request requests[] = {{0, buffer}, {0, other}};  // which nothing tells apart
    CHECK(again.context->run(file.async_read_many(requests)).value() == 0);
    CHECK(again.order.difference() == "operation 2, a read of 512 bytes at 0 of data, was served inline");
  }
  SECTION("an end too early") {
    repetition again(recording, "data", 8192);
    auto file = open(again);
    CHECK(again.context->run(file.async_read_at(0, buffer)).value() == 512);
    CHECK(again.order.difference() == "");
    CHECK(!again.order.is_repeated());
  }
}

TEST_CASE("recorded completions of direct files repeat on a simulated disk") {
  repeat_recordings<qio::direct>({}, 100);
}

}  // namespace
