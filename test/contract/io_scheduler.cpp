// Classes of operations: what waits for its turn, in parts of which size, and that results are the same.
#include "scheduled.hpp"
#include "world.hpp"
#include <qio/bounced.hpp>
#include <qio/io_scheduler.hpp>
#include <qio/latencies.hpp>
#include <qio/task_scope.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace contract {

using namespace std::chrono_literals;

// What is once in the foreground stays there, and no latency is too long.
inline constexpr qio::io_scheduler_options always_beside{
    .latency_goal = 1h, .largest_part = 16 * 1024, .foreground_lasts = 24h};

// A context in the foreground, and a file of it in each class.
template <class World>
struct classes {
  using file = typename World::file;

  explicit classes(World& w, const qio::io_scheduler_options& scheduling = always_beside,
                   qio::context_options options = {})
      : scheduler(scheduling), context(World::new_context(with_class(options)).value()), unit(w.unit), where(w.where) {}
  qio::context_options with_class(qio::context_options& options) {
    options.io_class = scheduler.foreground();
    return options;
  }
  // Simulated files have no directory.
  std::string path_of(const char* name) const {
    return std::is_same_v<typename World::engine, qio::simulated> ? std::string(name) : where / name;
  }
  qio::result<file> try_open(const char* name, const qio::io_class& in) {
    return qio::basic_file<typename World::mode>::open(context, path_of(name), access::read_write, creation::if_needed,
                                                       {.inline_reads = qio::inline_transfers::never, .io_class = in});
  }
  file open(const char* name, const qio::io_class& in) { return try_open(name, in).value(); }
  // From now on, there is a foreground.
  void begin_foreground() {
    file served = open("foreground", {});
    memory some(unit);
    REQUIRE(run<std::size_t>([&] { return served.async_write_at(0, some.all(), {.durable = true}); }));
  }
  template <class Answer, class Make>
  qio::result<Answer> run(Make&& make) {
    return context.run(World::template awaited<Answer>(make));
  }
  static constexpr std::size_t whole = 128 * 1024, part = 16 * 1024;

  qio::io_scheduler scheduler;
  qio::io_class background = scheduler.make_class({.name = "background"});
  typename World::context_type context;
  const std::size_t unit;
  qio_test::directory& where;
};

PROMISE(splits, asynchronous, "beside a foreground, a background transfer is split, and its result is whole") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto file = in.open("data", in.background);
  auto source = memory::with_pattern(0, in.whole);
  CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, source.all()); }).value() == in.whole);
  auto found = in.scheduler.statistics(in.background);
  CHECK(found.operations == 1);
  CHECK(found.parts == in.whole / in.part);
  CHECK(found.bytes == in.whole);
  CHECK(found.waiting == 0);
  CHECK(found.in_device == 0);

  memory target(in.whole);
  CHECK(in.template run<std::size_t>([&] { return file.async_read_at(0, target.all()); }).value() == in.whole);
  CHECK(holds_pattern(target.all(), 0));
  CHECK(in.scheduler.statistics(in.background).parts == 2 * in.whole / in.part);

  // Up to the end of the file, which is within a part or between two.
  for (const std::size_t left : {in.whole - w.unit, in.whole - in.part, in.whole - in.part - w.unit}) {
    REQUIRE(file.resize(left));
    std::fill(target.all().begin(), target.all().end(), std::byte(0));
    CHECK(in.template run<std::size_t>([&] { return file.async_read_at(0, target.all()); }).value() == left);
    CHECK(holds_pattern(target.all().first(left), 0));
    CHECK(holds_only(target.all().subspan(left), std::byte(0)));
  }
}

PROMISE(splits_nothing_alone, asynchronous, "without a foreground, transfers of up to 1 MiB are not split") {
  classes<world<Where>> in(w);
  auto file = in.open("data", in.background);
  auto source = memory::with_pattern(0, 1024 * 1024);
  for (std::uint64_t parts = 1; parts <= 3; ++parts) {
    CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, source.all()); }).value() == 1024 * 1024);
    CHECK(in.scheduler.statistics(in.background).parts == parts);
  }
}

PROMISE(splits_buffers, asynchronous, "a transfer of several buffers is split between them and within them") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto file = in.open("data", in.background);
  const std::size_t lengths[] = {w.unit, 0, 2 * w.unit, 3 * in.part, w.unit, in.part, 5 * w.unit};
  std::vector<memory> sources, targets;
  std::vector<qio::const_buffer> out;
  std::vector<qio::mutable_buffer> into;
  std::size_t total = 0;
  for (const std::size_t each : lengths) {
    sources.push_back(memory::with_pattern(total, each));
    targets.emplace_back(each);
    total += each;
  }
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    out.emplace_back(sources[i].data(), lengths[i]);
    into.emplace_back(targets[i].data(), lengths[i]);
  }
  const std::span<const qio::const_buffer> all_out(out);
  const std::span<const qio::mutable_buffer> all_into(into);
  CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, all_out); }).value() == total);
  CHECK(in.template run<std::size_t>([&] { return file.async_read_at(0, all_into); }).value() == total);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < std::size(lengths); offset += lengths[i++])
    CHECK(holds_pattern(targets[i].all(), offset));
  CHECK(in.scheduler.statistics(in.background).parts >= 2 * 4);
}

PROMISE(splits_no_durable_write, asynchronous, "a durable write is not split") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto file = in.open("data", in.background);
  auto source = memory::with_pattern(0, in.whole);
  CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, source.all(), {.durable = true}); }).value() ==
        in.whole);
  CHECK(in.scheduler.statistics(in.background).parts == 1);
}

