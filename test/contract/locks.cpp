// Locks of ranges of a file: what every system promises.
#include "world.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <vector>

namespace contract {

namespace {

using namespace std::chrono_literals;
using qio::extent;
using qio::lock_kind;

/// Whether `file` can lock a range, which is free again afterwards.
template <class File>
bool is_free(File& file, lock_kind kind, const extent& range) {
  const bool locked = file.try_lock(kind, range).value();
  if (locked) CHECK(file.unlock(range));
  return locked;
}

}  // namespace

PROMISE(lock_kinds, everywhere, "shared locks keep out exclusive ones of other handles, and exclusive locks all") {
  auto one = w.with(4096);
  auto other = w.again();
  const extent range{100, 50};
  CHECK(one.try_lock(lock_kind::shared, range).value());
  CHECK(is_free(other, lock_kind::shared, range));
  CHECK(!is_free(other, lock_kind::exclusive, range));
  CHECK(one.unlock(range));
  CHECK(one.try_lock(lock_kind::exclusive, range).value());
  CHECK(!is_free(other, lock_kind::shared, range));
  CHECK(!is_free(other, lock_kind::exclusive, range));
  CHECK(one.unlock(range));
  CHECK(is_free(other, lock_kind::exclusive, range));
}

PROMISE(lock_ranges, everywhere, "a lock covers its range, to the byte, also past the end of the file") {
  auto one = w.with(4096);
  auto other = w.again();
  for (const std::uint64_t at : {std::uint64_t(1), std::uint64_t(4096), std::uint64_t(1) << 40, last_offset - 20}) {
    CHECK(one.try_lock(lock_kind::exclusive, {at, 10}).value());
    CHECK(is_free(other, lock_kind::exclusive, {at - 1, 1}));
    CHECK(!is_free(other, lock_kind::exclusive, {at - 1, 2}));
    CHECK(!is_free(other, lock_kind::exclusive, {at + 9, 1}));
    CHECK(is_free(other, lock_kind::exclusive, {at + 10, 1}));
    CHECK(!is_free(other, lock_kind::exclusive, {}));
    CHECK(one.unlock({at, 10}));
  }
}

PROMISE(lock_to_the_end, everywhere, "a range of 0 bytes reaches to the end of all offsets") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(one.try_lock(lock_kind::exclusive, {5000}).value());
  CHECK(is_free(other, lock_kind::exclusive, {0, 5000}));
  CHECK(!is_free(other, lock_kind::exclusive, {last_offset - 1, 1}));
  CHECK(!is_free(other, lock_kind::exclusive, {last_offset}));  // which only such a range contains
  CHECK(one.unlock({5000}));
  CHECK(one.try_lock(lock_kind::exclusive).value());
  CHECK(!is_free(other, lock_kind::shared, {0, 1}));
  CHECK(!is_free(other, lock_kind::shared, {last_offset}));
}

PROMISE(lock_too_far, everywhere, "a range that ends past the largest offset is refused, and the error says where") {
  auto file = w.with(4096);
  for (const extent range : {extent{last_offset, 1}, extent{1, last_offset}, extent{last_offset + 1}}) {
    const auto failed = file.try_lock(lock_kind::exclusive, range);
    REQUIRE(!failed);
    CHECK(failed.error() == errc::offset_too_large);
    CHECK(failed.error().given() == range.offset + range.bytes);
    CHECK(failed.error().needed() == last_offset);
    CHECK(file.unlock(range).error() == errc::offset_too_large);
    CHECK(file.is_locked(lock_kind::shared, range).error() == errc::offset_too_large);
  }
  const auto failed = file.try_lock(lock_kind::exclusive, {~std::uint64_t(0) - 1, 5});
  CHECK(failed.error() == errc::offset_too_large);
}

