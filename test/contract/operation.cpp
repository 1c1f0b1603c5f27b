// Asynchronous operations: awaited and with callbacks, many at once, with which memory, and on which path.
#include "reader.hpp"
#include "world.hpp"

#include <chrono>
#include <deque>
#include <vector>

namespace contract {

PROMISE(called_back_once, asynchronous, "run() calls a callback once, and start() never does") {
  auto file = w.with(4096);
  memory block(4096);
  int calls = 0;
  qio::result<std::size_t> answer = std::size_t(0);
  const auto callback = [&](qio::result<std::size_t> given) {
    ++calls;
    answer = given;
  };
  const auto run = [&](auto operation) {
    calls = 0;
    auto started = operation();
    started.start(callback);
    CHECK(calls == 0);
    w.context->run();
    CHECK(calls == 1);
    return answer;
  };
  CHECK(run([&] { return file.async_read_at(0, block.all()); }).value() == 4096);
  CHECK(run([&] { return file.async_read_at(4096, block.all()); }).value() == 0);
  CHECK(run([&] { return file.async_read_at(0, block.part(0, 0)); }).value() == 0);
  CHECK(run([&] { return file.async_write_at(4096, block.all()); }).value() == 4096);
  CHECK(run([&] { return file.async_read_at(~std::uint64_t(0), block.all()); }).error() == errc::offset_too_large);

  bool synced = false;
  auto sync = file.async_sync();
  sync.start([&synced](qio::result<void> given) { synced = given.has_value(); });
  w.context->run();
  CHECK(synced);
}

PROMISE(run_alone, asynchronous, "run() of an operation returns when it completes, and others proceed meanwhile") {
  auto file = w.with(4096);
  reader<world<Where>> other(4096);
  other.start(file, 0);
  memory block(4096);
  CHECK(w.context->run(file.async_read_at(0, block.all())).value() == 4096);
  CHECK(holds_pattern(block.all(), 0));
  CHECK(w.context->run(file.async_read_at(~std::uint64_t(0), block.all())).error() == errc::offset_too_large);
  CHECK(w.context->run(file.async_read_at(0, block.all(), {.deadline = std::chrono::hours(1)})).value() == 4096);
  CHECK(w.context->run(file.async_sync()));
  w.context->run();
  CHECK(other.is_right());
}

PROMISE(polled, asynchronous, "poll() does the work that needs no waiting, and returns whether there was any") {
  auto file = w.with(4096);
  CHECK(!w.context->poll());
  reader<world<Where>> one(4096);
  one.start(file, 0);
  while (one.calls == 0) w.context->poll();
  CHECK(one.is_right());
  CHECK(!w.context->poll());
}

PROMISE(many, asynchronous, "any number of operations may be in flight with a small queue, and none is lost") {
  world<Where> small({.queue_depth = 8, .workers = 2});
  auto file = small.with(64 * 4096);
  for (const std::size_t count : {1u, 32u, 1000u}) {
    CAPTURE(count);
    std::deque<reader<world<Where>>> readers;
    for (std::size_t i = 0; i < count; ++i) readers.emplace_back(4096).start(file, i % 64 * 4096);
    small.context->run();
    bool all_right = true;
    for (auto& each : readers) all_right = all_right && each.calls == 1 && each.is_right();
    CHECK(all_right);
  }
  CHECK(served(file.statistics()) == 1033);
}

PROMISE(many_awaited, asynchronous, "any number of coroutines may read and write with a small queue") {
  world<Where> small({.queue_depth = 8, .workers = 2});
  auto file = small.with(0);
  auto source = memory::with_pattern(0, 4096);
  const auto copy = [](auto& to, std::uint64_t offset, std::span<const std::byte> block) -> qio::task<bool> {
    memory target(4096);
    const auto written = co_await to.async_write_at(offset, block);
    const auto read = co_await to.async_read_at(offset, target.all());
    co_return written.value() == 4096 && read.value() == 4096 && holds_pattern(target.all(), 0);
  };
  std::vector<qio::task<bool>> tasks;
  for (std::size_t i = 0; i < 300; ++i) tasks.push_back(copy(file, i * 4096, source.all()));
  std::size_t right = 0;
  for (const bool each : small.context->run(qio::when_all(std::move(tasks)))) right += each ? 1u : 0u;
  CHECK(right == 300);
  CHECK(file.size().value() == 300 * 4096);
}

PROMISE(smallest_queue, asynchronous, "a queue depth of zero, one or far too large works") {
  for (const unsigned depth : {0u, 1u, 3u, 1u << 30, ~0u}) {
    CAPTURE(depth);
    world<Where> other({.queue_depth = depth, .workers = 1});
    REQUIRE(other.missing.empty());
    auto file = other.with(64 * 4096);
    std::deque<reader<world<Where>>> readers;
    for (std::size_t i = 0; i < 64; ++i) readers.emplace_back(4096).start(file, i * 4096);
    other.context->run();
    bool all_right = true;
    for (auto& each : readers) all_right = all_right && each.is_right();
    CHECK(all_right);
    if constexpr (Where::is_of_system)
      CHECK(other.context->explain().find("engine")->value == w.context->explain().find("engine")->value);
  }
}

PROMISE(destroyed_by_callback, asynchronous, "a callback may destroy its operation") {
  auto file = w.with(4096);
  struct owner {
    explicit owner(typename world<Where>::file& from, int& counter)
        : calls(counter), operation(from.async_read_at(0, buffer.all())) {}
    memory buffer{4096};
    int& calls;
    typename reader<world<Where>>::operation operation;
  };
  int calls = 0;
  auto* const owned = new owner(file, calls);
  owned->operation.start([owned](qio::result<std::size_t> answer) {
    owned->calls += answer.value() == 4096 ? 1 : 100;
    delete owned;
  });
  w.context->run();
  CHECK(calls == 1);
}

PROMISE(restarted_by_callback, asynchronous, "a callback may start another operation in place of its own") {
  auto file = w.with(200 * 4096);
  struct chain {
    typename world<Where>::file& file;
    memory buffer{4096};
    qio::operation_slot<typename reader<world<Where>>::operation> operation{};
    std::uint64_t offset = 0;
    int right = 0;

    void next() {
      operation.emplace([this] { return file.async_read_at(offset, buffer.all()); })
          .start([this](qio::result<std::size_t> answer) {
            if (answer.value() == 4096 && holds_pattern(buffer.all(), offset)) ++right;
            offset += 4096;
            if (answer.value() != 0) next();
          });
    }
  };
  chain reads{file};
  reads.next();
  w.context->run();
  CHECK(reads.right == 200);
  CHECK(reads.offset == 201 * 4096);
}

PROMISE(slots, asynchronous, "a slot in a container holds one operation after another, and cancels what it replaces") {
  auto file = w.with(4 * 4096);
  using operation = typename reader<world<Where>>::operation;
  std::vector<qio::operation_slot<operation>> slots(4);
  std::vector<memory> buffers;
  for (std::size_t i = 0; i < slots.size(); ++i) buffers.emplace_back(4096);
  int calls = 0;
  const auto start = [&](std::size_t i) {
    slots[i].emplace([&] { return file.async_read_at(i * 4096, buffers[i].all()); }).start([&calls](auto answer) {
      calls += answer.value() == 4096 ? 1 : 100;
    });
  };
  CHECK(!slots[0].has_value());
  for (int round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < slots.size(); ++i) start(i);
    w.context->run();
    CHECK(calls == 4 * round);
  }
  calls = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) start(i);
  for (std::size_t i = 0; i < slots.size(); ++i) start(i);
  slots[0].reset();
  CHECK(!slots[0]);
  w.context->run();
  CHECK(calls == 3);
  for (std::size_t i = 1; i < slots.size(); ++i) CHECK(holds_pattern(buffers[i].all(), i * 4096));
}