PROMISE(by_operation, asynchronous, "an operation may have another class than its file, and a file than its context") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto file = in.open("data", {});
  auto source = memory::with_pattern(0, in.whole);
  const auto parts = [&] { return in.scheduler.statistics(in.background).parts; };
  CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, source.all()); }));
  CHECK(parts() == 0);
  CHECK(
      in.template run<std::size_t>([&] { return file.async_write_at(0, source.all(), {.io_class = in.background}); }));
  CHECK(parts() == in.whole / in.part);
  CHECK(in.template run<std::size_t>([&] { return file.async_read_at(0, source.all(), {.io_class = in.background}); }));
  CHECK(parts() == 2 * in.whole / in.part);

  auto other = in.open("other", in.background);
  CHECK(in.template run<std::size_t>(
      [&] { return other.async_write_at(0, source.all(), {.io_class = in.scheduler.foreground()}); }));
  CHECK(parts() == 2 * in.whole / in.part);

  auto background = w.new_context({.io_class = in.background}).value();
  auto third = qio::basic_file<typename Where::mode>::open(background, in.path_of("third"), access::read_write,
                                                           creation::if_needed)
                   .value();
  const auto write = [&] { return third.async_write_at(0, source.all()); };
  CHECK(background.run(world<Where>::template awaited<std::size_t>(write)).value() == in.whole);
  CHECK(parts() == 3 * in.whole / in.part);
}

PROMISE(batches, asynchronous, "the transfers of a batch wait for their turn one by one, and each has its result") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto file = in.open("data", {});
  std::vector<memory> sources, targets;
  for (std::size_t i = 0; i < 5; ++i) {
    sources.push_back(memory::with_pattern(i * in.whole, in.whole));
    targets.emplace_back(in.whole);
  }
  std::vector<qio::write_request> writes;
  std::vector<qio::read_request> reads;
  for (std::size_t i = 0; i < 5; ++i) {
    writes.emplace_back(i * in.whole, sources[i].all());
    reads.emplace_back(i * in.whole, targets[i].all());
  }
  const qio::write_options background{.io_class = in.background};
  CHECK(in.template run<std::size_t>([&] { return file.async_write_many(writes, background); }).value() == 0);
  CHECK(in.scheduler.statistics(in.background).operations == 5);
  CHECK(in.scheduler.statistics(in.background).parts == 5 * in.whole / in.part);
  CHECK(in.template run<std::size_t>([&] {
            return file.async_read_many(reads, {.io_class = in.background});
          }).value() == 0);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(reads[i].answer.value() == in.whole);
    CHECK(holds_pattern(targets[i].all(), i * in.whole));
  }
  CHECK(in.scheduler.statistics(in.background).parts == 10 * in.whole / in.part);
}

PROMISE(foreign, asynchronous, "a class of another scheduler is refused, and so is one without a context") {
  classes<world<Where>> in(w);
  qio::io_scheduler other;
  const qio::io_class foreign = other.make_class();
  CHECK(in.try_open("data", foreign).error() == errc::foreign_io_class);
  CHECK(in.try_open("data", other.foreground()).error() == errc::foreign_io_class);
  auto file = in.open("data", {});
  memory some(w.unit);
  CHECK(in.template run<std::size_t>([&] {
            return file.async_write_at(0, some.all(), {.io_class = foreign});
          }).error() == errc::foreign_io_class);
  CHECK(in.template run<std::size_t>([&] {
            return file.async_read_at(0, some.all(), {.io_class = foreign});
          }).error() == errc::foreign_io_class);
  std::vector<qio::write_request> writes;
  writes.emplace_back(0, some.all());
  const qio::write_options options{.io_class = foreign};
  CHECK(in.template run<std::size_t>([&] { return file.async_write_many(writes, options); }).error() ==
        errc::foreign_io_class);
  CHECK(writes[0].answer.error() == errc::foreign_io_class);
  CHECK(in.template run<std::size_t>([&] {
            return file.async_write_at(0, some.all(), {.io_class = in.background});
          }).value() == w.unit);
  CHECK(other.statistics(in.background).operations == 0);

  if constexpr (Where::is_of_system) {
    const auto alone = qio::basic_file<typename Where::mode>::open(
        in.path_of("data"), access::read, creation::open_existing, {.io_class = in.background});
    REQUIRE(alone.has_error());
    CHECK(alone.error() == errc::foreign_io_class);
    CHECK(alone.error() == std::errc::invalid_argument);
  }
}

// So many writes of `whole` bytes, none of which has begun but the first.
template <class World>
struct several_writes {
  using write = decltype(std::declval<typename World::file&>().async_write_at(0, std::span<const std::byte>()));

  several_writes(typename World::file& file, std::span<const std::byte> source, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      slots.emplace_back();
      slots.back().emplace([&] { return file.async_write_at(i * source.size(), source); });
      answers.emplace_back();
    }
    for (std::size_t i = 0; i < count; ++i)
      slots[i]->start([answer = &answers[i]](qio::result<std::size_t> given) { answer->emplace(given); });
  }

  std::deque<qio::operation_slot<write>> slots;
  std::deque<std::optional<qio::result<std::size_t>>> answers;
};

