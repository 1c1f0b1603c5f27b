// Buffers from a pool.
#include "world.hpp"
#include <qio/buffer_pool.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace contract {

namespace {

qio::buffer_pool small_pool(std::size_t buffers) {
  return qio::buffer_pool::allocate({.buffers = buffers, .buffer_bytes = 4096}).value();
}

/// As many coroutines as there are numbers in `order`, each of which takes a buffer and notes its number.
template <class Context>
qio::task<void> take_in_turn(Context& context, qio::buffer_pool& pool, int number, std::vector<int>& order) {
  auto taken = co_await pool.async_take(context);
  REQUIRE(taken);
  order.push_back(number);
  static_cast<void>(co_await context.schedule());  // others wait meanwhile
}

}  // namespace

PROMISE(pool_in_turn, each_engine, "coroutines that wait for a buffer get one in turn") {
  auto pool = small_pool(2);
  std::vector<int> order;
  std::vector<qio::task<void>> tasks;
  for (int i = 0; i < 20; ++i) tasks.push_back(take_in_turn(*w.context, pool, i, order));
  w.context->run(qio::when_all(std::move(tasks)));
  std::vector<int> expected(20);
  for (int i = 0; i < 20; ++i) expected[static_cast<std::size_t>(i)] = i;
  CHECK(order == expected);
  CHECK(pool.buffers_in_use() == 0);
}

PROMISE(pool_transfers, asynchronous, "a buffer of a pool is aligned, and can be passed to transfers") {
  auto pool = qio::buffer_pool::allocate({.buffers = 4, .buffer_bytes = 8192}).value();
  auto file = w.with(8192);
  auto buffer = pool.take().value();
  CHECK(buffer.size() == 8192);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096 == 0);
  CHECK(w.read(file, 0, buffer).value() == 8192);
  CHECK(holds_pattern(buffer, 0));
  CHECK(w.write(file, 8192, buffer.view(4096, 4096)).value() == 4096);
  auto other = pool.take().value();
  CHECK(w.read(file, 8192, other.view(0, 4096)).value() == 4096);
  CHECK(holds_pattern(other.view(0, 4096), 4096));
}

PROMISE(pool_abandoned, each_engine, "a coroutine that waits for a buffer may be destroyed") {
  auto pool = small_pool(1);
  auto held = std::optional(pool.take().value());
  std::vector<int> order;
  {
    qio::task_scope scope(*w.context);
    scope.spawn(take_in_turn(*w.context, pool, 1, order));
    scope.spawn(take_in_turn(*w.context, pool, 2, order));
    static_cast<void>(w.context->poll());
  }
  {  // one that has a buffer already, but has not continued
    qio::task_scope scope(*w.context);
    scope.spawn(take_in_turn(*w.context, pool, 3, order));
    static_cast<void>(w.context->poll());
    held.reset();
    CHECK(pool.buffers_in_use() == 1);
  }
  CHECK(order.empty());
  CHECK(pool.buffers_in_use() == 0);
  w.context->run(take_in_turn(*w.context, pool, 4, order));
  CHECK(order == std::vector{4});
}

PROMISE(pool_after_context, each_engine, "waiting for a buffer on a context that has ended fails") {
  auto pool = small_pool(1);
  auto other = w.new_context().value();
  auto awaiter = pool.async_take(*w.context);
  w.context.reset();
  CHECK(awaiter.await_ready());
  CHECK(awaiter.await_resume().error() == errc::context_closed);
}

PROMISE(pool_ended_waiter, each_engine,
        "a coroutine whose context has ended gets no buffer, and one of another context that waits gets it") {
  auto pool = small_pool(1);
  auto held = std::optional(pool.take().value());
  auto ending = std::optional(w.new_context().value());
  std::vector<int> order;
  qio::task_scope abandoned(*ending), scope(*w.context);
  abandoned.spawn(take_in_turn(*ending, pool, 1, order));
  static_cast<void>(ending->poll());
  scope.spawn(take_in_turn(*w.context, pool, 2, order));
  static_cast<void>(w.context->poll());
  ending.reset();
  held.reset();
  w.context->run([](qio::task_scope& all) -> qio::task<void> { co_await all.join(); }(scope));
  CHECK(order == std::vector{2});
  CHECK(pool.buffers_in_use() == 0);
}

PROMISE(pool_in_memory, each_engine, "a pool in a context's registered memory has as many buffers as fit") {
  auto context = w.new_context({.registered_bytes = 65536}).value();
  {
    auto pool = qio::buffer_pool::in(context.registered_memory(), 10'000).value();
    CHECK(pool.buffer_bytes() == 12288);
    CHECK(pool.buffers() == context.registered_memory().size() / 12288);
    std::vector<qio::pooled_buffer> all;
    std::set<const std::byte*> addresses;
    for (std::size_t i = 0; i < pool.buffers(); ++i) addresses.insert(all.emplace_back(pool.take().value()).data());
    CHECK(addresses.size() == pool.buffers());
    CHECK(pool.take().error() == std::errc::no_buffer_space);
  }
  const auto memory = context.registered_memory();
  CHECK(qio::buffer_pool::in(memory.subspan(1), 4096).error() == std::errc::invalid_argument);
  CHECK(qio::buffer_pool::in(memory.first(4095), 4096).error() == std::errc::invalid_argument);
  CHECK(qio::buffer_pool::in(memory, 0).error() == std::errc::invalid_argument);
}

TEST_CASE("buffer_pool: options that cannot be met are refused") {
  using options = qio::buffer_pool_options;
  const auto refusal = [](const options& wrong) { return qio::buffer_pool::allocate(wrong).error(); };
  CHECK(refusal({.alignment = 3000}) == errc::invalid_alignment);
  CHECK(refusal({.alignment = 3000}).given() == 3000);
  CHECK(refusal({.alignment = std::size_t(4) << 20}) == errc::invalid_alignment);
  CHECK(refusal({.buffers = 0}) == std::errc::invalid_argument);
  CHECK(refusal({.buffer_bytes = 0}) == std::errc::invalid_argument);
  CHECK(refusal({.buffer_bytes = ~std::size_t(0)}) == std::errc::invalid_argument);
  CHECK(refusal({.buffers = ~std::size_t(0) / 4096}) == std::errc::not_enough_memory);
}

TEST_CASE("buffer_pool: buffers are aligned as requested, and moving one leaves it empty") {
  for (const std::size_t alignment : {std::size_t(64), std::size_t(4096), std::size_t(1) << 20}) {
    auto pool = qio::buffer_pool::allocate({.buffers = 3, .buffer_bytes = 5000, .alignment = alignment}).value();
    CHECK(pool.buffer_bytes() == (5000 + alignment - 1) / alignment * alignment);
    auto first = pool.take().value();
    auto second = pool.take().value();
    CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % alignment == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(second.data()) % alignment == 0);
    std::fill(first.begin(), first.end(), std::byte{1});
    std::fill(second.begin(), second.end(), std::byte{2});
    CHECK(holds_only(first.view(0, 5000), std::byte{1}));
    auto moved = std::move(first);
    CHECK(moved.size() == pool.buffer_bytes());
    first = std::move(second);  // a moved-from buffer may be assigned to
    CHECK(holds_only(first.view(0, 5000), std::byte{2}));
    auto pools = std::move(pool);
    CHECK(pools.buffers_in_use() == 2);
    { const auto last = std::move(first), second_last = std::move(moved); }
    CHECK(pools.buffers_in_use() == 0);
  }
}

}  // namespace contract
