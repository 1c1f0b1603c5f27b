// A write and a sync as one operation.
#include "world.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>

namespace contract {

namespace {

using namespace std::chrono_literals;

// On any clock, a simulated one included.
template <class World, class Make>
qio::synced_write await(World& w, Make make) {
  const auto awaited = [&]() -> qio::task<qio::synced_write> { co_return co_await make(); };
  return w.context->run(awaited());
}

}  // namespace

PROMISE(write_then_sync, asynchronous, "a write with a sync behind it reports both") {
  auto file = w.with(4096);
  auto source = memory::with_pattern(0, 4 * 4096);
  for (const auto kind : {qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything}) {
    const auto done = await(w, [&] { return file.async_write_and_sync(0, source.all(), kind); });
    CHECK(done.written.value() == 4 * 4096);
    CHECK(done.synced);
  }
  const std::array<qio::const_buffer, 2> pair{qio::const_buffer(source.part(0, 4096)),
                                              qio::const_buffer(source.part(4096, 4096))};
  CHECK(await(w, [&] { return file.async_write_and_sync(0, pair); }).written.value() == 2 * 4096);
  const auto empty = await(w, [&] { return file.async_write_and_sync(0, source.part(0, 0)); });
  CHECK(empty.written.value() == 0);
  CHECK(empty.synced);
  memory target(4 * 4096);
  CHECK(w.read(file, 0, target.all()).value() == 4 * 4096);
  CHECK(holds_pattern(target.all(), 0));
}

PROMISE(write_without_sync, asynchronous, "a write that fails is not followed by a sync, and both report its error") {
  { auto file = w.with(4096); }
  auto reader = w.open("data", access::read, creation::open_existing).value();
  memory buffer(4096);
  const auto refused = await(w, [&] { return reader.async_write_and_sync(0, buffer.all()); });
  CHECK(refused.written.error() == errc::access_not_granted);
  CHECK(refused.synced.error() == errc::access_not_granted);
  CHECK(reader.close());
  const auto closed = await(w, [&] { return reader.async_write_and_sync(0, buffer.all()); });
  CHECK(closed.written.error() == std::errc::bad_file_descriptor);
  CHECK(closed.synced.error() == std::errc::bad_file_descriptor);
}

PROMISE(write_then_sync_early, asynchronous, "a deadline or a stop ends a write with a sync, whichever step it is at") {
  auto file = w.with(4096);
  auto source = memory::with_pattern(0, 4096);
  const auto kind = qio::sync_kind::data;
  const auto in_time = await(w, [&] { return file.async_write_and_sync(0, source.all(), kind, {.deadline = 1h}); });
  CHECK(in_time.written.value() == 4096);
  CHECK(in_time.synced);
  const auto late = await(w, [&] { return file.async_write_and_sync(0, source.all(), kind, {.deadline = long_ago}); });
  CHECK(late.written.error() == std::errc::timed_out);
  CHECK(late.synced.error() == std::errc::timed_out);
  std::stop_source stop;
  stop.request_stop();
  const std::stop_token stopped = stop.get_token();
  const auto never = await(w, [&] { return file.async_write_and_sync(0, source.all(), kind, {.stop = stopped}); });
  CHECK(never.written.error() == std::errc::operation_canceled);
  CHECK(never.synced.error() == std::errc::operation_canceled);

  std::optional<qio::synced_write> answer;
  auto canceled = file.async_write_and_sync(0, source.all());
  canceled.cancel();  // not started yet
  canceled.start([&answer](const qio::synced_write& given) { answer.emplace(given); });
  canceled.cancel();
  CHECK(!answer);
  while (!answer) w.context->run_one();
  CHECK(answer->synced.error() == std::errc::operation_canceled);
  if (!answer->written) CHECK(answer->written.error() == std::errc::operation_canceled);
}

PROMISE(write_then_sync_destroyed, asynchronous, "a write with a sync may be destroyed at any step") {
  auto file = w.with(4096);
  auto source = memory::with_pattern(0, 4096);
  int calls = 0;
  for (int turns = 0; turns < 4; ++turns) {
    calls = 0;
    auto gone = file.async_write_and_sync(0, source.all());
    gone.start([&calls](const qio::synced_write&) { ++calls; });
    for (int i = 0; i < turns; ++i) w.context->poll();
    CHECK(calls <= 1);
  }
  auto closed = file.async_write_and_sync(0, source.all());
  std::optional<qio::synced_write> answer;
  closed.start([&answer](const qio::synced_write& given) { answer.emplace(given); });
  CHECK(file.close());
  while (!answer) w.context->run_one();
  CHECK(!answer->synced);
}

}  // namespace contract