PROMISE(keeps_window, asynchronous,
        "beside a foreground, no more than the window is in the device, and all is done at last") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto file = in.open("data", in.background);
  auto source = memory::with_pattern(0, in.whole);
  several_writes<world<Where>> started(file, source.all(), 20);
  CHECK(in.scheduler.statistics(in.background).in_device == 1);
  CHECK(in.scheduler.statistics(in.background).waiting == 19);
  in.context.run();
  for (const auto& each : started.answers) CHECK(each->value() == in.whole);
  CHECK(in.scheduler.statistics().most_in_device == in.part);
  CHECK(in.scheduler.statistics().window == in.part);
  CHECK(in.scheduler.statistics(in.background).parts == 20 * in.whole / in.part);
  CHECK(in.scheduler.statistics(in.background).operations == 20);
  CHECK(in.scheduler.statistics(in.background).waiting == 0);
}

PROMISE(alone, each_engine, "without a foreground, up to 8 MiB of the background are in the device") {
  classes<world<Where>> in(w);
  auto file = in.open("data", in.background);
  auto source = memory::with_pattern(0, 1024 * 1024);
  several_writes<world<Where>> started(file, source.all(), 10);
  CHECK(in.scheduler.statistics(in.background).in_device == 8);
  CHECK(in.scheduler.statistics(in.background).waiting == 2);
  in.context.run();
  for (const auto& each : started.answers) CHECK(each->value() == 1024 * 1024);
}

using cached_by_default = std::tuple<contract::by_default<qio::cached>>;
PROMISE(hits_inline, cached_by_default,
        "a file of a background class reads inline what is cached, and writes nothing") {
  classes<world<Where>> in(w);
  auto file = qio::cached_file::open(in.context, in.path_of("data"), access::read_write, creation::always_new,
                                     {.io_class = in.background})
                  .value();
  memory some(4096);
  CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, some.all()); }).value() == 4096);
  CHECK(file.statistics().served_inline == 0);
  CHECK(in.scheduler.statistics(in.background).parts == 1);
  if (file.explain().find("inline reads")->value != "on") QIO_SKIP("no inline reads here");
  CHECK(in.template run<std::size_t>([&] { return file.async_read_at(0, some.all()); }).value() == 4096);
  CHECK(file.statistics().served_inline == 1);
  CHECK(in.scheduler.statistics(in.background).parts == 1);
}

TEST_CASE("simulated/direct: an untorn write is not split") {
  qio::simulated_disk disk({.largest_untorn = 64 * 1024});
  qio::io_scheduler scheduler(always_beside);
  const auto background = scheduler.make_class();
  auto context =
      qio::basic_context<qio::simulated>::create({.io_class = scheduler.foreground(), .disk = &disk}).value();
  auto file = qio::direct_file::open(context, "data", access::read_write, creation::if_needed).value();
  memory some(64 * 1024);
  REQUIRE(context.run(file.async_write_at(0, some.all(), {.durable = true})));  // from now on, there is a foreground
  CHECK(context.run(file.async_write_at(0, some.all(), {.io_class = background})).value() == 64 * 1024);
  CHECK(scheduler.statistics(background).parts == 4);
  CHECK(context.run(file.async_write_at(0, some.all(), {.untorn = true, .io_class = background})).value() == 64 * 1024);
  CHECK(scheduler.statistics(background).parts == 5);
}

PROMISE(others_at_once, asynchronous, "a sync waits for no turn, whatever its class") {
  classes<world<Where>> in(w);
  const auto slow = in.scheduler.make_class({.name = "slow", .bytes_per_second = 1});
  auto file = in.open("data", slow);
  memory some(in.part);
  CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, some.all()); }));
  auto waits = file.async_write_at(0, some.all());
  waits.start([](qio::result<std::size_t>) {});
  CHECK(in.template run<void>([&] { return file.async_sync(); }));
  qio::io_scheduler other;
  const qio::operation_options foreign{.io_class = other.make_class()};
  CHECK(in.template run<void>([&] { return file.async_sync(qio::sync_kind::everything, foreign); }));
  CHECK(in.scheduler.statistics(slow).waiting == 1);
  waits.cancel();
  in.context.run();
}

PROMISE(through_a_pool, asynchronous, "transfers of bounced() have the class of their operation, or of their file") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto pool = qio::bounce_pool::allocate().value();
  auto file = in.open("data", {}), behind = in.open("behind", in.background);
  auto source = memory::with_pattern(0, in.whole);
  const auto bytes = source.part(1, in.whole - 3);  // which a direct file cannot write as they are
  auto parts = [&, last = std::uint64_t(0)]() mutable {
    const std::uint64_t now = in.scheduler.statistics(in.background).parts;
    return now - std::exchange(last, now);
  };
  CHECK(in.template run<std::size_t>([&] { return bounced(file, pool).async_write_at(1, bytes); }));
  CHECK(parts() == 0);
  CHECK(in.template run<std::size_t>([&] { return bounced(behind, pool).async_write_at(1, bytes); }));
  CHECK(parts() >= in.whole / in.part);
  const qio::write_options background{.io_class = in.background};
  CHECK(in.template run<std::size_t>([&] { return bounced(file, pool).async_write_at(1, bytes, background); }));
  CHECK(parts() >= in.whole / in.part);
  memory target(in.whole);
  const auto into = target.part(1, in.whole - 3);
  const qio::operation_options reads{.io_class = in.background};
  CHECK(in.template run<std::size_t>([&] { return bounced(file, pool).async_read_at(1, into, reads); }));
  CHECK(holds_pattern(into, 1));
  CHECK(parts() >= in.whole / in.part);

  qio::io_scheduler other;
  const qio::operation_options foreign{.io_class = other.make_class()};
  CHECK(in.template run<std::size_t>([&] { return bounced(file, pool).async_read_at(1, into, foreign); }).error() ==
        errc::foreign_io_class);
  CHECK(in.template run<std::size_t>([&] { return bounced(file, pool).async_write_at(1, bytes, foreign); }).error() ==
        errc::foreign_io_class);
}