PROMISE(lock_access, everywhere, "a shared lock needs access to read, and an exclusive one access to write") {
  REQUIRE(w.with(4096).close());
  {
    auto reader = w.again(access::read);
    CHECK(reader.try_lock(lock_kind::shared).value());
    const auto failed = reader.try_lock(lock_kind::exclusive);
    REQUIRE(!failed);
    CHECK(failed.error() == errc::access_not_granted);
    CHECK(failed.error().message().find("exclusive lock of") != std::string::npos);
    CHECK(failed.error().message().find("open it with access::read_write") != std::string::npos);
  }
  auto writer = w.again(access::write);
  CHECK(writer.try_lock(lock_kind::exclusive).value());
  CHECK(writer.unlock());
  if constexpr (!Where::mode::is_mapped && !Where::mode::is_uncached) {  // those have to read
    const auto failed = writer.try_lock(lock_kind::shared);
    REQUIRE(!failed);
    CHECK(failed.error() == errc::access_not_granted);
    CHECK(failed.error().message().find("shared lock of") != std::string::npos);
  }
}

PROMISE(lock_ends_with_file, everywhere, "closing a file gives its locks back") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(one.try_lock(lock_kind::exclusive).value());
  CHECK(!other.try_lock(lock_kind::shared).value());
  CHECK(one.close());
  CHECK(other.try_lock(lock_kind::exclusive).value());
}

PROMISE(lock_closed, everywhere, "functions of locks of a closed file fail") {
  auto file = w.with(4096);
  CHECK(file.close());
  CHECK(file.try_lock(lock_kind::shared).error() == std::errc::bad_file_descriptor);
  CHECK(file.unlock().error() == std::errc::bad_file_descriptor);
  CHECK(file.is_locked(lock_kind::shared).error() == std::errc::bad_file_descriptor);
  if constexpr (Where::is_async) {
    const auto answer = w.template run<void>([&] { return file.async_lock(lock_kind::shared); });
    CHECK(answer.error() == std::errc::bad_file_descriptor);
  }
}

PROMISE(lock_waits, everywhere_in_the_system, "lock() waits until its deadline, and gets what is free at once") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(one.lock(lock_kind::exclusive).has_value());
  CHECK(other.lock(lock_kind::shared, {}, 5ms).error() == std::errc::timed_out);
  CHECK(other.lock(lock_kind::shared, {last_offset, 1}).error() == errc::offset_too_large);
  CHECK(one.unlock());
  CHECK(other.lock(lock_kind::shared, {}, -1s).has_value());
}

// --- asynchronous ones ---

PROMISE(async_lock_free, asynchronous, "async_lock() locks a free range") {
  auto one = w.with(4096);
  auto other = w.again();
  const extent range{0, 4096};
  CHECK(w.template run<void>([&] { return one.async_lock(lock_kind::exclusive, range); }));
  CHECK(!is_free(other, lock_kind::shared, range));
  CHECK(one.unlock(range));
  const auto failed = w.template run<void>([&] { return one.async_lock(lock_kind::shared, {last_offset, 1}); });
  CHECK(failed.error() == errc::offset_too_large);
}

PROMISE(async_lock_waits, asynchronous, "async_lock() gets the lock after another handle has given it back") {
  auto one = w.with(4096);
  auto other = w.again();
  REQUIRE(one.try_lock(lock_kind::exclusive).value());
  bool has_unlocked = false;
  const auto wait = [&]() -> qio::task<bool> {
    const auto locked = co_await other.async_lock(lock_kind::shared);
    co_return locked&& has_unlocked;
  };
  const auto unlock = [&]() -> qio::task<bool> {
    static_cast<void>(co_await w.context->sleep_for(5ms));
    has_unlocked = true;
    co_return one.unlock().has_value();
  };
  const auto [locked, unlocked] = w.context->run(qio::when_all(wait(), unlock()));
  CHECK((locked && unlocked));
  CHECK(!one.try_lock(lock_kind::exclusive).value());
}

