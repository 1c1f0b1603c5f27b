// Batches: many reads or writes of one file as one operation.
#include "world.hpp"
#include <qio/any_file.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace contract {

using namespace std::chrono_literals;

namespace {

/// Reads of whole blocks, each into memory of its own.
class block_reads {
 public:
  explicit block_reads(std::size_t count, std::size_t blocks_of_file) : memory_(count * block_size) {
    for (std::size_t i = 0; i < count; ++i)
      requests.push_back(
          {.offset = i * 7 % blocks_of_file * block_size, .buffer = memory_.part(i * block_size, block_size)});
  }

  /// All bytes were read.
  bool are_right() const { return std::all_of(requests.begin(), requests.end(), is_right); }
  /// Each ended with all its bytes, or early with `why` and the bytes transferred by then.
  bool are_real(std::errc why) const {
    return std::all_of(requests.begin(), requests.end(), [&](const qio::read_request& each) {
      if (each.answer) return is_right(each);
      return each.answer.error() == why &&
             holds_pattern(each.buffer.first(each.answer.error().transferred()), each.offset);
    });
  }
  std::size_t failures() const {
    const auto failed = [](const qio::read_request& each) { return !each.answer; };
    return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(), failed));
  }

  std::vector<qio::read_request> requests;

 private:
  static bool is_right(const qio::read_request& each) {
    return each.answer && each.answer.value() == each.buffer.size() && holds_pattern(each.buffer, each.offset);
  }

  memory memory_;
};

template <class World>
qio::result<std::size_t> read_many(World& w, typename World::file& from, std::span<qio::read_request> requests) {
  if constexpr (World::is_async)
    return w.template run<std::size_t>([&] { return from.async_read_many(requests); });
  else
    return from.read_many(requests);
}
template <class World>
qio::result<std::size_t> write_many(World& w, typename World::file& to, std::span<qio::write_request> requests) {
  if constexpr (World::is_async)
    return w.template run<std::size_t>([&] { return to.async_write_many(requests); });
  else
    return to.write_many(requests);
}

template <class Request>
bool all_answers_are(const std::vector<Request>& requests, std::errc why) {
  return std::all_of(requests.begin(), requests.end(),
                     [&](const Request& each) { return !each.answer && each.answer.error() == why; });
}

}  // namespace

PROMISE(batch_reads, everywhere,
        "a batch reads each of its ranges, duplicates too, and answers each as read_at() does") {
  auto file = w.with(64 * block_size);
  for (const std::size_t count : {1u, 2u, 3u, 4u, 5u, 33u, 200u}) {
    CAPTURE(count);
    block_reads reads(count, 64);  // from the 65th on they repeat
    CHECK(read_many(w, file, reads.requests).value() == 0);
    CHECK(reads.are_right());
    CHECK(read_many(w, file, reads.requests).value() == 0);  // the same requests again
    CHECK(reads.are_right());
  }
}

PROMISE(batch_at_the_end, everywhere, "each read of a batch ends at the end of the file by itself") {
  const std::size_t bytes = 3 * block_size + w.unit;
  auto file = w.with(bytes);
  memory into(4 * block_size);
  std::vector<qio::read_request> requests{
      {.offset = 3 * block_size, .buffer = into.part(0, block_size)},
      {.offset = 8 * block_size, .buffer = into.part(block_size, block_size)},
      {.offset = 0, .buffer = into.part(2 * block_size, block_size)},
      {.offset = 0, .buffer = {}},
      {.offset = 2 * block_size, .buffer = into.part(2 * block_size, 2 * block_size)},
  };
  requests.erase(requests.begin() + 2);  // requests may move as long as no batch uses them
  CHECK(read_many(w, file, requests).value() == 0);
  CHECK(requests[0].answer.value() == bytes - 3 * block_size);
  CHECK(requests[1].answer.value() == 0);
  CHECK(requests[2].answer.value() == 0);
  CHECK(requests[3].answer.value() == bytes - 2 * block_size);
  CHECK(holds_pattern(into.part(0, bytes - 3 * block_size), 3 * block_size));
  CHECK(holds_pattern(into.part(2 * block_size, bytes - 2 * block_size), 2 * block_size));
  CHECK(holds_only(into.part(block_size, block_size), std::byte{0}));
}