PROMISE(cancels, asynchronous,
        "canceling ends a background operation that waits at once, and another between two of its parts") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto file = in.open("data", in.background);
  auto source = memory::with_pattern(0, in.whole);
  several_writes<world<Where>> started(file, source.all(), 3);
  started.slots[2]->cancel();
  CHECK(in.scheduler.statistics(in.background).waiting == 1);
  started.slots[0]->cancel();
  started.slots[0]->cancel();
  in.context.run();
  CHECK(started.answers[1]->value() == in.whole);
  REQUIRE(started.answers[2]->has_error());
  CHECK(started.answers[2]->error() == std::errc::operation_canceled);
  CHECK(started.answers[2]->error().transferred() == 0);
  REQUIRE(started.answers[0]->has_error());
  CHECK(started.answers[0]->error() == std::errc::operation_canceled);
  CHECK(started.answers[0]->error().transferred() <= in.part);
}

PROMISE(deadlines, asynchronous,
        "a background operation that waits for its turn has its deadline, and its stop token") {
  classes<world<Where>> in(w);
  const auto slow = in.scheduler.make_class({.name = "slow", .bytes_per_second = 1});
  auto file = in.open("data", slow);
  memory some(in.part);
  // The first may go at once, and is paid for by the next, after hours.
  CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, some.all()); }));
  if constexpr (Where::is_of_system) {  // in a simulation, 5 ms of real time never pass
    const auto late =
        in.template run<std::size_t>([&] { return file.async_write_at(0, some.all(), {.deadline = 5ms}); });
    REQUIRE(late.has_error());
    CHECK(late.error() == std::errc::timed_out);
    CHECK(late.error().transferred() == 0);
  }

  std::stop_source source;
  const std::stop_token stop = source.get_token();
  auto stopped = file.async_write_at(0, some.all(), {.stop = stop});
  std::optional<qio::result<std::size_t>> answer;
  stopped.start([&](qio::result<std::size_t> given) { answer.emplace(given); });
  CHECK(!in.context.poll());
  source.request_stop();
  in.context.run();
  REQUIRE(answer->has_error());
  CHECK(answer->error() == std::errc::operation_canceled);
}

PROMISE(ends, asynchronous, "closing a file, destroying operations and destroying the context end what waits") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto source = memory::with_pattern(0, in.whole);
  {
    auto file = in.open("data", in.background);
    several_writes<world<Where>> started(file, source.all(), 3);
    REQUIRE(file.close());
    CHECK(in.scheduler.statistics(in.background).waiting == 0);
    CHECK(in.scheduler.statistics(in.background).in_device == 0);
    in.context.run();
    for (const auto& each : started.answers) {
      REQUIRE(each.has_value());
      CHECK((each->has_value() || each->error() == std::errc::operation_canceled));
    }
    CHECK(started.answers[2]->error().transferred() == 0);
  }
  auto file = in.open("data", in.background);
  { several_writes<world<Where>> destroyed(file, source.all(), 3); }
  CHECK(in.scheduler.statistics(in.background).waiting == 0);
  CHECK(in.scheduler.statistics(in.background).in_device == 0);
  auto other = in.open("other", in.background);
  several_writes<world<Where>> started(file, source.all(), 3), more(other, source.all(), 3);
  { const typename world<Where>::context_type moved = std::move(in.context); }
  for (const auto* all : {&started, &more})
    for (const auto& each : all->answers) {
      REQUIRE(each.has_value());
      CHECK((each->has_value() || each->error() == std::errc::operation_canceled));
    }
  CHECK(in.scheduler.statistics(in.background).waiting == 0);
  CHECK(in.scheduler.statistics(in.background).in_device == 0);
}

PROMISE(shares, each_engine, "classes get throughput in proportion to their shares") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  const auto large = in.scheduler.make_class({.name = "large", .shares = 300});
  const auto small = in.scheduler.make_class({.name = "small", .shares = 100});
  auto a = in.open("a", large), b = in.open("b", small);
  auto source = memory::with_pattern(0, in.part);
  std::optional<several_writes<world<Where>>> of_a(std::in_place, a, source.all(), 60),
      of_b(std::in_place, b, source.all(), 60);
  while (in.scheduler.statistics(large).parts < 60) in.context.run_one();
  const std::uint64_t others = in.scheduler.statistics(small).parts;
  CHECK(others >= 18);
  CHECK(others <= 22);
  in.context.run();
}