PROMISE(async_lock_deadline, asynchronous, "a deadline ends async_lock(), and it has locked nothing") {
  auto one = w.with(4096);
  auto other = w.again();
  REQUIRE(one.try_lock(lock_kind::exclusive).value());
  for (const auto time : {-1s, 0s}) {
    const auto late =
        w.template run<void>([&] { return other.async_lock(lock_kind::exclusive, {}, {.deadline = time}); });
    CHECK(late.error() == std::errc::timed_out);
  }
  const auto now = [&] {
    if constexpr (std::is_same_v<typename Where::engine, qio::simulated>)
      return std::chrono::steady_clock::time_point(std::chrono::hours(1)) + 1min;  // its disk's clock
    else
      return std::chrono::steady_clock::now();
  }();
  const auto late =
      w.template run<void>([&] { return other.async_lock(lock_kind::exclusive, {}, {.deadline = now + 5ms}); });
  CHECK(late.error() == std::errc::timed_out);
  CHECK(!w.context->next_deadline().exists());
  CHECK(one.unlock());
  CHECK(is_free(one, lock_kind::exclusive, {}));
}

PROMISE(async_lock_stop, asynchronous, "a stop ends async_lock(), and it has locked nothing") {
  auto one = w.with(4096);
  auto other = w.again();
  REQUIRE(one.try_lock(lock_kind::exclusive).value());
  std::stop_source source;
  const auto wait = [&]() -> qio::task<bool> {
    const std::stop_token stop = source.get_token();
    const auto locked = co_await other.async_lock(lock_kind::exclusive, {}, {.stop = stop});
    co_return !locked && locked.error() == std::errc::operation_canceled;
  };
  const auto stop = [&]() -> qio::task<bool> {
    static_cast<void>(co_await w.context->sleep_for(3ms));
    co_return source.request_stop();
  };
  const auto [ended, stopped] = w.context->run(qio::when_all(wait(), stop()));
  CHECK((ended && stopped));
  CHECK(one.unlock());
  CHECK(is_free(one, lock_kind::exclusive, {}));
}

PROMISE(async_lock_cancel, asynchronous, "a started async_lock() can be canceled, before its first attempt, too") {
  auto one = w.with(4096);
  auto other = w.again();
  std::optional<qio::result<void>> answer;
  for (const bool has_begun : {false, true}) {
    if (has_begun) REQUIRE(one.try_lock(lock_kind::exclusive).value());
    auto waiting = other.async_lock(lock_kind::exclusive);
    waiting.start([&answer](qio::result<void> given) { answer = given; });
    if (has_begun) w.context->poll();
    CHECK(!answer);
    waiting.cancel();
    waiting.cancel();
    CHECK(!answer);
    w.context->run();
    REQUIRE(answer);
    CHECK(answer->error() == std::errc::operation_canceled);
    answer.reset();
    if (has_begun) REQUIRE(one.unlock());
    CHECK(is_free(one, lock_kind::exclusive, {}));
  }
}

PROMISE(async_lock_run, asynchronous, "run() waits for an async_lock() that was started") {
  auto one = w.with(4096);
  auto other = w.again();
  REQUIRE(one.try_lock(lock_kind::exclusive).value());
  bool locked = false;
  auto waiting = other.async_lock(lock_kind::exclusive);
  waiting.start([&locked](qio::result<void> given) { locked = given.has_value(); });
  qio::task_scope scope(*w.context);
  scope.spawn([](auto& context, auto& file) -> qio::task<void> {
    static_cast<void>(co_await context.sleep_for(3ms));
    CHECK(file.unlock());
  }(*w.context, one));
  w.context->run();
  CHECK(locked);
}

PROMISE(async_lock_destroyed, asynchronous, "destroying async_lock() leaves nothing locked, and nothing waits") {
  auto one = w.with(4096);
  auto other = w.again();
  for (const bool has_begun : {false, true}) {
    if (has_begun) REQUIRE(one.try_lock(lock_kind::exclusive).value());
    bool called = false;
    {
      auto waiting = other.async_lock(lock_kind::exclusive);
      waiting.start([&called](qio::result<void>) { called = true; });
      if (has_begun) w.context->poll();
      CHECK(w.context->next_deadline().exists() == has_begun);
    }
    CHECK(!w.context->next_deadline().exists());
    w.context->run();
    CHECK(!called);
    if (has_begun) REQUIRE(one.unlock());
    CHECK(is_free(one, lock_kind::exclusive, {}));
  }
}