PROMISE(served_counted, asynchronous, "statistics count which path served an operation") {
  auto file = w.with(4096);
  const std::string engine = w.context->explain().find("engine")->value;
  CHECK(served(file.statistics()) == 0);
  memory block(4096);
  const auto by_worker = [&] { return file.statistics().served_by_worker; };
  const auto is_on = [&](const char* path) {
    const qio::explanation facts = file.explain();
    return facts.find(path) != nullptr && facts.find(path)->value == "on";
  };
  // With a completion port there are no attempts: it starts a transfer, and the system may complete it at once.
  const auto is_inline = [&](std::uint64_t count) {
    return engine == "iocp" || file.statistics().served_inline == count;
  };
  REQUIRE(w.write(file, 0, block.all()).value() == 4096);
  const std::uint64_t at_once = is_on("inline writes") ? 1 : 0;
  CHECK(served(file.statistics()) == 1);
  CHECK(is_inline(at_once));
  // A completion port's first write of a file asks how much of it is valid data, and may wait for that.
  const bool aio_writes = engine == "aio" && file.is_direct() && !os::is_in_overlay(w.where.path());
  const bool by_workers = engine == "pool" || engine == "aio";
  const std::uint64_t write_by_worker = engine == "iocp" || (by_workers && !aio_writes) ? 1 - at_once : 0;
  CHECK(by_worker() == write_by_worker);
  REQUIRE(w.sync(file, qio::sync_kind::data));
  // What the simulator stores in memory is durable only when synced.
  const bool on_system = engine != "iocp" && engine != "simulated";
  const std::uint64_t synced_at_once = on_system && os::is_in_memory(w.where.path()) ? 1 : 0;
  const std::uint64_t two_at_once = at_once + synced_at_once;
  CHECK(served(file.statistics()) == 2);
  CHECK(is_inline(two_at_once));
  CHECK(by_worker() == write_by_worker + (by_workers || engine == "iocp" ? 1 - synced_at_once : 0));

  REQUIRE(w.read(file, 0, block.all()).value() == 4096);  // its page is in the cache
  CHECK(is_inline(two_at_once + (is_on("inline reads") ? 1u : 0u)));
  CHECK(served(file.statistics()) == 3);
  if constexpr (!Where::mode::is_mapped) {
    const auto before = file.statistics().served_by_worker;
    REQUIRE(w.resize(file, 0));
    CHECK(file.statistics().served_by_worker == before + 1);
  }
}