PROMISE(batch_empty, everywhere, "a batch without requests, or with empty ones only, has no failures") {
  auto file = w.with(block_size);
  CHECK(read_many(w, file, {}).value() == 0);
  CHECK(write_many(w, file, {}).value() == 0);
  std::vector<qio::write_request> requests(3);
  CHECK(write_many(w, file, requests).value() == 0);
  for (const auto& each : requests) CHECK(each.answer.value() == 0);
  CHECK(file.size().value() == block_size);
}

PROMISE(batch_writes, everywhere, "a batch writes each of its ranges, in any order of offsets, past the end too") {
  auto file = w.with(2 * block_size);
  for (const std::size_t count : {1u, 4u, 100u}) {
    CAPTURE(count);
    auto source = memory::with_pattern(0, count * block_size);
    std::vector<qio::write_request> requests;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (i * 7 + 3) % count * block_size;
      requests.push_back({.offset = at, .buffer = source.part(at, block_size)});
    }
    CHECK(write_many(w, file, requests).value() == 0);
    CHECK(std::all_of(requests.begin(), requests.end(), [](auto& each) { return each.answer.value() == block_size; }));
    memory found(count * block_size);
    CHECK(w.read(file, 0, found.all()).value() == count * block_size);
    CHECK(holds_pattern(found.all(), 0));
  }
}

PROMISE(batch_durable, everywhere, "the writes of a durable batch are durable, and none is served inline") {
  auto file = w.with(2 * block_size);
  auto source = memory::with_pattern(0, 2 * block_size);
  std::vector<qio::write_request> requests{{.offset = block_size, .buffer = source.part(block_size, block_size)},
                                           {.offset = 0, .buffer = source.part(0, block_size)}};
  CHECK(file.write_many(requests, {.durable = true}).value() == 0);
  if constexpr (Where::is_async) {
    const qio::operation_options in_time{.deadline = 1h};
    CHECK(w.context->run(file.async_write_many(requests, in_time)).value() == 0);
    const auto before = file.statistics();
    CHECK(w.context->run(file.async_write_many(requests, {.durable = true})).value() == 0);
    CHECK(file.statistics().served_inline == before.served_inline);
    CHECK(served(file.statistics()) == served(before) + 2);
  }
  memory found(2 * block_size);
  CHECK(w.read(file, 0, found.all()).value() == 2 * block_size);
  CHECK(holds_pattern(found.all(), 0));
}

PROMISE(batch_overlaps, everywhere, "a batch with writes that overlap writes nothing, and names two of them") {
  auto file = w.with(block_size);
  auto source = memory::with_pattern(block_size, 4 * block_size);
  const auto refused = [&](std::vector<qio::write_request> requests, std::uint64_t first, std::uint64_t second) {
    const auto answer = write_many(w, file, requests);
    REQUIRE(!answer);
    CHECK(answer.error() == errc::overlapping_writes);
    CHECK(answer.error() == std::errc::invalid_argument);
    CHECK(answer.error().given() == first);
    CHECK(answer.error().needed() == second);
    const std::string places = ": writes " + std::to_string(first) + " and " + std::to_string(second) + " of the batch";
    CHECK(answer.error().message().find("cannot write " + (w.where / "data") + places) == 0);
    for (const auto& each : requests) CHECK(each.answer.error() == errc::overlapping_writes);
    CHECK(file.size().value() == block_size);
  };
  refused({{.offset = block_size, .buffer = source.part(0, block_size)},
           {.offset = block_size, .buffer = source.part(0, block_size)}},
          0, 1);
  refused({{.offset = 4 * block_size, .buffer = source.part(0, block_size)},
           {.offset = 2 * block_size, .buffer = source.part(0, 2 * block_size)},
           {.offset = 8 * block_size, .buffer = source.part(0, block_size)},
           {.offset = 3 * block_size, .buffer = source.part(0, block_size)}},
          1, 3);
  refused({{.offset = 0, .buffer = source.part(0, 4 * block_size)},  // contains the others, which do not overlap
           {.offset = 2 * block_size, .buffer = {}},
           {.offset = block_size, .buffer = source.part(0, block_size)},
           {.offset = 3 * block_size, .buffer = source.part(0, block_size)}},
          0, 2);
  std::vector<qio::write_request> many;
  for (std::size_t i = 0; i < 1000; ++i)
    many.push_back({.offset = (999 - i) * 2 * block_size, .buffer = source.part(0, block_size)});
  many[17].offset = many[801].offset;
  refused(many, 17, 801);

  std::vector<qio::write_request> adjacent{
      {.offset = 2 * block_size, .buffer = source.part(block_size, 2 * block_size)},
      {.offset = block_size, .buffer = source.part(0, block_size)},
      {.offset = 2 * block_size, .buffer = {}}};
  CHECK(write_many(w, file, adjacent).value() == 0);
  CHECK(file.size().value() == 4 * block_size);
}

