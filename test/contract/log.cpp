// Logs: what open_log(), append() and read_log() promise on every engine, in every mode.
#include "world.hpp"
#include <qio/log_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace contract {

namespace {

constexpr qio::log_options small_log{.extent = 64 * 1024, .largest_batch = 16 * 1024, .id = 7};

/// The records of a log.
struct found_records {
  std::vector<std::string> records;
  bool in_order = true;

  bool operator()(const qio::log_record& each) {
    records.emplace_back(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
    in_order =
        in_order && each.number == records.size() && reinterpret_cast<std::uintptr_t>(each.bytes.data()) % 8 == 0;
    return records.back() != "rejected";
  }
};

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(int number, std::size_t length) { return std::to_string(number) + ':' + std::string(length, 'x'); }

template <class World>
using log_of = qio::log_writer<typename World::mode, typename World::engine>;

template <class World>
qio::result<log_of<World>> open_log(World& w, found_records& into, qio::log_options options = small_log) {
  auto file = w.open("log", access::read_write, creation::if_needed);
  if (!file) return file.error();
  return w.context->run(qio::open_log(std::move(file).value(), std::ref(into), options));
}

template <class World>
qio::result<qio::log_contents> read_log(World& w, found_records& into) {
  auto file = w.open("log", access::read_write, creation::open_existing).value();
  return w.context->run(qio::read_log(file, std::ref(into)));
}

/// What opening the log fails with.
template <class World>
qio::error refusal(World& w, found_records& into, qio::log_options options = small_log) {
  auto log = open_log(w, into, options);
  return log ? qio::error() : log.error();
}

template <class Log>
qio::task<qio::result<std::uint64_t>> append(Log& log, std::string text) {
  co_return co_await log.append(as_bytes(text));
}

/// Changes bytes of the log on the disk: `change` gets them.
template <class World, class Change>
void edit(World& w, std::uint64_t offset, std::size_t bytes, Change change) {
  auto file = w.open("log", access::read_write, creation::open_existing).value();
  const std::uint64_t unit = w.unit, begin = offset / unit * unit;
  memory block(static_cast<std::size_t>((offset + bytes + unit - 1) / unit * unit - begin));
  REQUIRE(file.read_at(begin, block.all()));  // zeros past the end
  change(block.part(static_cast<std::size_t>(offset - begin), bytes));
  REQUIRE(file.write_at(begin, block.all()));
}
template <class World>
void overwrite(World& w, std::uint64_t offset, std::size_t bytes, std::byte value) {
  edit(w, offset, bytes, [value](std::span<std::byte> part) { std::ranges::fill(part, value); });
}

namespace format = qio::detail::log_format;

/// The first copy of the header.
template <class World>
format::file_header header_of(World& w) {
  memory block(4096);
  REQUIRE(w.open("log", access::read_write, creation::open_existing).value().read_at(0, block.all()));
  return format::file_header::load_from(block.data(), 0).value();
}

/// Replaces both copies of the header by an edited one.
template <class World, class Change>
void edit_header(World& w, Change change) {
  format::file_header header;
  std::uint64_t second = 0;
  edit(w, 0, format::file_header::bytes, [&](std::span<std::byte> part) {
    header = format::file_header::load_from(part.data(), 0).value();
    second = header.copy_bytes();
    change(header);
    header.store_to(part.data(), 0);
  });
  edit(w, second, format::file_header::bytes, [&](std::span<std::byte> part) { header.store_to(part.data(), second); });
}

/// Makes a log with records "1", "2" and so on, each in a batch of its own, which has `length` bytes more. Returns
/// where each of them ends, behind the end of none.
template <class World>
std::vector<std::uint64_t> make_log(World& w, int records, std::size_t length = 0,
                                    qio::log_options options = small_log) {
  found_records nothing;
  auto log = open_log(w, nothing, options).value();
  std::vector<std::uint64_t> ends{log.end()};
  for (int i = 1; i <= records; ++i) {
    REQUIRE(w.context->run(append(log, std::to_string(i) + std::string(length, 'x'))));
    ends.push_back(log.end());
  }
  return ends;
}

}  // namespace

PROMISE(log_reopened, asynchronous, "a reopened log has the records that were appended, in order, and goes on") {
  std::vector<std::string> expected;
  for (int times = 0; times < 3; ++times) {
    found_records found;
    auto log = open_log(w, found).value();
    CHECK(found.records == expected);
    CHECK(found.in_order);
    CHECK(log.recovered().records == expected.size());
    CHECK(log.recovered().tail == qio::log_end::clean);
    // Of all lengths up to the longest; together more than one extent.
    for (const std::size_t length :
         {std::size_t(0), std::size_t(1), std::size_t(500), std::size_t(504), std::size_t(508), std::size_t(4096),
          std::size_t(log.longest_record()), std::size_t(9)})
      for (int i = 0; i < 4; ++i) {
        expected.emplace_back(length, static_cast<char>('a' + i));
        REQUIRE(w.context->run(append(log, expected.back())).value() == expected.size());
      }
    CHECK(!log.failure().exists());
  }
  found_records found;
  const auto contents = read_log(w, found).value();
  CHECK(found.records == expected);
  CHECK(contents.records == expected.size());
  CHECK(contents.tail == qio::log_end::clean);
}

PROMISE(log_together, asynchronous, "records that many tasks append share writes, and are in order") {
  found_records nothing, found;
  // Large enough not to grow, which takes writes of its own: each batch may take a block of 4 KiB.
  auto log = open_log(w, nothing, {.extent = 1024 * 1024, .largest_batch = 16 * 1024, .id = 7}).value();
  const std::uint64_t before = served(log.file().statistics());
  constexpr int tasks = 16, rounds = 20;
  std::vector<std::uint64_t> numbers;
  const auto append_some = [&](int task) -> qio::task<void> {
    for (int i = 0; i < rounds; ++i) {
      const std::string text = text_of(task, 20);
      const auto number = co_await log.append(as_bytes(text));
      REQUIRE(number);
      numbers.push_back(number.value());
    }
  };
  std::vector<qio::task<void>> all;
  for (int i = 0; i < tasks; ++i) all.push_back(append_some(i));
  w.context->run(qio::when_all(std::move(all)));
  REQUIRE(numbers.size() == tasks * rounds);
  for (std::size_t i = 0; i < numbers.size(); ++i) REQUIRE(numbers[i] == i + 1);
  // All tasks go on in the turn in which their records became durable, so their next records are one batch.
  CHECK(served(log.file().statistics()) - before == rounds);
  { auto closed = std::move(log); }
  CHECK(read_log(w, found).value().records == tasks * rounds);
  for (int i = 0; i < tasks * rounds; ++i)
    REQUIRE(found.records[static_cast<std::size_t>(i)] == text_of(i % tasks, 20));
}

PROMISE(log_overflow, asynchronous, "records beyond the room of a batch wait for the next ones, in order") {
  found_records nothing, found;
  auto log = open_log(w, nothing).value();
  std::vector<qio::task<qio::result<std::uint64_t>>> all;
  for (int i = 0; i < 60; ++i) all.push_back(append(log, text_of(i, 3000)));
  const auto numbers = w.context->run(qio::when_all(std::move(all)));
  for (std::size_t i = 0; i < numbers.size(); ++i) REQUIRE(numbers[i].value() == i + 1);
  { auto closed = std::move(log); }
  CHECK(read_log(w, found).value().records == 60);
  for (int i = 0; i < 60; ++i) REQUIRE(found.records[static_cast<std::size_t>(i)] == text_of(i, 3000));
}

PROMISE(log_odd_batches, asynchronous, "no batch exceeds the largest, whatever size was requested") {
  for (const std::uint64_t largest : {4097u, 5000u, 8191u}) {
    found_records nothing, found;
    auto log = open_log(w, nothing, {.extent = 64 * 1024, .largest_batch = largest, .id = 7}).value();
    std::vector<qio::task<qio::result<std::uint64_t>>> all;
    for (int i = 0; i < 100; ++i) all.push_back(append(log, text_of(i, 90)));
    const auto numbers = w.context->run(qio::when_all(std::move(all)));
    for (std::size_t i = 0; i < numbers.size(); ++i) REQUIRE(numbers[i].value() == i + 1);
    { auto closed = std::move(log); }
    const auto contents = read_log(w, found).value();
    CHECK(contents.tail == qio::log_end::clean);
    CHECK(contents.records == 100);
    auto file = w.open("log", access::read_write, creation::truncate_existing).value();
  }
}

PROMISE(log_too_large, asynchronous, "a record that is too long is refused with the numbers, others are not") {
  found_records nothing;
  auto log = open_log(w, nothing).value();
  const std::string longest(static_cast<std::size_t>(log.longest_record()), 'x');
  const auto refused = w.context->run(append(log, longest + 'x'));
  REQUIRE(!refused);
  CHECK(refused.error() == errc::record_too_large);
  CHECK(refused.error().given() == longest.size() + 1);
  CHECK(refused.error().needed() == longest.size());
  CHECK(w.context->run(append(log, longest)).value() == 1);
}

PROMISE(log_callbacks, asynchronous, "an append that is started calls back once, not from within start()") {
  found_records nothing;
  auto log = open_log(w, nothing).value();
  struct answers {
    int calls = 0;
    std::uint64_t number = 0;
    qio::error failure;
  } first, second, refused;
  const auto note = [](answers& into) {
    return [&into](qio::result<std::uint64_t> answer) {
      ++into.calls;
      if (answer)
        into.number = answer.value();
      else
        into.failure = answer.error();
    };
  };
  const std::string too_long(static_cast<std::size_t>(log.longest_record() + 1), 'x');
  auto a = log.append(as_bytes("one")), b = log.append(as_bytes("two")), c = log.append(as_bytes(too_long));
  a.start(note(first));
  b.start(note(second));
  c.start(note(refused));
  CHECK(first.calls + second.calls + refused.calls == 0);
  while (first.calls + second.calls + refused.calls != 3) w.context->run_one();
  CHECK(first.number == 1);
  CHECK(second.number == 2);
  CHECK(refused.failure == errc::record_too_large);
}

PROMISE(log_abandoned, asynchronous, "appends may be destroyed in flight, and so may the log") {
  {
    found_records nothing;
    std::optional<log_of<contract::world<Where>>> log(open_log(w, nothing).value());
    int calls = 0;
    qio::error failure;
    {
      auto gone = log->append(as_bytes("abandoned"));
      gone.start([&calls](qio::result<std::uint64_t>) { ++calls; });
    }
    CHECK(w.context->run(append(*log, "kept")).value() == 2);
    {
      auto gone = log->append(as_bytes("abandoned in flight"));
      gone.start([&calls](qio::result<std::uint64_t>) { ++calls; });
      w.context->poll();
    }
    CHECK(calls == 0);
    auto lost = log->append(as_bytes("in flight"));
    lost.start([&failure](qio::result<std::uint64_t> answer) { failure = answer ? qio::error() : answer.error(); });
    log.reset();
    while (!failure.exists()) w.context->poll();
    CHECK(failure == std::errc::operation_canceled);
  }
  found_records found;
  auto log = open_log(w, found).value();
  REQUIRE(found.records.size() >= 2);
  CHECK(found.records[0] == "abandoned");
  CHECK(found.records[1] == "kept");
}

PROMISE(log_inside_task, asynchronous, "a task may own the log that it appends to") {
  const auto accept = [](const qio::log_record&) { return true; };
  const auto own = [&]() -> qio::task<std::uint64_t> {
    auto file = w.open("log", access::read_write, creation::if_needed).value();
    auto opened = co_await qio::open_log(std::move(file), accept, small_log);
    auto log = std::move(opened).value();
    auto number = co_await log.append(as_bytes("record"));
    co_return number.value();
  };
  CHECK(w.context->run(own()) == 1);
  CHECK(w.context->run(own()) == 2);
}

PROMISE(log_torn, asynchronous, "a torn batch is recognized without checksums, and erased") {
  std::uint64_t end = 0;
  {
    found_records nothing;
    auto log = open_log(w, nothing).value();
    REQUIRE(w.context->run(append(log, "kept")));
    end = log.end();
    REQUIRE(w.context->run(append(log, std::string(5000, 't'))));
  }
  overwrite(w, end + 1024, 512, std::byte{0});  // as if this sector had not been written
  found_records before;
  auto contents = read_log(w, before).value();
  CHECK(contents.tail == qio::log_end::torn);
  CHECK(contents.end == end);
  CHECK(before.records == std::vector<std::string>{"kept"});
  {
    found_records found;
    auto log = open_log(w, found).value();
    CHECK(log.recovered().tail == qio::log_end::torn);
    CHECK(found.records == before.records);
    CHECK(w.context->run(append(log, "next")).value() == 2);
  }
  found_records after;
  contents = read_log(w, after).value();
  CHECK(contents.tail == qio::log_end::clean);
  CHECK(after.records == std::vector<std::string>{"kept", "next"});
}

PROMISE(log_damaged, asynchronous,
        "damage before the last batch is no torn tail: opening the log fails, reading does not") {
  std::uint64_t first = 0;
  {
    found_records nothing;
    auto log = open_log(w, nothing).value();
    REQUIRE(w.context->run(append(log, "one")));
    first = log.end();
    REQUIRE(w.context->run(append(log, "two")));
    REQUIRE(w.context->run(append(log, "three")));
  }
  overwrite(w, first + 400, 112, std::byte{0});  // with the stamp of the sector
  found_records found;
  const auto refused = open_log(w, found);
  REQUIRE(!refused);
  CHECK(refused.error() == errc::log_damaged);
  CHECK(refused.error().given() == first);
  CHECK(refused.error().needed() == 1);
  CHECK(found.records == std::vector<std::string>{"one"});
  found_records read;
  CHECK(read_log(w, read).value().tail == qio::log_end::damaged);
  CHECK(read.records == std::vector<std::string>{"one"});
}

PROMISE(log_gap, asynchronous,
        "zeros inside a log are damage, however many: nothing is appended over the records behind them") {
  const auto ends = make_log(w, 43, 3000);
  overwrite(w, ends[3], static_cast<std::size_t>(ends[20] - ends[3]), std::byte{0});
  for (int times = 0; times < 2; ++times) {
    found_records found, read;
    const qio::error refused = refusal(w, found);
    CHECK(refused == errc::log_damaged);
    CHECK(refused.given() == ends[3]);
    CHECK(refused.needed() == 3);
    CHECK(found.records.size() == 3);
    const auto contents = read_log(w, read).value();
    CHECK(contents.tail == qio::log_end::damaged);
    CHECK(contents.records == 3);
    CHECK(contents.unreachable == 40);
  }
}

PROMISE(log_long_gap, each_engine, "zeros of more than a megabyte inside a log are damage") {
  const auto ends = make_log(w, 110, 15'000);
  REQUIRE(ends[108] - ends[1] > 1536 * 1024);
  memory zeros(static_cast<std::size_t>(ends[108] - ends[1]));
  REQUIRE(w.open("log", access::read_write, creation::open_existing).value().write_at(ends[1], zeros.all()));
  found_records found, read;
  CHECK(refusal(w, found) == errc::log_damaged);
  CHECK(found.records.size() == 1);
  CHECK(read_log(w, read).value().unreachable == 109);
}

PROMISE(log_gap_in_last, asynchronous, "zeros up to within the last batch of a log are damage") {
  const auto ends = make_log(w, 10, 3000);
  overwrite(w, ends[3], static_cast<std::size_t>(ends[9] + 1024 - ends[3]), std::byte{0});
  found_records found;
  CHECK(refusal(w, found) == errc::log_damaged);
  CHECK(found.records.size() == 3);
}

PROMISE(log_lost_end, asynchronous,
        "records that were there when a log was last opened are damage if they are zeroed") {
  const auto ends = make_log(w, 5);
  { make_log(w, 0); }
  overwrite(w, ends[4], static_cast<std::size_t>(ends[5] - ends[4]), std::byte{0});
  found_records found, read;
  CHECK(refusal(w, found) == errc::log_damaged);
  CHECK(read_log(w, read).value().unreachable == 1);
  CHECK(read.records.size() == 4);
}

PROMISE(log_cut, asynchronous, "a log whose file was cut off is damaged") {
  const auto ends = make_log(w, 5);
  REQUIRE(w.open("log", access::read_write, creation::open_existing).value().resize(ends[4]));
  found_records found;
  CHECK(refusal(w, found) == errc::log_damaged);
  CHECK(found.records.size() == 4);
}

PROMISE(log_cut_short, asynchronous, "a log whose file was cut off within its header is not created again") {
  for (const std::uint64_t left : {1u, 8u, 100u, 127u, 128u, 8191u}) {
    CAPTURE(left);
    { auto file = w.open("log", access::read_write, creation::always_new).value(); }
    make_log(w, 1);
    REQUIRE(w.open("log", access::read_write, creation::open_existing).value().resize(left));
    found_records found;
    CHECK(refusal(w, found).exists());
    CHECK(w.open("log", access::read_write, creation::open_existing).value().size().value() == left);
  }
}

PROMISE(log_header_copies, asynchronous, "a log is opened and read if either copy of its header is lost") {
  for (const std::byte value : {std::byte{0}, std::byte{0xff}})
    for (const std::uint64_t copy : {0u, 1u, 0u}) {
      CAPTURE(copy);
      make_log(w, 1);
      const std::uint64_t bytes = header_of(w).copy_bytes();
      overwrite(w, copy * bytes, static_cast<std::size_t>(bytes), value);
      found_records read, found;
      const auto contents = read_log(w, read).value();
      CHECK(contents.tail == qio::log_end::clean);
      auto log = open_log(w, found).value();
      CHECK(found.records.size() == contents.records);
      CHECK(found.records == read.records);
    }
}

PROMISE(log_headers_lost, asynchronous, "a log that has lost both copies of its header is not created again") {
  make_log(w, 1);
  overwrite(w, 0, 2 * 4096, std::byte{0});
  found_records found;
  CHECK(refusal(w, found) == errc::not_a_log);
}

PROMISE(log_stale, asynchronous, "a batch that an earlier opening of the log has left is not read behind newer ones") {
  const auto ends = make_log(w, 1, 100);
  const std::uint64_t second = ends[1];
  std::uint64_t third = 0, end = 0;
  std::vector<std::byte> stale;
  {
    found_records nothing;
    auto log = open_log(w, nothing).value();
    REQUIRE(w.context->run(append(log, "old")));
    third = log.end();
    REQUIRE(w.context->run(append(log, "stale")));
    end = log.end();
  }
  const auto size = static_cast<std::size_t>(end - third);
  edit(w, third, size, [&](std::span<std::byte> part) { stale.assign(part.begin(), part.end()); });
  overwrite(w, second, static_cast<std::size_t>(end - second), std::byte{0});
  {
    found_records nothing;
    auto log = open_log(w, nothing).value();
    REQUIRE(w.context->run(append(log, "new")).value() == 2);
    REQUIRE(log.end() == third);
  }
  edit(w, third, size, [&](std::span<std::byte> part) { std::ranges::copy(stale, part.begin()); });
  found_records read, found;
  CHECK(read_log(w, read).value().tail == qio::log_end::damaged);
  CHECK(read.records.size() == 2);
  CHECK(read.records.back() == "new");
  CHECK(refusal(w, found) == errc::log_damaged);
}

PROMISE(log_other_version, asynchronous, "a log of another version is refused with both versions, and stays as it is") {
  {
    auto file = w.open("log", access::read_write, creation::always_new).value();
    memory block(4096);
    std::memcpy(block.data(), "qilog\n1", 8);
    block.all()[9] = std::byte{1};
    REQUIRE(file.write_at(0, block.all()));
  }
  found_records found;
  const qio::error refused = refusal(w, found);
  CHECK(refused == errc::log_version);
  CHECK(refused.given() == 1);
  CHECK(refused.needed() == 3);
  CHECK(refused == std::errc::operation_not_supported);
  CHECK(read_log(w, found).error() == errc::log_version);
}

PROMISE(log_unknown_flag, asynchronous, "a log that uses what this version does not know is refused") {
  make_log(w, 1);
  edit_header(w, [](format::file_header& header) { header.flags |= 2; });
  found_records found;
  CHECK(refusal(w, found) == errc::log_version);
  CHECK(read_log(w, found).error() == errc::log_version);
}

PROMISE(log_forged_batch, asynchronous, "a header that asks for batches beyond the limit is refused with both sizes") {
  make_log(w, 1);
  constexpr std::uint64_t forged = std::uint64_t(512) << 20;
  edit_header(w, [](format::file_header& header) { header.largest = forged; });
  found_records found;
  const qio::error refused = refusal(w, found);
  CHECK(refused == errc::log_batch_too_large);
  CHECK(refused.given() == forged);
  CHECK(refused.needed() == qio::log_options().batch_limit);
  CHECK(read_log(w, found).error() == errc::log_batch_too_large);
  CHECK(found.records.empty());
}

PROMISE(log_forged_numbers, asynchronous, "a header whose numbers cannot be is no header") {
  const auto refuses = [&](auto change) {
    REQUIRE(w.open("log", access::read_write, creation::always_new));
    make_log(w, 1);
    edit_header(w, change);
    found_records found;
    CHECK(refusal(w, found) == errc::not_a_log);
  };
  constexpr std::uint64_t huge = std::uint64_t(1) << 62;
  refuses([](format::file_header& header) { header.block = std::uint64_t(1) << 30; });
  refuses([](format::file_header& header) { header.block = 3 * 512; });
  refuses([](format::file_header& header) { header.largest = 0; });
  refuses([](format::file_header& header) { header.largest += 1; });
  refuses([](format::file_header& header) { header.generation = 0; });
  refuses([](format::file_header& header) { header.generation = huge; });
  refuses([](format::file_header& header) { header.owned = 0; });
  refuses([](format::file_header& header) { header.owned = huge; });
  refuses([](format::file_header& header) { header.start.offset = 0; });
  refuses([](format::file_header& header) { header.start.batch = 0; });
  refuses([](format::file_header& header) { header.start.record = huge; });
  refuses([](format::file_header& header) { header.known.offset = header.owned + header.block; });
}

PROMISE(log_options_refused, asynchronous, "an extent or a batch that is too large is refused with the numbers") {
  found_records found;
  constexpr std::uint64_t most = ~std::uint64_t(0);
  const qio::error extent = refusal(w, found, {.extent = most - 4096});
  CHECK(extent == errc::log_extent_too_large);
  CHECK(extent.given() == most - 4096);
  CHECK(extent.needed() == std::uint64_t(1) << 40);
  const qio::error batch = refusal(w, found, {.extent = 64 * 1024, .largest_batch = std::uint64_t(32) << 20});
  CHECK(batch == errc::log_batch_too_large);
  CHECK(batch.given() == std::uint64_t(32) << 20);
}

PROMISE(log_start, asynchronous, "reading begins at the start position of a log, with its numbers") {
  const auto ends = make_log(w, 3);
  edit_header(w, [&](format::file_header& header) {
    header.start = {ends[2], 3, 3};
    header.known = header.start;
  });
  overwrite(w, ends[0], static_cast<std::size_t>(ends[2] - ends[0]), std::byte{0x5a});
  std::vector<std::uint64_t> numbers;
  const auto visit = [&](const qio::log_record& each) {
    numbers.push_back(each.number);
    return true;
  };
  for (std::uint64_t times = 0; times < 2; ++times) {
    numbers.clear();
    auto file = w.open("log", access::read_write, creation::open_existing).value();
    auto log = w.context->run(qio::open_log(std::move(file), visit, small_log)).value();
    CHECK(numbers.front() == 3);
    CHECK(numbers.size() == 1 + times);
    CHECK(w.context->run(append(log, "next")).value() == 4 + times);
  }
}

namespace {

/// The records of a trimmed log: the first one has any number.
struct rest_of_records {
  std::uint64_t first = 0, last = 0;
  bool in_order = true;

  bool operator()(const qio::log_record& each) {
    if (first == 0) first = each.number, last = each.number - 1;
    in_order = in_order && each.number == ++last;
    return true;
  }
};

template <class Log>
qio::task<qio::result<std::uint64_t>> trim(Log& log, std::uint64_t record) {
  co_return co_await log.trim(record);
}

template <class World>
std::uint64_t allocated_bytes(World& w) {
  return w.open("log", access::read_write, creation::open_existing).value().status().value().allocated_bytes;
}

}  // namespace

PROMISE(log_trimmed, asynchronous, "trimmed records are gone, all others stay, and numbers go on") {
  found_records nothing;
  {
    auto log = open_log(w, nothing).value();
    CHECK(log.first_record() == 1);
    for (int i = 1; i <= 100; ++i) REQUIRE(w.context->run(append(log, text_of(i, 3000))));
    CHECK(w.context->run(trim(log, 1)).value() == 1);
    CHECK(w.context->run(trim(log, 41)).value() == 41);  // each record has a batch of its own
    CHECK(log.first_record() == 41);
    CHECK(w.context->run(trim(log, 10)).value() == 41);  // they are gone already
    REQUIRE(w.context->run(append(log, "101")).value() == 101);
  }
  for (const int added : {102, 103}) {
    rest_of_records read, found;
    {
      auto file = w.open("log", access::read_write, creation::open_existing).value();
      const auto contents = w.context->run(qio::read_log(file, std::ref(read))).value();
      CHECK(contents.first == 41);
      CHECK(contents.tail == qio::log_end::clean);
    }
    auto file = w.open("log", access::read_write, creation::open_existing).value();
    auto log = w.context->run(qio::open_log(std::move(file), std::ref(found), small_log)).value();
    for (const auto& each : {read, found}) {
      CHECK(each.first == 41);
      CHECK(each.last == static_cast<std::uint64_t>(added - 1));
      CHECK(each.in_order);
    }
    CHECK(log.recovered().first == 41);
    CHECK(log.recovered().records == static_cast<std::uint64_t>(added - 41));
    REQUIRE(w.context->run(append(log, "more")).value() == static_cast<std::uint64_t>(added));
    if (added == 103) {  // what recovery has read can be trimmed, too
      CHECK(w.context->run(trim(log, 90)).value() == 90);
      CHECK(w.context->run(trim(log, 104)).value() == 104);  // everything
    }
  }
  rest_of_records none;
  auto file = w.open("log", access::read_write, creation::open_existing).value();
  auto log = w.context->run(qio::open_log(std::move(file), std::ref(none), small_log)).value();
  CHECK(none.first == 0);
  CHECK(log.first_record() == 104);
  CHECK(w.context->run(append(log, "104")).value() == 104);
}

PROMISE(log_trim_space, asynchronous, "trimming gives the space of a log back, where the file system can") {
  found_records nothing;
  auto log = open_log(w, nothing).value();
  for (int i = 1; i <= 200; ++i) REQUIRE(w.context->run(append(log, text_of(i, 3000))));
  const std::uint64_t before = allocated_bytes(w), end = log.end();
  CHECK(log.discarded() == 0);
  CHECK(w.context->run(trim(log, 201)).value() == 201);
  if (log.discarded() == 0) {  // the file system cannot
    auto other = w.open("other", access::read_write, creation::if_needed).value();
    REQUIRE(other.resize(128 * 1024));
    CHECK(other.discard(0, 64 * 1024).error() == std::errc::operation_not_supported);
    return;
  }
  CHECK(log.discarded() > end - 3 * 64 * 1024);
  CHECK(log.discarded() < end);
  CHECK(allocated_bytes(w) <= before - log.discarded() + 64 * 1024);
}

PROMISE(log_trim_refused, asynchronous, "a log is not trimmed beyond what is durable, and the error has both numbers") {
  found_records nothing;
  auto log = open_log(w, nothing).value();
  REQUIRE(w.context->run(append(log, "1")));
  const auto refused = w.context->run(trim(log, 3));
  CHECK(refused.error() == errc::record_not_durable);
  CHECK(refused.error().given() == 3);
  CHECK(refused.error().needed() == 2);
  CHECK(w.context->run(trim(log, 2)).value() == 2);
  auto moved = std::move(log);
  CHECK(w.context->run(trim(log, 1)).error() == std::errc::bad_file_descriptor);  // NOLINT: moved from
}

PROMISE(log_trim_beside, asynchronous, "appends, growth, trims and readers go on beside each other") {
  found_records nothing;
  auto log = open_log(w, nothing).value();
  std::uint64_t acknowledged = 0, kept = 1;
  int left = 3;
  const auto append_some = [&]() -> qio::task<void> {
    for (int i = 0; i < 60; ++i) {
      const auto number = co_await log.append(as_bytes(text_of(i, 1500)));
      REQUIRE(number);
      acknowledged = std::max(acknowledged, number.value());
    }
    --left;
  };
  const auto trim_often = [&]() -> qio::task<void> {
    while (left != 0) {
      kept = std::max(kept, acknowledged - std::min<std::uint64_t>(acknowledged, 20) + 1);
      const auto first = co_await log.trim(kept);
      if (!first) FAIL(first.error().message());
      REQUIRE(first.value() <= kept);
      REQUIRE(co_await w.context->sleep_for(std::chrono::microseconds(100)));
    }
  };
  const auto read_often = [&]() -> qio::task<void> {
    auto file = w.open("log", access::read_write, creation::open_existing).value();
    do {
      std::uint64_t last = 0, first = 0;
      const std::uint64_t before = acknowledged, needed = kept;
      const auto visit = [&](const qio::log_record& each) {
        if (first == 0) first = each.number;
        // Records that it was about to read may be trimmed meanwhile.
        REQUIRE((each.number == last + 1 || (each.number > last && last + 1 < kept) || first == each.number));
        last = each.number;
        return true;
      };
      const auto contents = co_await qio::read_log(file, visit);
      if (!contents) FAIL(contents.error().message());
      REQUIRE(contents.value().tail != qio::log_end::damaged);
      REQUIRE((last >= before || before < kept));
      REQUIRE((first <= needed || first <= kept));
    } while (left != 0);
  };
  std::vector<qio::task<void>> all;
  for (int i = 0; i < 3; ++i) all.push_back(append_some());
  for (int i = 0; i < 2; ++i) all.push_back(trim_often());
  all.push_back(read_often());
  w.context->run(qio::when_all(std::move(all)));
  CHECK(log.first_record() > 100);
}

PROMISE(log_trim_destroyed, asynchronous, "a log may be destroyed while it is trimmed, and so may the trim") {
  for (int turns = 0; turns < 6; ++turns) {
    CAPTURE(turns);
    rest_of_records found;
    auto file = w.open("log", access::read_write, creation::if_needed).value();
    std::optional<log_of<world<Where>>> log(
        w.context->run(qio::open_log(std::move(file), std::ref(found), small_log)).value());
    CHECK(found.in_order);
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) last = w.context->run(append(*log, text_of(i, 1500))).value();
    CHECK(last == static_cast<std::uint64_t>(20 * (turns + 1)));
    int calls = 0;
    auto first = log->trim(last - 10);
    first.start([&](qio::result<std::uint64_t> done) {
      CHECK((done ? done.value() <= last - 10 : done.error() == std::errc::operation_canceled));
      ++calls;
    });
    {
      auto second = log->trim(last - 5);
      second.start([](qio::result<std::uint64_t>) {});
      for (int i = 0; i < turns; ++i) w.context->poll();
    }
    log.reset();
    w.context->run();
    CHECK(calls == 1);
  }
}

PROMISE(log_trim_header, asynchronous, "a trimmed log is opened if either copy of its header is lost") {
  for (const int lost : {0, 1}) {
    CAPTURE(lost);
    make_log(w, 50, 3000);
    std::uint64_t copy_bytes = 0;
    {
      found_records nothing;
      auto log = open_log(w, nothing).value();
      CHECK(w.context->run(trim(log, 31)).value() == 31);
      copy_bytes = header_of(w).copy_bytes();
    }
    overwrite(w, lost == 0 ? 0 : copy_bytes, 512, std::byte{0xff});
    rest_of_records found;
    auto file = w.open("log", access::read_write, creation::open_existing).value();
    REQUIRE(w.context->run(qio::open_log(std::move(file), std::ref(found), small_log)));
    CHECK(found.first == 31);
    CHECK(found.last == 50);
    REQUIRE(w.open("log", access::read_write, creation::truncate_existing));
  }
}

PROMISE(log_second_writer, asynchronous,
        "a log that is open for appending cannot be opened again before it is closed") {
  found_records nothing, read, found;
  {
    auto log = open_log(w, nothing).value();
    REQUIRE(w.context->run(append(log, "one")));
    const qio::error refused = refusal(w, nothing);
    CHECK(refused == errc::log_is_open);
    CHECK(refused == std::errc::device_or_resource_busy);
    CHECK(nothing.records.empty());
    CHECK(read_log(w, read).value().records == 1);  // reading is allowed
    auto moved = std::move(log);
    CHECK(refusal(w, nothing) == errc::log_is_open);
    CHECK(w.context->run(append(moved, "two")).value() == 2);
  }
  CHECK(open_log(w, found));
  CHECK(found.records == std::vector<std::string>{"one", "two"});
}

PROMISE(log_access, asynchronous, "a log is not opened for appending by a file that is open for reading only") {
  make_log(w, 1);
  auto file = w.open("log", access::read, creation::open_existing).value();
  found_records found;
  CHECK(w.context->run(qio::open_log(std::move(file), std::ref(found), small_log)).error() == errc::access_not_granted);
  CHECK(found.records.empty());
}

PROMISE(log_and_locks, asynchronous,
        "a log is locked like a byte: a lock to the end keeps it out, a lock of its data not") {
  auto file = w.open("log", access::read_write, creation::if_needed).value();
  found_records nothing;
  REQUIRE(file.try_lock(qio::lock_kind::shared).value());
  CHECK(refusal(w, nothing) == errc::log_is_open);
  REQUIRE(file.unlock());
  const qio::extent data{0, std::uint64_t(1) << 62};
  REQUIRE(file.try_lock(qio::lock_kind::shared, {data.bytes, 1}).value());
  {
    const auto log = open_log(w, nothing).value();
    CHECK(!file.try_lock(qio::lock_kind::shared).value());
    CHECK(file.try_lock(qio::lock_kind::exclusive, data).value());
    REQUIRE(file.unlock(data));
  }
  CHECK(file.try_lock(qio::lock_kind::exclusive, {data.bytes + 1}).value());
}

PROMISE(log_shared, of_the_system, "a log is not opened for appending while another file uses its handle") {
  auto other = world<Where>::new_context().value();
  auto file = w.open("log", access::read_write, creation::if_needed).value();
  auto shared = file.share_with(other);
  if (!shared) QIO_SKIP(shared.error().message());
  found_records found;
  CHECK(w.context->run(qio::open_log(std::move(file), std::ref(found), small_log)).error() == errc::log_is_open);
}

PROMISE(log_read_meanwhile, asynchronous, "a log is read while records are appended, without damage or gaps") {
  found_records nothing;
  auto log = open_log(w, nothing).value();
  std::uint64_t acknowledged = 0;
  int left = 4;
  const auto append_some = [&]() -> qio::task<void> {
    for (int i = 0; i < 60; ++i) {
      const auto number = co_await log.append(as_bytes(text_of(i, 700)));
      REQUIRE(number);
      acknowledged = std::max(acknowledged, number.value());
    }
    --left;
  };
  const auto read_often = [&]() -> qio::task<void> {
    auto file = w.open("log", access::read_write, creation::open_existing).value();
    do {
      found_records read;
      const std::uint64_t before = acknowledged;
      const auto contents = co_await qio::read_log(file, std::ref(read));
      if (!contents) FAIL(contents.error().message());
      REQUIRE(contents.value().tail != qio::log_end::damaged);
      REQUIRE(contents.value().records >= before);
      REQUIRE(read.in_order);
    } while (left != 0);
  };
  std::vector<qio::task<void>> all;
  for (int i = 0; i < 4; ++i) all.push_back(append_some());
  all.push_back(read_often());
  w.context->run(qio::when_all(std::move(all)));
}

PROMISE(log_checksums, asynchronous, "a byte that has changed is damage in a log with checksums, and only there") {
  for (const bool checksums : {false, true}) {
    qio::log_options options = small_log;
    options.checksums = checksums;
    const auto ends = make_log(w, 3, 3000, options);
    found_records whole;
    CHECK(read_log(w, whole).value().tail == qio::log_end::clean);
    edit(w, ends[1] + 1000, 1, [](std::span<std::byte> part) { part[0] ^= std::byte{1}; });
    found_records read;
    const auto contents = read_log(w, read).value();
    CHECK(contents.records == (checksums ? 1 : 3));
    CHECK(contents.unreachable == (checksums ? 2 : 0));
    CHECK(contents.tail == (checksums ? qio::log_end::damaged : qio::log_end::clean));
    auto file = w.open("log", access::read_write, creation::truncate_existing).value();
  }
}

PROMISE(log_header_changed, asynchronous,
        "a changed number in front of the last batch is damage, not a torn batch, also without checksums") {
  const auto flip = [](std::span<std::byte> part) { part[0] ^= std::byte{0x80}; };
  const auto clear = [](std::span<std::byte> part) { std::ranges::fill(part, std::byte{0}); };
  const auto check_damaged = [&](std::uint64_t at, std::size_t bytes, auto change) {
    CAPTURE(at, bytes);
    const auto ends = make_log(w, 3, 3000);
    edit(w, ends[2] + at, bytes, change);
    found_records read, opened;
    const auto contents = read_log(w, read).value();
    CHECK(contents.records == 2);
    CHECK(contents.tail == qio::log_end::damaged);
    CHECK(refusal(w, opened) == errc::log_damaged);
    auto file = w.open("log", access::read_write, creation::truncate_existing).value();
  };
  for (std::uint64_t at = 0; at != format::batch_header::bytes; at += 8) {
    check_damaged(at, 1, flip);
    // The magic number and the seal may be missing, and there is no checksum.
    if (at != 0 && at < 64) check_damaged(at, 8, clear);
  }
  for (const std::uint64_t at : {1u, 4u, 7u}) check_damaged(at, 1, clear);  // within the magic number
}

PROMISE(log_header_forged_meanwhile, asynchronous,
        "a header that is forged while a log is read does not make its batches larger") {
  const auto ends = make_log(w, 1);
  std::vector<std::string> read;
  const auto forge = [&](const qio::log_record& each) {
    read.emplace_back(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
    format::file_header forged;
    edit_header(w, [&forged](format::file_header& header) {
      ++header.generation;
      header.largest *= 2;
      forged = header;
    });
    auto memory = qio::aligned_buffer::allocate(static_cast<std::size_t>(forged.largest)).value();
    qio::detail::log_batch batch(std::move(memory), forged.largest, forged.block);
    const std::string large(static_cast<std::size_t>(forged.largest) - 1024, 'x');
    batch.add(as_bytes(large));
    const auto bytes = batch.finish(forged, {ends[1], 2, 2});
    edit(w, ends[1], bytes.size(), [bytes](std::span<std::byte> part) { std::ranges::copy(bytes, part.begin()); });
    return true;
  };
  auto file = w.open("log", access::read_write, creation::open_existing).value();
  const auto contents = w.context->run(qio::read_log(file, forge, {.batch_limit = small_log.largest_batch})).value();
  CHECK(read == std::vector<std::string>{"1"});
  CHECK(contents.tail == qio::log_end::damaged);
}

PROMISE(log_rejected, asynchronous, "a whole record that the visitor rejects is damage") {
  {
    found_records nothing;
    auto log = open_log(w, nothing).value();
    REQUIRE(w.context->run(append(log, "one")));
    REQUIRE(w.context->run(append(log, "rejected")));
  }
  found_records found;
  CHECK(open_log(w, found).error() == errc::log_damaged);
}

PROMISE(log_foreign, asynchronous, "a file that is not a log is refused, and stays as it is") {
  auto source = memory::with_pattern(0, 2 * 4096);
  {
    auto file = w.open("log", access::read_write, creation::always_new).value();
    REQUIRE(file.write_at(0, source.all()));
  }
  found_records found;
  CHECK(open_log(w, found).error() == errc::not_a_log);
  CHECK(read_log(w, found).error() == errc::not_a_log);
  auto file = w.open("log", access::read_write, creation::open_existing).value();
  memory target(2 * 4096);
  CHECK(file.read_at(0, target.all()).value() == 2 * 4096);
  CHECK(holds_pattern(target.all(), 0));
}

PROMISE(log_foreign_small, asynchronous,
        "a file whose contents begin with a few zeros, or as a log does, is no log that was not completed") {
  for (const std::string_view begin : {std::string_view("\0\0\0\0\0\0\0\0", 8), std::string_view("qilog\0\0\0", 8)}) {
    constexpr std::string_view text = "other contents";
    { auto file = w.open("log", access::read_write, creation::always_new).value(); }
    edit(w, 0, begin.size() + text.size(), [&](std::span<std::byte> part) {
      std::ranges::copy(as_bytes(begin), part.begin());
      std::ranges::copy(as_bytes(text), part.begin() + static_cast<std::ptrdiff_t>(begin.size()));
    });
    found_records found;
    CHECK(refusal(w, found) == errc::not_a_log);
    edit(w, begin.size(), text.size(),
         [&](std::span<std::byte> part) { CHECK(std::ranges::equal(part, as_bytes(text))); });
  }
}

PROMISE(log_foreign_behind_zeros, asynchronous,
        "a file that begins with zeros, as one with a file system does, is no log that was not completed") {
  constexpr std::size_t before = 64 * 1024, size = 4096;
  auto source = memory::with_pattern(before, size);
  {
    auto file = w.open("log", access::read_write, creation::always_new).value();
    memory zeros(before);
    REQUIRE(file.write_at(0, zeros.all()));
    REQUIRE(file.write_at(before, source.all()));
  }
  found_records found;
  CHECK(open_log(w, found).error() == errc::not_a_log);
  auto file = w.open("log", access::read_write, creation::open_existing).value();
  memory target(size);
  CHECK(file.read_at(before, target.all()).value() == size);
  CHECK(holds_pattern(target.all(), before));
}

PROMISE(log_foreign_far, asynchronous, "a file with other contents far behind its beginning is no new log") {
  constexpr std::size_t before = 3 * 1024 * 1024, size = 4096;
  {
    auto file = w.open("log", access::read_write, creation::always_new).value();
    auto source = memory::with_pattern(before, size);
    REQUIRE(file.write_at(before, source.all()));
  }
  found_records found;
  CHECK(refusal(w, found) == errc::not_a_log);
  auto file = w.open("log", access::read_write, creation::open_existing).value();
  memory target(size);
  CHECK(file.read_at(before, target.all()).value() == size);
  CHECK(holds_pattern(target.all(), before));
}

PROMISE(log_foreign_behind, asynchronous, "what is behind the end of what a log owns is no torn batch, and is erased") {
  make_log(w, 3);
  const std::uint64_t owned = header_of(w).owned;
  overwrite(w, owned, 4096, std::byte{0x5a});
  found_records before, after;
  {
    auto log = open_log(w, before).value();
    CHECK(log.recovered().tail == qio::log_end::clean);
    while (log.end() < owned + 8192) REQUIRE(w.context->run(append(log, "more")));
  }
  const auto contents = read_log(w, after).value();
  CHECK(contents.tail == qio::log_end::clean);
  CHECK(contents.end >= owned + 8192);
}

PROMISE(log_unfinished, asynchronous, "a log whose creation was not completed is created again") {
  {
    auto file = w.open("log", access::read_write, creation::always_new).value();
    memory zeros(4 * 4096);
    REQUIRE(file.write_at(0, zeros.all()));
  }
  found_records found;
  CHECK(read_log(w, found).error() == errc::not_a_log);
  auto log = open_log(w, found).value();
  CHECK(w.context->run(append(log, "one")).value() == 1);
}

PROMISE(log_unfinished_short, asynchronous, "a log is created in a file with a few zeros, however few") {
  for (const std::uint64_t bytes : {1u, 1000u, 5000u, 10'000u}) {
    CAPTURE(bytes);
    {
      auto file = w.open("log", access::read_write, creation::always_new).value();
      REQUIRE(file.resize(bytes));
    }
    found_records found;
    auto log = open_log(w, found).value();
    CHECK(w.context->run(append(log, "one")).value() == 1);
  }
}

PROMISE(log_closed, asynchronous, "a log that was moved from, or whose context has ended, refuses appends") {
  found_records nothing;
  auto log = open_log(w, nothing).value();
  auto moved = std::move(log);
  CHECK(w.context->run(append(log, "x")).error() == std::errc::bad_file_descriptor);  // NOLINT(bugprone-use-after-move)
  CHECK(w.context->run(append(moved, "x")).value() == 1);
  w.context.reset();
  int calls = 0;
  qio::error failure;
  auto late = moved.append(as_bytes("late"));
  late.start([&](qio::result<std::uint64_t> answer) {
    ++calls;
    failure = answer.error();
  });
  CHECK(calls == 1);
  CHECK(failure == errc::context_closed);
}

}  // namespace contract