PROMISE(registered_memory, asynchronous, "registered memory serves every transfer, alone and with other memory") {
  CHECK(w.context->registered_memory().empty());
  CHECK(w.context->explain().find("registered memory")->value == "off");

  world<Where> registered({.registered_bytes = 5 * 4096 - 1});
  const auto memory_there = registered.context->registered_memory();
  const std::size_t page = os::page_size();
  REQUIRE(memory_there.size() == (5 * 4096 + page - 1) / page * page);
  auto file = registered.with(8 * 4096);
  std::ranges::fill(memory_there, std::byte{0});

  const auto middle = memory_there.subspan(4096, 2 * 4096);
  CHECK(registered.read(file, 4096, middle).value() == middle.size());
  CHECK(holds_pattern(middle, 4096));
  CHECK(holds_only(memory_there.first(4096), std::byte{0}));
  CHECK(holds_only(memory_there.subspan(3 * 4096), std::byte{0}));

  CHECK(registered.read(file, 7 * 4096, memory_there.first(2 * 4096)).value() == 4096);  // to the end of the file

  memory elsewhere(4096);
  const std::array scattered{qio::mutable_buffer(memory_there.last(4096)), qio::mutable_buffer(elsewhere.all())};
  CHECK(registered.read(file, 0, std::span(scattered)).value() == 2 * 4096);
  CHECK(holds_pattern(memory_there.last(4096), 0));
  CHECK(holds_pattern(elsewhere.all(), 4096));

  std::ranges::fill(middle, std::byte{9});
  CHECK(registered.write(file, 0, middle).value() == middle.size());
  CHECK(registered.read(file, 4096, elsewhere.all()).value() == 4096);
  CHECK(holds_only(elsewhere.all(), std::byte{9}));
}

PROMISE(explained, asynchronous, "explain() of a context names its engine first") {
  const qio::explanation facts = w.context->explain();
  REQUIRE(!facts.facts().empty());
  CHECK(facts.facts().front().name == "engine");
  if (qio_test::current.kind == qio::engine_kind::workers) CHECK(facts.find("engine")->value == "pool");
  if (qio_test::current.kind == qio::engine_kind::aio) CHECK(facts.find("engine")->value == "aio");
  CHECK(facts.text().find("engine: ") == 0);
}

PROMISE(context_moved, asynchronous,
        "files keep working when their context is moved, and functions of a moved-from context fail") {
  auto file = w.with(4096);
  auto moved = std::move(*w.context);
  reader<world<Where>> one(4096);
  one.start(file, 0);
  moved.run();
  CHECK(one.is_right());
  using mode = qio::basic_file<typename Where::mode>;
  CHECK(w.context->run(file.async_read_at(0, one.buffer.all())).error() == std::errc::bad_file_descriptor);
  CHECK(mode::open(*w.context, w.where / "data").error() == std::errc::bad_file_descriptor);
  CHECK(moved.run(mode::async_open(*w.context, w.where / "data")).error() == std::errc::bad_file_descriptor);
  if constexpr (!std::is_same_v<typename Where::engine, qio::simulated>)
    CHECK(moved.run(qio::async_sync_directory(*w.context, ".")).error() == std::errc::bad_file_descriptor);
  *w.context = std::move(moved);
  one.start(file, 0);
  w.context->run();
  CHECK(one.is_right());
}

}  // namespace contract