PROMISE(batch_one_fails, everywhere, "a request that fails does not affect the others of its batch") {
  auto file = w.with(8 * block_size);
  memory into(4 * block_size);
  std::vector<qio::read_request> requests{
      {.offset = block_size, .buffer = into.part(0, block_size)},
      {.offset = ~std::uint64_t(0) - 5, .buffer = into.part(block_size, block_size)},
      {.offset = 5, .buffer = into.part(2 * block_size, 100)},
      {.offset = 2 * block_size, .buffer = into.part(3 * block_size, block_size)}};
  const bool is_aligned_only = file.alignment().read != 1;
  CHECK(read_many(w, file, requests).value() == (is_aligned_only ? 2 : 1));
  CHECK(requests[0].answer.value() == block_size);
  CHECK(requests[1].answer.error() == errc::offset_too_large);
  if (is_aligned_only)
    CHECK(requests[2].answer.error() == errc::misaligned_offset);
  else
    CHECK(requests[2].answer.value() == 100);
  CHECK(requests[3].answer.value() == block_size);
  CHECK(holds_pattern(into.part(0, block_size), block_size));
  CHECK(holds_pattern(into.part(3 * block_size, block_size), 2 * block_size));

  std::vector<qio::write_request> writes{{.offset = 4 * block_size, .buffer = into.part(0, block_size)},
                                         {.offset = 6 * block_size + 1, .buffer = into.part(0, 10)},
                                         {.offset = last_offset - 5, .buffer = into.part(0, block_size)}};
  CHECK(write_many(w, file, writes).value() == (is_aligned_only ? 2 : 1));
  CHECK(writes[0].answer.value() == block_size);
  CHECK(writes[2].answer.error() == errc::offset_too_large);
}

PROMISE(batch_access, everywhere, "each transfer of a batch that the file was not opened for fails") {
  REQUIRE(w.with(2 * block_size).close());
  auto source = memory::with_pattern(0, 2 * block_size);
  auto reading = w.open("data", access::read, creation::open_existing).value();
  std::vector<qio::write_request> writes{{.offset = 0, .buffer = source.part(0, block_size)},
                                         {.offset = block_size, .buffer = source.part(block_size, block_size)}};
  CHECK(write_many(w, reading, writes).value() == 2);
  for (const auto& each : writes) CHECK(each.answer.error() == errc::access_not_granted);
}

PROMISE(batch_closed, everywhere, "a batch of a closed file fails as a whole, and so do all its answers") {
  auto file = w.with(block_size);
  REQUIRE(file.close());
  block_reads reads(3, 1);
  CHECK(read_many(w, file, reads.requests).error() == std::errc::bad_file_descriptor);
  CHECK(all_answers_are(reads.requests, std::errc::bad_file_descriptor));
  std::vector<qio::write_request> writes(2);
  CHECK(write_many(w, file, writes).error() == std::errc::bad_file_descriptor);
  CHECK(all_answers_are(writes, std::errc::bad_file_descriptor));
}