PROMISE(async_lock_file_closed, asynchronous, "closing the file ends its async_lock()") {
  auto one = w.with(4096);
  for (const bool has_begun : {false, true}) {
    auto other = w.again();
    if (has_begun) REQUIRE(one.try_lock(lock_kind::exclusive).value());
    std::optional<qio::result<void>> answer;
    auto waiting = other.async_lock(lock_kind::exclusive);
    waiting.start([&answer](qio::result<void> given) { answer = given; });
    if (has_begun) w.context->poll();
    CHECK(other.close());
    w.context->run();
    REQUIRE(answer);
    CHECK(answer->error() == std::errc::operation_canceled);
    if (has_begun) REQUIRE(one.unlock());
    CHECK(is_free(one, lock_kind::exclusive, {}));
  }
}

PROMISE(async_lock_moved, asynchronous, "a file may be moved while async_lock() waits") {
  auto one = w.with(4096);
  auto other = w.again();
  REQUIRE(one.try_lock(lock_kind::exclusive).value());
  bool locked = false;
  auto waiting = other.async_lock(lock_kind::exclusive);
  waiting.start([&locked](qio::result<void> given) { locked = given.has_value(); });
  w.context->poll();
  auto moved = std::move(other);
  CHECK(one.unlock());
  w.context->run();
  CHECK(locked);
  CHECK(!one.try_lock(lock_kind::shared).value());
}

PROMISE(async_lock_context_closed, asynchronous, "the end of the context ends async_lock()") {
  auto one = w.with(4096);
  auto other = w.again();
  REQUIRE(one.try_lock(lock_kind::exclusive).value());
  std::optional<qio::result<void>> answer;
  auto waiting = other.async_lock(lock_kind::exclusive);
  waiting.start([&answer](qio::result<void> given) { answer = given; });
  w.context->poll();
  w.context.reset();
  REQUIRE(answer);
  CHECK(answer->error() == std::errc::operation_canceled);
}

PROMISE(async_lock_many, asynchronous, "many waiters get an exclusive lock one after another, and only one at a time") {
  constexpr int waiters = 7;
  static_cast<void>(w.with(4096));
  int holders = 0, served = 0;
  const auto wait = [&]() -> qio::task<void> {
    auto file = w.again();
    const auto locked = co_await file.async_lock(lock_kind::exclusive, {7, 1});
    CHECK(locked);
    CHECK(++holders == 1);
    static_cast<void>(co_await w.context->schedule());
    --holders;
    ++served;
    CHECK(file.unlock({7, 1}));
  };
  std::vector<qio::task<void>> all;
  for (int i = 0; i < waiters; ++i) all.push_back(wait());
  static_cast<void>(w.context->run(qio::when_all(std::move(all))));
  CHECK(served == waiters);
}

PROMISE(async_lock_beside, asynchronous, "operations of the file complete while its async_lock() waits") {
  auto one = w.with(4096);
  auto other = w.again();
  const extent distant{std::uint64_t(1) << 40, 1};  // so that on Windows, too, the file can be read
  REQUIRE(one.try_lock(lock_kind::exclusive, distant).value());
  const auto wait = [&]() -> qio::task<bool> {
    const auto locked = co_await other.async_lock(lock_kind::shared, distant);
    co_return locked.has_value();
  };
  const auto read = [&]() -> qio::task<bool> {
    memory block(4096);
    const auto bytes = co_await other.async_read_at(0, block.all());
    static_cast<void>(one.unlock(distant));
    co_return bytes&& holds_pattern(block.all(), 0);
  };
  const auto [locked, was_read] = w.context->run(qio::when_all(wait(), read()));
  CHECK((locked && was_read));
}

}  // namespace contract