PROMISE(limits, each_engine, "a class keeps to its bytes per second, and to its operations per second") {
  classes<world<Where>> in(w);
  const auto by_bytes = in.scheduler.make_class({.name = "bytes", .bytes_per_second = 1024 * 1024});
  const auto by_count = in.scheduler.make_class({.name = "operations", .operations_per_second = 100});
  memory some(in.whole);
  const auto seconds = [&](const qio::io_class& limited, std::span<std::byte> each, int count) {
    auto file = in.open("data", limited);
    const auto all = [&]() -> qio::task<bool> {
      bool is_done = true;
      for (int i = 0; i < count; ++i) {
        const auto written = co_await file.async_write_at(0, each);
        is_done = is_done && written.has_value();
      }
      co_return is_done;
    };
    const auto began = std::chrono::steady_clock::now();
    CHECK(in.context.run(all()));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const double took = seconds(by_bytes, some.all(), 3);
  if constexpr (Where::is_of_system) CHECK(took >= 0.15);  // of 375 KiB, 100 KiB may go at once, and the last is owed
  const double counted = seconds(by_count, some.part(0, w.unit), 30);
  if constexpr (Where::is_of_system) CHECK(counted >= 0.15);
  CHECK(in.scheduler.statistics(by_count).operations == 30);
}

PROMISE(adapts, each_engine,
        "the window grows while the foreground keeps its goal, shrinks while it does not, and starves nobody") {
  for (const bool is_easy : {true, false}) {
    qio::io_scheduler_options scheduling = always_beside;
    scheduling.latency_goal = is_easy ? std::chrono::nanoseconds(1h) : 1ns;
    classes<world<Where>> in(w, scheduling);
    auto served = in.open("served", {}), file = in.open("data", in.background);
    auto source = memory::with_pattern(0, in.whole);
    const std::uint64_t window_before = in.scheduler.statistics().window;
    bool is_over = false;
    const auto serve = [&]() -> qio::task<void> {
      memory some(w.unit);
      for (int i = 0; i < 3000; ++i)
        static_cast<void>(co_await served.async_write_at(0, some.all(), {.durable = true}));
      is_over = true;
    };
    std::uint64_t written = 0;
    const auto write = [&](std::uint64_t offset) -> qio::task<void> {
      while (!is_over) {
        const auto done = co_await file.async_write_at(offset, source.all());
        written += done ? done.value() : 0;
      }
    };
    const auto both = [&]() -> qio::task<void> {
      qio::task_scope scope(in.context);
      scope.spawn(serve());
      for (std::uint64_t i = 0; i < 4; ++i) scope.spawn(write(i * in.whole));
      co_await scope.join();
    };
    in.context.run(both());
    const auto found = in.scheduler.statistics();
    CHECK(found.foreground == 3000);
    CHECK(written > 0);
    if (is_easy) {
      CHECK(found.window > window_before);
      CHECK(found.foreground_late == 0);
    } else {
      CHECK(found.window < window_before);
      CHECK(found.foreground_late > 0);
      CHECK(found.window >= in.part * 100 / 1100 - 1);  // by its shares
    }
  }
}

// A foreground beside one background write at a time, on a disk that takes so long for each of two at a time.
struct beside_one_writer {
  explicit beside_one_writer(std::chrono::nanoseconds goal, std::chrono::nanoseconds disk_takes = 4ms,
                             double factor = 4)
      : disk({.shortest = disk_takes, .longest = disk_takes}),
        scheduler(
            {.latency_goal = goal, .latency_factor = factor, .largest_part = 64 * 1024, .foreground_lasts = 1ms}) {}
  // `abreast` operations of the foreground at a time, beside writes of `bytes` bytes, until `is_over()`, which is asked
  // after each of the foreground; but no longer than 20,000 of these.
  template <class IsOver>
  void run(int abreast, std::size_t bytes, IsOver&& is_over) {
    int left = 20'000;
    const auto serve = [&]() -> qio::task<void> {
      while (left > 0 && !is_over()) {
        static_cast<void>(co_await served.async_write_at(0, some.part(0, 4096), {.durable = true}));
        --left;
      }
      left = 0;
    };
    const auto write = [&]() -> qio::task<void> {
      while (left > 0) static_cast<void>(co_await behind.async_write_at(0, some.part(0, bytes)));
    };
    const auto both = [&]() -> qio::task<void> {
      qio::task_scope scope(context);
      scope.spawn(write());
      for (int i = 0; i < abreast; ++i) scope.spawn(serve());
      co_await scope.join();
    };
    context.run(both());
  }
  using file = qio::basic_file<qio::direct, qio::simulated>;
  file open(const char* name, const qio::io_class& in) {
    return qio::direct_file::open(context, name, access::read_write, creation::if_needed, {.io_class = in}).value();
  }

  qio::simulated_disk disk;
  qio::io_scheduler scheduler;
  qio::io_class background = scheduler.make_class({.shares = 10});
  qio::basic_context<qio::simulated> context =
      qio::basic_context<qio::simulated>::create({.queue_depth = 2, .io_class = scheduler.foreground(), .disk = &disk})
          .value();
  file served = open("served", {}), behind = open("behind", background);
  memory some{64 * 1024};
};

TEST_CASE("the window of an io_scheduler is 4 MiB at most") {
  CHECK(qio::io_scheduler({.largest_part = 1024}).statistics().window == 4096);
  CHECK(qio::io_scheduler({.largest_part = 3 * 1024 * 1024}).statistics().window == 2 * 1024 * 1024);
  CHECK(qio::io_scheduler({.largest_part = 64 * 1024 * 1024}).statistics().window == 4 * 1024 * 1024);
}

TEST_CASE("simulated/direct: the background does not pause for a foreground that has ended") {
  beside_one_writer in(1ns);
  const auto window = [&] { return in.scheduler.statistics().window; };
  bool is_in_device = false;
  auto ended_at = in.disk.now();
  // Until a part has ended, which costs the background a pause of 20 times the 4 ms that it took.
  in.run(1, 4096, [&] {
    const bool was_in_device = std::exchange(is_in_device, in.scheduler.statistics(in.background).in_device != 0);
    ended_at = in.disk.now();
    return window() < 800 && was_in_device && !is_in_device;
  });
  REQUIRE(window() < 800);
  CHECK(in.disk.now() - ended_at < 30ms);  // its last write, too
}

TEST_CASE("simulated/direct: the window recovers beside a single background writer") {
  for (const auto& [bytes, enough] : {std::pair(4096u, 16'384u), std::pair(65'536u, 65'536u)}) {
    beside_one_writer in(6ms);
    const auto window = [&] { return in.scheduler.statistics().window; };
    in.run(3, bytes, [&] { return window() < 2000; });  // more than the disk takes
    REQUIRE(window() < 2000);
    in.run(1, bytes, [&, wanted = enough] { return window() >= wanted; });
    CHECK(window() >= enough);
  }
}

TEST_CASE("simulated/direct: what a slow foreground takes alone becomes known, in 1 of 20 parts of the time") {
  for (const auto disk_takes : {1ms, 10ms, 40ms, 90ms}) {
    beside_one_writer in({}, disk_takes);
    const auto began = in.disk.now();
    const auto is_known = [&] { return in.scheduler.statistics().durable_alone.count() != 0; };
    in.run(1, 65'536, is_known);
    CHECK(is_known());
    // So many pauses: in each, the foreground has the disk for one operation at least.
    CHECK(in.disk.now() - began < 51 * 21 * 225ms);
    const std::uint64_t served = in.scheduler.statistics().foreground,
                        behind = in.scheduler.statistics(in.background).parts;
    in.run(1, 65'536, [&] { return in.scheduler.statistics().foreground > served + 1000; });
    CHECK(in.scheduler.statistics(in.background).parts - behind > 900);
  }
}

TEST_CASE(
    "simulated/direct: what each kind of a foreground takes alone becomes known, also of a slow beside a quick one") {
  // A long write takes several calls.
  qio::simulated_disk disk({.shortest = 10ms, .longest = 10ms, .short_transfers = 1});
  qio::io_scheduler scheduler;
  const qio::io_class background = scheduler.make_class({.shares = 10});
  auto context =
      qio::basic_context<qio::simulated>::create({.io_class = scheduler.foreground(), .disk = &disk}).value();
  const auto open = [&](const char* name, const qio::io_class& in) {
    return qio::direct_file::open(context, name, access::read_write, creation::if_needed, {.io_class = in}).value();
  };
  auto index = open("index", {}), journal = open("journal", {}), behind = open("behind", background);
  memory some(256 * 1024), block(4096);
  REQUIRE(context.run(index.async_write_at(0, block.all())));
  const auto until = disk.now() + 1000s;
  const auto is_over = [&] { return disk.now() >= until || scheduler.statistics().durable_alone.count() != 0; };
  const auto read = [&]() -> qio::task<void> {
    while (!is_over()) static_cast<void>(co_await index.async_read_at(0, block.all()));
  };
  const auto commit = [&]() -> qio::task<void> {
    while (!is_over()) static_cast<void>(co_await journal.async_write_at(0, some.all(), {.durable = true}));
  };
  const auto write = [&]() -> qio::task<void> {
    while (!is_over()) static_cast<void>(co_await behind.async_write_at(0, some.part(0, 128 * 1024)));
  };
  const auto all = [&]() -> qio::task<void> {
    qio::task_scope scope(context);
    scope.spawn(read());
    scope.spawn(commit());
    for (int i = 0; i < 4; ++i) scope.spawn(write());
    co_await scope.join();
  };
  context.run(all());
  CHECK(scheduler.statistics().read_alone >= 8ms);
  CHECK(scheduler.statistics().durable_alone >= 20ms);
}

TEST_CASE("simulated/direct: operations of the foreground that a deadline has ended count as late, if they were") {
  beside_one_writer in(2ms);  // half of what the disk takes
  unsigned left = 200, succeeded = 0;
  const auto serve = [&]() -> qio::task<void> {
    for (; left > 0; --left) {
      const qio::result<std::size_t> written = co_await in.served.async_write_at(
          0, in.some.part(0, 4096), {.durable = true, .deadline = in.disk.now() + 3ms});
      succeeded += written.has_value();
    }
  };
  const auto write = [&]() -> qio::task<void> {
    while (left > 0) static_cast<void>(co_await in.behind.async_write_at(0, in.some.part(0, 4096)));
  };
  const auto both = [&]() -> qio::task<void> {
    qio::task_scope scope(in.context);
    scope.spawn(write());
    scope.spawn(serve());
    co_await scope.join();
  };
  in.context.run(both());
  REQUIRE(succeeded < 100);
  CHECK(in.scheduler.statistics().foreground_late > 100);
}

TEST_CASE("simulated/direct: a limit holds for hours") {
  qio::simulated_disk disk;
  qio::io_scheduler scheduler;
  const auto slow = scheduler.make_class({.bytes_per_second = 1});
  auto context =
      qio::basic_context<qio::simulated>::create({.io_class = scheduler.foreground(), .disk = &disk}).value();
  auto file = qio::direct_file::open(context, "data", access::read_write, creation::if_needed).value();
  memory some(4096);
  const auto began = disk.now();
  for (int i = 0; i < 3; ++i) REQUIRE(context.run(file.async_write_at(0, some.all(), {.io_class = slow})));
  CHECK(disk.now() - began > 2 * 4095s);  // what the last one owes is paid for later
  CHECK(disk.now() - began < 3 * 4096s);
}

TEST_CASE("simulated/direct: with a factor that no clock can hold, nothing is late") {
  beside_one_writer in({}, 1ms, 1e300);
  in.run(1, 4096, [&] { return in.scheduler.statistics().durable_alone.count() != 0; });
  const std::uint64_t before = in.scheduler.statistics().foreground;
  in.run(1, 4096, [&] { return in.scheduler.statistics().foreground > before + 2000; });
  CHECK(in.scheduler.statistics().durable_alone > 900us);
  CHECK(in.scheduler.statistics().foreground_late == 0);
}

TEST_CASE("simulated/direct: background operations that have begun go on in the order in which they were started") {
  qio::simulated_disk disk({.shortest = 1ms, .longest = 1ms});
  qio::io_scheduler scheduler({.latency_goal = 1h, .foreground_lasts = 24h});
  const auto background = scheduler.make_class();
  auto context =
      qio::basic_context<qio::simulated>::create({.io_class = scheduler.foreground(), .disk = &disk}).value();
  auto file = qio::direct_file::open(context, "data", access::read_write, creation::if_needed).value();
  memory some(2 * 1024 * 1024), block(4096);
  std::vector<int> ended;
  const auto write = [&](int number) -> qio::task<void> {
    static_cast<void>(co_await file.async_write_at(0, some.all(), {.io_class = background}));
    ended.push_back(number);
  };
  const auto all = [&]() -> qio::task<void> {
    qio::task_scope scope(context);
    for (int number = 0; number < 8; ++number) scope.spawn(write(number));  // of each, 1 MiB goes to the disk
    static_cast<void>(co_await file.async_write_at(0, block.all()));        // from now on, there is a foreground
    co_await scope.join();
  };
  context.run(all());
  CHECK(ended == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

PROMISE(threads, each_engine_of_the_system, "contexts of several threads share a scheduler, and all of them go on") {
  qio::io_scheduler scheduler(always_beside);
  const auto background = scheduler.make_class();
  const auto source = [&] { return memory::with_pattern(0, 128 * 1024); };
  std::array<std::uint64_t, 3> written{};
  const auto work = [&](std::size_t number) {
    auto some = source();
    auto context = w.new_context({.io_class = number == 0 ? scheduler.foreground() : background}).value();
    const std::string path = w.where / ("file" + std::to_string(number)).c_str();
    auto file = qio::basic_file<typename Where::mode>::open(context, path, access::read_write, creation::if_needed,
                                                            {.inline_writes = qio::inline_transfers::never})
                    .value();
    const auto all = [&](std::uint64_t offset) -> qio::task<void> {
      for (int i = 0; i < 20; ++i) {
        const auto done = co_await file.async_write_at(offset, some.all());
        if (done) written[number] += done.value();
      }
    };
    const auto both = [&]() -> qio::task<void> {
      qio::task_scope scope(context);
      for (std::uint64_t i = 0; i < 3; ++i) scope.spawn(all(i * some.all().size()));
      co_await scope.join();
    };
    context.run(both());
  };
  {
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i < written.size(); ++i) running.emplace_back([&, i] { work(i); });
  }
  for (const std::uint64_t each : written) CHECK(each == 60 * 128 * 1024);
  const auto found = scheduler.statistics(background);
  CHECK(found.bytes == 120 * 128 * 1024);
  CHECK(found.waiting == 0);
  CHECK(found.in_device == 0);
  CHECK(scheduler.statistics().foreground == 60);
}

PROMISE(absent, asynchronous, "a context that nobody runs does not keep the background of another from going on") {
  classes<world<Where>> in(w);
  in.begin_foreground();
  auto idle_context = w.new_context({.io_class = in.background}).value();
  const auto open = [&](auto& context, const char* name) {
    return qio::basic_file<typename Where::mode>::open(context, in.path_of(name), access::read_write,
                                                       creation::if_needed)
        .value();
  };
  auto idle = open(idle_context, "idle");
  auto source = memory::with_pattern(0, in.whole);
  several_writes<world<Where>> never_run(idle, source.all(), 2);
  CHECK(in.scheduler.statistics(in.background).in_device == 1);
  auto file = in.open("data", in.background);
  for (int i = 0; i < 3; ++i)
    CHECK(in.template run<std::size_t>([&] { return file.async_write_at(0, source.all()); }).value() == in.whole);
  CHECK(in.scheduler.statistics(in.background).in_device == 1);
  CHECK(in.scheduler.statistics(in.background).waiting == 1);
  idle_context.run();
  for (const auto& each : never_run.answers) CHECK(each->value() == in.whole);
  CHECK(in.scheduler.statistics(in.background).in_device == 0);
}

TEST_CASE(
    "simulated/direct: what a background context does between its turns costs the background of others no pause") {
  qio::simulated_disk disk({.shortest = 4ms, .longest = 4ms});
  qio::io_scheduler scheduler({.latency_goal = 1ns, .largest_part = 16 * 1024, .foreground_lasts = 24h});
  const auto background = scheduler.make_class();
  const auto new_context = [&](const qio::io_class& in) {
    return qio::basic_context<qio::simulated>::create({.io_class = in, .disk = &disk}).value();
  };
  auto context = new_context(scheduler.foreground()), busy = new_context(background), other = new_context(background);
  const auto open = [](auto& on, const char* name) {
    return qio::direct_file::open(on, name, access::read_write, creation::if_needed).value();
  };
  auto served = open(context, "served"), of_busy = open(busy, "busy"), of_other = open(other, "other");
  memory some(16 * 1024);
  const auto serve = [&] { REQUIRE(context.run(served.async_write_at(0, some.part(0, 4096), {.durable = true}))); };
  bool is_over = false;
  const auto write = [&]() -> qio::task<void> {
    while (!is_over) static_cast<void>(co_await served.async_write_at(0, some.all(), {.io_class = background}));
  };
  const auto shrink = [&]() -> qio::task<void> {
    qio::task_scope scope(context);
    scope.spawn(write());
    for (int i = 0; i < 20'000 && scheduler.statistics().window > 1500; ++i)
      static_cast<void>(co_await served.async_write_at(0, some.part(0, 4096), {.durable = true}));
    is_over = true;
    co_await scope.join();
  };
  context.run(shrink());
  REQUIRE(scheduler.statistics().window <= 1500);  // a part of 16 KiB costs the background ten times what it takes

  bool has_ended = false;
  auto one = of_busy.async_write_at(0, some.all());
  one.start([&](qio::result<std::size_t>) { has_ended = true; });
  while (scheduler.statistics(background).in_device == 0) busy.poll();
  for (const auto until = disk.now() + 300ms; disk.now() < until;) serve();
  busy.run();
  REQUIRE(has_ended);
  const auto began = disk.now();
  REQUIRE(other.run(of_other.async_write_at(0, some.all())));
  CHECK(disk.now() - began < 500ms);
}

// It hears of an operation once, however many parts it had.
class background_notes final : public qio::operation_observer {
 public:
  void ended(const qio::ended_operation& what) noexcept override {
    if (what.file().ends_with("foreground")) return;
    ++count;
    bytes = what.bytes();
    transferred = what.transferred();
    is_queued_within = what.queued() <= what.took();
    longest_queued = std::max(longest_queued, std::chrono::nanoseconds(what.queued()));
  }
  int count = 0;
  std::size_t bytes = 0, transferred = 0;
  bool is_queued_within = false;
  std::chrono::nanoseconds longest_queued{};
};

PROMISE(observed_once, asynchronous, "an observer hears of a background operation once, as a whole") {
  background_notes told;
  classes<world<Where>> in(w, always_beside, {.observer = &told});
  in.begin_foreground();
  auto file = in.open("data", in.background);
  told.count = 0;
  auto source = memory::with_pattern(0, in.whole);
  several_writes<world<Where>> started(file, source.all(), 2);
  in.context.run();
  CHECK(told.count == 2);
  CHECK(told.bytes == in.whole);
  CHECK(told.transferred == in.whole);
  CHECK(told.is_queued_within);
  CHECK(told.longest_queued > 0ns);  // the second waited for the first
  several_writes<world<Where>> canceled(file, source.all(), 2);
  canceled.slots[1]->cancel();
  CHECK(told.count == 3);
  CHECK(told.transferred == 0);
  in.context.run();
  CHECK(told.count == 4);
}

PROMISE(counts_by_class, asynchronous, "a latency_recorder of a class counts its operations only") {
  for (const bool is_background : {true, false}) {
    std::optional<qio::io_scheduler> scheduler(std::in_place, always_beside);
    const auto background = scheduler->make_class();
    {
      qio::latency_recorder latencies({.io_class = is_background ? background : scheduler->foreground()});
      auto context = w.new_context({.observer = &latencies, .io_class = scheduler->foreground()}).value();
      const std::string path =
          std::is_same_v<typename Where::engine, qio::simulated> ? std::string("data") : w.where / "data";
      auto file = qio::basic_file<typename Where::mode>::open(context, path, access::read_write, creation::if_needed,
                                                              {.inline_writes = qio::inline_transfers::never})
                      .value();
      memory some(w.unit);
      const auto write = [&] { return file.async_write_at(0, some.all()); };
      const auto write_behind = [&] { return file.async_write_at(0, some.all(), {.io_class = background}); };
      CHECK(context.run(world<Where>::template awaited<std::size_t>(write)));
      CHECK(context.run(world<Where>::template awaited<std::size_t>(write_behind)));
      CHECK(context.run(world<Where>::template awaited<std::size_t>(write_behind)));
      CHECK(latencies.statistics().of(qio::operation_kind::write).count() == (is_background ? 2 : 1));
    }
  }
}

PROMISE(measures_alone, each_engine,
        "what the foreground takes alone is measured, also while the background always has something to do") {
  classes<world<Where>> in(w, {.largest_part = 16 * 1024});
  auto served = in.open("served", {}), file = in.open("data", in.background);
  auto source = memory::with_pattern(0, in.whole);
  CHECK(in.scheduler.statistics().durable_alone == 0ns);
  bool is_over = false;
  const auto serve = [&]() -> qio::task<void> {
    memory some(w.unit);
    while (in.scheduler.statistics().durable_alone == 0ns)
      static_cast<void>(co_await served.async_write_at(0, some.all(), {.durable = true}));
    is_over = true;
  };
  const auto write = [&]() -> qio::task<void> {
    while (!is_over) static_cast<void>(co_await file.async_write_at(0, source.all()));
  };
  const auto both = [&]() -> qio::task<void> {
    qio::task_scope scope(in.context);
    scope.spawn(serve());
    scope.spawn(write());
    co_await scope.join();
  };
  in.context.run(both());
  CHECK(in.scheduler.statistics().durable_alone > 0ns);
  CHECK(in.scheduler.statistics().read_alone == 0ns);
}

PROMISE(explains_classes, each_engine,
        "a context explains its background window and its classes, and a file why it writes nothing inline") {
  classes<world<Where>> in(w);
  const auto of_context = in.context.explain();
  const auto* const shown = of_context.find("background window");
  REQUIRE(shown != nullptr);
  CHECK(shown->value == std::to_string(in.part) + " bytes");
  REQUIRE(of_context.find("class background") != nullptr);
  CHECK(of_context.find("class background")->value == "0 operations");
  if constexpr (Where::is_of_system) {
    auto file = in.open("data", in.background);
    if (in.open("other", {}).explain().find("inline writes")->value == "on")
      CHECK(file.explain().find("inline writes")->reason == "its class is not the foreground");
  }
}

}  // namespace contract