PROMISE(batch_any_mode, everywhere, "an any_file carries out batches") {
  qio::any_file<typename world<Where>::engine> file = w.with(8 * block_size);
  block_reads reads(20, 8);
  auto source = memory::with_pattern(8 * block_size, block_size);
  std::vector<qio::write_request> writes{{.offset = 8 * block_size, .buffer = source.all()}};
  CHECK(file.read_many(reads.requests).value() == 0);
  CHECK(reads.are_right());
  CHECK(file.write_many(writes).value() == 0);
  if constexpr (Where::is_async) {
    const qio::operation_options in_time{.deadline = 1h};
    CHECK(w.context->run(file.async_read_many(reads.requests)).value() == 0);
    CHECK(w.context->run(file.async_read_many(reads.requests, in_time)).value() == 0);
    CHECK(reads.are_right());
    CHECK(w.context->run(file.async_write_many(writes)).value() == 0);
    CHECK(w.context->run(file.async_write_many(writes, {.deadline = 1h})).value() == 0);
  }
  CHECK(file.size().value() == 9 * block_size);
}

// --- asynchronous ---

PROMISE(batch_called_back, asynchronous, "run() calls the callback of a batch once, and start() never does") {
  auto file = w.with(8 * block_size);
  for (const std::size_t count : {0u, 1u, 3u, 40u}) {
    CAPTURE(count);
    block_reads reads(count, 8);
    int calls = 0;
    const auto callback = [&](qio::result<std::size_t> failures) { calls += failures.value() == 0 ? 1 : 100; };
    auto batch = file.async_read_many(reads.requests);
    batch.start(callback);
    CHECK(calls == 0);
    w.context->run();
    CHECK(calls == 1);
    CHECK(reads.are_right());
  }
}

PROMISE(batch_larger_than_queue, asynchronous, "a batch may be larger than the queue, and several may be in flight") {
  world<Where> small({.queue_depth = 8, .workers = 2});
  auto file = small.with(64 * block_size);
  block_reads one(1000, 64), other(70, 64);
  const auto read = [](auto& from, auto& reads) -> qio::task<bool> {
    const auto failures = co_await from.async_read_many(reads.requests);
    co_return failures&& failures.value() == 0 && reads.are_right();
  };
  std::vector<qio::task<bool>> tasks;
  tasks.push_back(read(file, one));
  tasks.push_back(read(file, other));
  for (const bool is_right : small.context->run(qio::when_all(std::move(tasks)))) CHECK(is_right);
  CHECK(served(file.statistics()) == 1070);
}

PROMISE(batch_too_late, asynchronous, "a batch whose deadline has passed, or whose stop was requested, moves no byte") {
  auto file = w.with(8 * block_size);
  block_reads reads(9, 8);
  const auto late = w.context->run(file.async_read_many(reads.requests, {.deadline = -24h}));
  CHECK(late.error() == std::errc::timed_out);
  CHECK(all_answers_are(reads.requests, std::errc::timed_out));

  std::stop_source source;
  source.request_stop();
  const std::stop_token token = source.get_token();
  auto from = memory::with_pattern(0, block_size);
  std::vector<qio::write_request> writes{{.offset = 100 * block_size, .buffer = from.all()}};
  CHECK(w.context->run(file.async_write_many(writes, {.stop = token})).error() == std::errc::operation_canceled);
  CHECK(all_answers_are(writes, std::errc::operation_canceled));
  CHECK(file.size().value() == 8 * block_size);
  CHECK(served(file.statistics()) == 0);
  CHECK(w.context->run(file.async_read_many({}, {.deadline = -24h})).value() == 0);  // there was nothing to do
}

PROMISE(batch_canceled, asynchronous, "a canceled batch keeps the answers it has, the others are operation_canceled") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  for (const int polls : {0, 1, 2, 5}) {
    CAPTURE(polls);
    block_reads reads(300, 64);
    std::size_t failures = 0;
    int calls = 0;
    auto batch = file.async_read_many(reads.requests);
    batch.cancel();  // not started, so there is nothing to cancel
    batch.start([&](qio::result<std::size_t> answer) {
      ++calls;
      failures = answer.value();
    });
    for (int i = 0; i < polls; ++i) small.context->poll();
    batch.cancel();
    batch.cancel();
    small.context->run();
    CHECK(calls == 1);
    CHECK(reads.are_real(std::errc::operation_canceled));
    CHECK(failures == reads.failures());
  }
}

PROMISE(batch_stopped, asynchronous,
        "a stop token and a deadline end a batch early, with the truth about each request") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  using batch_type = decltype(file.async_read_many({}, {}));
  {
    block_reads reads(300, 64);
    std::stop_source source;
    const std::stop_token token = source.get_token();
    qio::operation_slot<batch_type> slot;
    std::size_t failures = 1000;
    slot.emplace([&] { return file.async_read_many(reads.requests, {.stop = token}); }).start([&](auto answer) {
      failures = answer.value();
    });
    source.request_stop();
    small.context->run();
    CHECK(reads.are_real(std::errc::operation_canceled));
    CHECK(failures == reads.failures());
  }
  for (const auto deadline : {0us, 50us, 1000000us}) {
    block_reads reads(300, 64);
    qio::operation_slot<batch_type> slot;
    bool has_started = true;
    std::size_t failures = 0;
    slot.emplace([&] { return file.async_read_many(reads.requests, {.deadline = deadline}); }).start([&](auto answer) {
      has_started = answer.has_value();
      failures = has_started ? answer.value() : 300;
    });
    small.context->run();
    CHECK(reads.are_real(std::errc::timed_out));
    CHECK(failures == reads.failures());
  }
}

PROMISE(batch_destroyed, asynchronous, "destroying a batch joins all its requests, and each has its answer") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  for (const int polls : {0, 1, 3}) {
    CAPTURE(polls);
    auto reads = std::make_unique<block_reads>(150, 64);
    int calls = 0;
    {
      auto batch = file.async_read_many(reads->requests);
      batch.start([&calls](auto) { ++calls; });
      for (int i = 0; i < polls; ++i) small.context->poll();
    }
    CHECK(reads->are_real(std::errc::operation_canceled));
    reads.reset();  // nothing uses the memory any more
    const int calls_before = calls;
    small.context->run();
    CHECK(calls == calls_before);
  }

  block_reads unstarted(2, 64);
  static_cast<void>(file.async_read_many(unstarted.requests));
  CHECK(all_answers_are(unstarted.requests, std::errc::operation_in_progress));
  CHECK(small.context->run(file.async_read_many(unstarted.requests)).value() == 0);
}

PROMISE(batch_file_closed, asynchronous, "closing the file ends a batch in flight, with the truth about each request") {
  world<Where> small({.queue_depth = 4, .workers = 1});
  auto file = small.with(64 * block_size);
  block_reads reads(200, 64);
  int calls = 0;
  auto batch = file.async_read_many(reads.requests);
  batch.start([&](qio::result<std::size_t> failures) {
    ++calls;
    CHECK(failures.value() == reads.failures());
  });
  CHECK(file.close());
  small.context->run();
  CHECK(calls == 1);
  CHECK(reads.are_real(std::errc::operation_canceled));
}

PROMISE(batch_context_gone, asynchronous, "the end of the context ends a batch in flight, and refuses the next") {
  auto file = w.with(64 * block_size);
  block_reads reads(200, 64);
  int calls = 0;
  auto batch = file.async_read_many(reads.requests);
  batch.start([&](qio::result<std::size_t> failures) {
    ++calls;
    CHECK(failures.value() == reads.failures());
  });
  w.context.reset();
  CHECK(calls == 1);
  CHECK(reads.are_real(std::errc::operation_canceled));

  block_reads later(3, 64);
  auto refused = file.async_read_many(later.requests);
  refused.start([&](qio::result<std::size_t> answer) { calls += answer.error() == errc::context_closed ? 10 : 100; });
  CHECK(calls == 11);
  for (const auto& each : later.requests) CHECK(each.answer.error() == errc::context_closed);
}

PROMISE(batch_order, asynchronous, "the callback of a batch may destroy it, and start another with the same requests") {
  auto file = w.with(8 * block_size);
  struct again {
    typename world<Where>::file& from;
    block_reads reads{10, 8};
    qio::operation_slot<qio::batch_operation<typename Where::engine>> slot{};
    int left = 50;
    void next() {
      slot.emplace([&] { return from.async_read_many(reads.requests); })
          .start([this](qio::result<std::size_t> failures) {
            if (failures.value() == 0 && reads.are_right() && --left != 0) next();
          });
    }
  } chain{file};
  chain.next();
  w.context->run();
  CHECK(chain.left == 0);
}

}  // namespace contract
