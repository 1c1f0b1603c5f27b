// A log loses no acknowledged record, wherever the power fails.
#include "log_in_memory.hpp"
#include "program.hpp"
#include <qio/log_writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace simulation;

/// A record that shows whether it is whole: its identity, and bytes that follow from it.
bytes record_of(std::uint64_t id) {
  const std::uint64_t mixed = id * 0x9e3779b97f4a7c15u;
  const std::size_t length = (mixed >> 60) == 0 ? 2500 : (mixed >> 32) % 400;
  bytes made(sizeof id + length);
  std::memcpy(made.data(), &id, sizeof id);
  for (std::size_t i = 0; i < length; ++i) made[sizeof id + i] = std::byte((mixed >> (i % 57)) + i);
  return made;
}

bool is_whole(const qio::log_record& found, std::uint64_t& id) {
  if (found.bytes.size() < sizeof id) return false;
  std::memcpy(&id, found.bytes.data(), sizeof id);
  const bytes expected = record_of(id);
  return std::ranges::equal(found.bytes, expected);
}

/// Two copies of the header, then batches of 512 bytes or more.
constexpr std::uint64_t first_batch = 2 * 4096;
constexpr qio::log_options layout{.extent = 16 * 1024, .largest_batch = 4096};

/// What outlives the crashes.
struct history {
  std::uint64_t last_id = 0;
  std::map<std::uint64_t, std::uint64_t> acknowledged;  // numbers of records, and their identities
  std::map<std::uint64_t, std::uint64_t> found;         // by the last recovery

  std::uint64_t kept = 1;  // records in front of it may have been trimmed

  int crashes = 0, recoveries = 0, torn = 0, not_opened = 0, trims = 0;

  /// Whether a recovery has found all that was acknowledged and not trimmed.
  bool is_complete() const {
    return std::ranges::all_of(acknowledged, [&](const auto& each) {
      if (each.first < kept) return true;
      const auto at = found.find(each.first);
      return at != found.end() && at->second == each.second;
    });
  }
};

template <class Log>
qio::task<void> append_until_failure(Log& log, history& of) {
  for (;;) {
    const std::uint64_t id = ++of.last_id;
    const bytes record = record_of(id);
    const auto number = co_await log.append(record);
    if (!number) co_return;
    of.acknowledged[number.value()] = id;
  }
}

/// Keeps some records in front of its own.
template <class Log>
qio::task<void> trim_until_failure(Log& log, history& of, std::uint64_t keeps) {
  for (;;) {
    const std::uint64_t id = ++of.last_id;
    const bytes record = record_of(id);
    const auto number = co_await log.append(record);
    if (!number) co_return;
    of.acknowledged[number.value()] = id;
    of.kept = std::max(of.kept, number.value() - std::min(number.value() - 1, keeps));
    const auto first = co_await log.trim(of.kept);
    if (!first) co_return;
    CHECK(first.value() <= of.kept);
    ++of.trims;
  }
}

/// Recovers, checks that nothing is lost, and appends until the power fails.
template <class Mode>
qio::task<void> live(program& in, qio::simulated_disk& disk, history& of, bool appends) {
  of.found.clear();
  auto file = in.open<Mode>("log");
  if (!file || !disk.sync_directory(".")) co_return void(++of.not_opened);
  bool all_whole = true;
  const auto visit = [&](const qio::log_record& each) {
    std::uint64_t id = 0;
    all_whole = all_whole && is_whole(each, id) &&
                (of.found.empty() ? each.number <= of.kept : each.number == of.found.rbegin()->first + 1);
    of.found[each.number] = id;
    return all_whole;
  };
  qio::log_options options = layout;
  options.id = disk.seed();
  options.checksums = disk.seed() % 2 == 0;
  auto log = co_await qio::open_log(std::move(file).value(), visit, options);
  CHECK(all_whole);
  if (!log) {
    CHECK(log.error() == std::errc::io_error);  // the power failed, or a sync
    co_return void(++of.not_opened);
  }
  CHECK(of.is_complete());
  if (!of.found.empty()) CHECK(log.value().recovered().first == of.found.begin()->first);
  ++of.recoveries;
  of.torn += log.value().recovered().tail == qio::log_end::torn;
  of.acknowledged = of.found;  // visited is durable
  if (!appends) co_return;
  std::vector<qio::task<void>> writers;
  for (int i = 0; i < 4; ++i) writers.push_back(append_until_failure(log.value(), of));
  for (std::uint64_t i = 0; i < disk.seed() % 4; ++i) writers.push_back(trim_until_failure(log.value(), of, 20 * i));
  co_await qio::when_all(std::move(writers));
  CHECK(log.value().failure().exists());
}

/// A copy of the header is lost.
void lose_header_copy(qio::simulated_disk& disk, std::uint64_t which) {
  if (!disk.exists("log")) return;
  program writer(disk);
  auto file = writer.open("log").value();
  if (file.size().value() < first_batch) return;  // it was not created
  bytes both(first_batch);
  if (!file.read_at(0, both)) return;  // one is lost already
  const auto is_whole = [&](std::uint64_t at) {
    return qio::detail::log_format::file_header::load_from(both.data() + at, at).has_value();
  };
  if (!is_whole(0) || !is_whole(4096)) return;  // the crash has torn one, or came before the second
  switch (which % 3) {
    case 0: REQUIRE(file.write_at(which / 3 % 2 * 4096, filled(4096, 0))); break;
    case 1: REQUIRE(file.write_at(which / 3 % 2 * 4096 + 100, filled(8, 0xff))); break;
    default: REQUIRE(disk.damage("log", which / 3 % 2 * 4096, 512)); break;
  }
  REQUIRE(file.sync());
}

/// Three crashes for each seed, at any moment, and a last recovery. `between` may change the disk after each.
template <class Mode, class Between>
history crash(std::uint64_t first, std::uint64_t seeds, qio::simulation_options options, Between between) {
  history all;
  for (options.seed = first; options.seed != first + seeds; ++options.seed) {
    INFO("seed " << options.seed);
    qio::simulated_disk disk(options);
    history one;
    qio::detail::chance chance(options.seed);
    for (int times = 0; times < 3; ++times) {
      program writer(disk);
      disk.cut_power_after(chance.below(80));
      writer.context.run(live<Mode>(writer, disk, one, true));
      disk.restart();
      ++all.crashes;
      between(disk, chance.number());
    }
    program reader(disk);
    reader.context.run(live<Mode>(reader, disk, one, false));
    all.torn += one.torn;
    all.trims += one.trims;
    all.not_opened += one.not_opened;
    all.recoveries += one.recoveries;
  }
  return all;
}

template <class Mode>
history crash(std::uint64_t first, std::uint64_t seeds, qio::simulation_options options) {
  return crash<Mode>(first, seeds, options, [](qio::simulated_disk&, std::uint64_t) {});
}

void check_events(const history& of) {
  CHECK(of.crashes > 2500);
  CHECK(of.recoveries > 2000);
  CHECK(of.torn > 25);
  CHECK(of.trims > 1000);
}

}  // namespace

TEST_CASE("a direct log loses no acknowledged record in 2,500 crashes, and shows no torn one") {
  check_events(crash<qio::direct>(1, 834, {.short_transfers = 0.1, .interruptions = 0.05}));
}

TEST_CASE("a direct log loses no acknowledged record in 2,500 more crashes, and shows no torn one", "[nightly]") {
  check_events(crash<qio::direct>(5001, 834, {.short_transfers = 0.1, .interruptions = 0.05}));
}

TEST_CASE("a cached log loses no acknowledged record in 2,500 crashes, and shows no torn one") {
  check_events(crash<qio::cached>(10001, 834, {.short_transfers = 0.1, .interruptions = 0.05}));
}

TEST_CASE("a cached log loses no acknowledged record in 2,500 more crashes, and shows no torn one", "[nightly]") {
  check_events(crash<qio::cached>(15001, 834, {.short_transfers = 0.1, .interruptions = 0.05}));
}

TEST_CASE("a log on a disk whose writes and syncs fail loses no acknowledged record in 1,000 crashes") {
  CHECK(crash<qio::direct>(20001, 334, {.write_errors = 0.01, .sync_errors = 0.01}).crashes > 1000);
}

TEST_CASE("a log that is opened again after a failed write shows nothing that the next crash loses") {
  int recoveries = 0;
  for (std::uint64_t seed = 25001; seed != 25301; ++seed) {
    INFO("seed " << seed);
    qio::simulated_disk disk({.seed = seed, .sync_errors = 0.1});
    history one;
    for (int crashes = 0; crashes < 3; ++crashes) {
      for (int programs = 0; programs < 3; ++programs) {
        program writer(disk);
        writer.context.run(live<qio::cached>(writer, disk, one, true));
      }
      disk.restart();
    }
    recoveries += one.recoveries;
  }
  CHECK(recoveries > 1500);
}

TEST_CASE("a log that is trimmed does not fill a small disk") {
  qio::simulated_disk disk({.seed = 4, .capacity = 256 * 1024});
  program writer(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  auto log = writer.context.run(qio::open_log(writer.open<qio::direct>("log").value(), accept, layout)).value();
  const auto append_and_trim = [&]() -> qio::task<void> {
    for (std::uint64_t id = 1; id <= 4000; ++id) {
      const bytes record = record_of(id);
      const auto number = co_await log.append(record);
      REQUIRE(number.value() == id);
      if (id % 50 == 0) REQUIRE((co_await log.trim(id - 20)).value() <= id - 20);
    }
  };
  writer.context.run(append_and_trim());
  CHECK(log.end() > 4 * 256 * 1024);
  CHECK(log.discarded() > 3 * 256 * 1024);
}

TEST_CASE("a log on a disk that was full goes on when it has been trimmed") {
  qio::simulated_disk disk({.seed = 4, .capacity = 256 * 1024});
  program writer(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  auto log = writer.context.run(qio::open_log(writer.open<qio::direct>("log").value(), accept, layout)).value();
  const auto append = [&](std::uint64_t until) -> qio::task<void> {
    for (;;) {
      const bytes record = record_of(log.end());
      if (log.end() >= until) co_return;
      REQUIRE(co_await log.append(record));
    }
  };
  // The log has all of the disk, and has tried to grow.
  writer.context.run(append(242 * 1024));
  CHECK(contents(disk, "log").size() > 240 * 1024);
  const auto trim = [&]() -> qio::task<std::uint64_t> {
    co_return (co_await log.trim(log.first_record() + 200)).value();
  };
  CHECK(writer.context.run(trim()) > 150);
  CHECK(log.discarded() >= 64 * 1024);
  writer.context.run(append(300 * 1024));
}

namespace {

/// Calls that take the same time, so that what overlaps once does so again and again.
constexpr qio::simulation_options equal_times{
    .seed = 5, .shortest = std::chrono::microseconds(50), .longest = std::chrono::microseconds(50)};

}  // namespace

TEST_CASE("a trim ends although each append is followed by another one") {
  qio::simulated_disk disk(equal_times);
  program writer(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  auto log = writer.context.run(qio::open_log(writer.open<qio::direct>("log").value(), accept, layout)).value();
  std::uint64_t most_waiting = 0, waiting = 0;
  const auto trim = [&](std::uint64_t number) -> qio::task<void> {
    most_waiting = std::max(most_waiting, ++waiting);
    const auto first = co_await log.trim(number);
    REQUIRE(first.value() <= number);
    --waiting;
  };
  const auto append_and_trim = [&]() -> qio::task<void> {
    qio::task_scope trims(writer.context);
    for (std::uint64_t id = 1; id <= 500; ++id) {
      const bytes record = record_of(id);
      const auto number = co_await log.append(record);
      REQUIRE(number.value() == id);
      trims.spawn(trim(id));
    }
    co_await trims.join();
  };
  writer.context.run(append_and_trim());
  CHECK(log.end() > 4 * layout.extent);  // it has grown as well
  CHECK(most_waiting < 20);
}

TEST_CASE("a trim that is destroyed while its space is discarded makes no other operation wait for that") {
  qio::simulated_disk disk(equal_times);
  program writer(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  constexpr qio::log_options large{.extent = 512 * 1024, .largest_batch = 4096};
  auto log = writer.context.run(qio::open_log(writer.open<qio::direct>("log").value(), accept, large)).value();
  const bytes record = filled(3000, 1);
  const auto append = [&]() -> qio::task<void> {
    while (log.end() < 300 * 1024) {
      const auto number = co_await log.append(record);
      REQUIRE(number);
    }
  };
  writer.context.run(append());
  int ended = 0;
  const auto count = [&ended](const qio::result<std::uint64_t>& done) { ended += done.has_value(); };
  qio::operation_slot<decltype(log.trim(0))> first;
  first.emplace([&] { return log.trim(60); }).start(count);
  // Its parts are two writes, and then the hole, which none of this has waited for.
  const auto begun = disk.now();
  while (disk.now() - begun < std::chrono::microseconds(120)) REQUIRE(writer.context.run_one());
  CHECK(ended == 0);
  first.reset();
  const auto before = disk.now();
  auto second = log.trim(80);
  second.start(count);
  CHECK(disk.now() == before);
  writer.context.run();
  CHECK(ended == 1);
}

TEST_CASE("a log on a disk that fills up fails only the appends for which there is no room, and keeps the others") {
  qio::simulated_disk disk({.seed = 3, .capacity = 96 * 1024});
  history one;
  {
    program writer(disk);
    writer.context.run(live<qio::direct>(writer, disk, one, true));
  }
  CHECK(one.acknowledged.size() > 50);
  disk.restart();
  program reader(disk);
  reader.context.run(live<qio::direct>(reader, disk, one, false));
  CHECK(one.recoveries == 2);
}

TEST_CASE("a log that loses a copy of its header after each crash loses no acknowledged record") {
  int lost = 0;
  const auto between = [&lost](qio::simulated_disk& disk, std::uint64_t number) {
    lose_header_copy(disk, number % 6);
    ++lost;
  };
  const history all = crash<qio::direct>(30001, 167, {.short_transfers = 0.1, .interruptions = 0.05}, between);
  CHECK(all.recoveries > 350);
  CHECK(lost == all.crashes);
}

namespace {

/// A log with records 1 to `count`, all acknowledged and each in a batch of its own, which was opened again behind
/// `reopened` of them. Returns the offsets of the batches, and of the end.
std::vector<std::uint64_t> make_log(qio::simulated_disk& disk, std::uint64_t count, std::uint64_t reopened) {
  std::vector<std::uint64_t> offsets;
  for (const std::uint64_t until : {reopened, count}) {
    program writer(disk);
    const auto accept = [](const qio::log_record&) { return true; };
    auto log = writer.context.run(qio::open_log(writer.open<qio::direct>("log").value(), accept, layout)).value();
    const auto append_some = [&]() -> qio::task<void> {
      while (offsets.size() < until) {
        offsets.push_back(log.end());
        const bytes record = record_of(offsets.size());
        const auto number = co_await log.append(record);
        REQUIRE(number.value() == offsets.size());
      }
    };
    writer.context.run(append_some());
    if (until == count) offsets.push_back(log.end());
  }
  return offsets;
}

/// Opens the log; returns the error, or none. `found` counts the records, which must be those that were appended.
qio::error try_open(qio::simulated_disk& disk, std::uint64_t& found) {
  program reader(disk);
  found = 0;
  const auto visit = [&](const qio::log_record& each) {
    std::uint64_t id = 0;
    REQUIRE(is_whole(each, id));
    REQUIRE(id == ++found);
    REQUIRE(each.number == found);
    return true;
  };
  auto log = reader.context.run(qio::open_log(reader.open<qio::direct>("log").value(), visit, layout));
  return log ? qio::error() : log.error();
}

}  // namespace

TEST_CASE("a range of zeros anywhere in a log is damage, unless nothing is left behind it") {
  int damaged = 0, unnoticed = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    qio::simulated_disk disk({.seed = seed});
    qio::detail::chance chance(seed);
    const std::uint64_t count = chance.between(10, 60);
    const std::uint64_t reopened = chance.below(count);
    const auto offsets = make_log(disk, count, reopened);
    REQUIRE(offsets.size() == count + 1);
    const std::uint64_t first = chance.below(count), last = chance.between(first, count - 1);
    {
      program writer(disk);
      auto file = writer.open<qio::direct>("log").value();
      const bytes zeros = filled(static_cast<std::size_t>(offsets[last + 1] - offsets[first]), 0);
      REQUIRE(file.write_at(offsets[first], zeros));
    }
    std::uint64_t found = 0;
    const qio::error failure = try_open(disk, found);
    CHECK(found == first);
    if (!failure.exists()) {
      CHECK(last == count - 1);
      CHECK(first >= reopened);
      ++unnoticed;
      continue;
    }
    CHECK(failure == qio::errc::log_damaged);
    CHECK(failure.given() == offsets[first]);
    CHECK(failure.needed() == first);
    CHECK(try_open(disk, found) == qio::errc::log_damaged);  // nothing was changed
    ++damaged;
  }
  CHECK(damaged > 400);
  CHECK(unnoticed > 0);
}

TEST_CASE("a log with any of its numbers or bytes changed is refused, or shows records that were appended") {
  namespace format = qio::detail::log_format;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    qio::simulated_disk disk({.seed = seed});
    qio::detail::chance chance(seed);
    make_log(disk, 12, 6);
    {
      program writer(disk);
      auto file = writer.open("log").value();
      bytes both(first_batch);
      REQUIRE(file.read_at(0, both).value() == both.size());
      for (std::uint64_t copy : {std::uint64_t(0), std::uint64_t(4096)}) {
        qio::detail::chance same(seed);  // for both copies
        std::byte* const at = both.data() + copy;
        const std::uint64_t number = same.between(2, 13);  // of the header, behind its magic and its offset
        const std::uint64_t forged =
            same.below(2) == 0 ? same.number() >> same.below(64) : std::uint64_t(1) << same.below(64);
        format::store(at + 8 * number, forged, 8);
        std::array<std::uint64_t, 15> numbers{};
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = format::load(at + 8 * i, 8);
        format::store_sealed(at, numbers);
      }
      REQUIRE(file.write_at(0, both));
    }
    std::uint64_t found = 0;
    program reader(disk);
    bool all_appended = true;
    const auto visit = [&](const qio::log_record& each) {
      std::uint64_t id = 0;
      all_appended = all_appended && is_whole(each, id) && ++found <= 12;
      return true;
    };
    const auto opened = reader.context.run(qio::open_log(reader.open<qio::direct>("log").value(), visit, layout));
    CHECK(all_appended);
    refused += !opened;
  }
  CHECK(refused > 300);
}

namespace {

/// How many records fit into a log until the disk is full.
template <class Mode>
std::size_t records_until_full(bool durable_writes) {
  qio::simulated_disk disk({.seed = 3, .capacity = 96 * 1024});
  program writer(disk);
  auto file = qio::basic_file<Mode>::open(writer.context, "log", qio::access::read_write, qio::creation::if_needed,
                                          {.durable_writes = durable_writes})
                  .value();
  const auto accept = [](const qio::log_record&) { return true; };
  const qio::log_options options{.extent = 32 * 1024, .largest_batch = 4096};
  auto log = writer.context.run(qio::open_log(std::move(file), accept, options)).value();
  history all;
  writer.context.run(append_until_failure(log, all));
  return all.acknowledged.size();
}

}  // namespace

TEST_CASE("a full disk fails no append for which there is room, whatever makes the writes of a log durable") {
  const std::size_t direct = records_until_full<qio::direct>(false);
  CHECK(direct > 50);
  CHECK(records_until_full<qio::direct>(true) == direct);
  CHECK(records_until_full<qio::cached>(false) == direct);
  CHECK(records_until_full<qio::cached>(true) == direct);
  CHECK(records_until_full<qio::uncached>(true) == direct);
}

TEST_CASE("a log whose numbers have been forged so that the next ones are too large is refused, and stays as it is") {
  namespace format = qio::detail::log_format;
  for (int which = 0; which < 3; ++which) {
    CAPTURE(which);
    qio::simulated_disk disk({.seed = 3});
    const auto accept = [](const qio::log_record&) { return true; };
    {
      program writer(disk);
      REQUIRE(writer.context.run(qio::open_log(writer.open("log").value(), accept, layout)));
    }
    {
      program writer(disk);
      auto file = writer.open("log").value();
      bytes both(first_batch);
      REQUIRE(file.read_at(0, both).value() == both.size());
      auto header = format::file_header::load_from(both.data(), 0).value();
      const std::uint64_t largest = format::number_limit - 1;
      if (which == 0) header.generation = largest;
      if (which == 1) header.start.record = header.known.record = largest;
      if (which == 2) header.start.batch = header.known.batch = largest;
      for (const std::uint64_t copy : {std::uint64_t(0), std::uint64_t(4096)})
        header.store_to(both.data() + copy, copy);
      REQUIRE(file.write_at(0, both));
    }
    const bytes before = contents(disk, "log");
    {
      program writer(disk);
      const auto opened = writer.context.run(qio::open_log(writer.open("log").value(), accept, layout));
      REQUIRE_FALSE(opened);
      CHECK(opened.error() == qio::errc::not_a_log);
    }
    CHECK(contents(disk, "log") == before);
  }
}

TEST_CASE("a log that is read in pieces while it is appended to shows no damage and no gap") {
  std::uint64_t times = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    qio::simulated_disk disk({.seed = seed, .short_transfers = 0.8});
    program both(disk);
    const auto accept = [](const qio::log_record&) { return true; };
    auto log = both.context.run(qio::open_log(both.open<qio::direct>("log").value(), accept, layout)).value();
    std::uint64_t acknowledged = 0;
    int writers = 2;
    const auto append_some = [&]() -> qio::task<void> {
      for (int i = 0; i < 50; ++i) {
        const bytes record = record_of(acknowledged + 1);
        const auto number = co_await log.append(record);
        REQUIRE(number);
        acknowledged = std::max(acknowledged, number.value());
      }
      --writers;
    };
    const auto read_often = [&]() -> qio::task<void> {
      auto file = both.open<qio::direct>("log").value();
      while (writers != 0) {
        ++times;
        std::uint64_t last = 0;
        const auto visit = [&last](const qio::log_record& each) { return each.number == ++last; };
        const std::uint64_t before = acknowledged;
        const auto contents = co_await qio::read_log(file, visit, layout);
        REQUIRE(contents);
        REQUIRE(contents.value().tail != qio::log_end::damaged);
        REQUIRE(contents.value().records >= before);
      }
    };
    both.context.run(qio::when_all(append_some(), append_some(), read_often()));
  }
  CHECK(times > 100);
}

TEST_CASE("a log that grows faster than it is read is read to an end") {
  qio::simulated_disk disk(equal_times);
  program both(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  auto log = both.context.run(qio::open_log(both.open<qio::direct>("log").value(), accept, layout)).value();
  const bytes record = filled(400, 1);
  std::uint64_t acknowledged = 0, visited = 0;
  const auto append = [&](std::uint64_t count) -> qio::task<void> {
    for (; count != 0; --count) {
      const auto number = co_await log.append(record);
      REQUIRE(number);
      acknowledged = std::max(acknowledged, number.value());
    }
  };
  both.context.run(append(20));
  qio::task_scope appends(both.context);
  const auto visit_and_append = [&](const qio::log_record&) {
    if (++visited < 2000) appends.spawn(append(2));
    return true;
  };
  const auto read = [&]() -> qio::task<void> {
    auto file = both.open<qio::direct>("log").value();
    const std::uint64_t before = acknowledged;
    const auto contents = co_await qio::read_log(file, visit_and_append, layout);
    REQUIRE(contents);
    CHECK(contents.value().tail == qio::log_end::clean);
    CHECK(contents.value().records >= before);
    co_await appends.join();
  };
  both.context.run(read());
  CHECK(visited < 2000);
}

TEST_CASE("a reader that comes to the hole of a trim goes on behind it") {
  qio::simulated_disk disk(equal_times);
  program both(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  constexpr qio::log_options large{.extent = 8 * 1024 * 1024, .largest_batch = 64 * 1024};
  auto log = both.context.run(qio::open_log(both.open<qio::direct>("log").value(), accept, large)).value();
  const bytes record = filled(60'000, 1);
  constexpr std::uint64_t count = 130, kept = 120;
  const auto append = [&]() -> qio::task<void> {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto number = co_await log.append(record);
      REQUIRE(number);
    }
  };
  both.context.run(append());
  qio::task_scope trims(both.context);
  const auto trim = [&]() -> qio::task<void> {
    const auto first = co_await log.trim(kept);
    REQUIRE(first);
  };
  std::uint64_t visited = 0, last = 0;
  const auto visit = [&](const qio::log_record& each) {
    if (++visited == 1) trims.spawn(trim());
    last = each.number;
    return true;
  };
  const auto read = [&]() -> qio::task<void> {
    auto file = both.open<qio::direct>("log").value();
    const auto contents = co_await qio::read_log(file, visit, large);
    REQUIRE(contents);
    CHECK(contents.value().tail == qio::log_end::clean);
    co_await trims.join();
  };
  both.context.run(read());
  CHECK(log.discarded() > 4 * 1024 * 1024);
  CHECK(visited < count);  // it came to the hole
  CHECK(last == count);
}

TEST_CASE("a log that is read beside a writer which always trims to its end is read to an end") {
  // The file is large enough for all that is appended: a reader that goes on to where it ends would see all.
  constexpr qio::log_options large{.extent = 2 * 1024 * 1024, .largest_batch = 64 * 1024};
  for (const int microseconds : {10, 35, 50, 80, 140}) {
    INFO(microseconds << " us a call");
    const auto each_call = std::chrono::microseconds(microseconds);
    qio::simulated_disk disk({.seed = 6, .shortest = each_call, .longest = each_call});
    program both(disk);
    const auto accept = [](const qio::log_record&) { return true; };
    auto log = both.context.run(qio::open_log(both.open<qio::direct>("log").value(), accept, large)).value();
    std::uint64_t appended = 0;
    int reads = 0;
    const auto append_and_trim = [&]() -> qio::task<void> {
      while (reads != 20 && appended != 2000) {
        const bytes record = record_of(++appended);
        const auto number = co_await log.append(record);
        REQUIRE(number.value() == appended);
        const auto first = co_await log.trim(appended + 1);
        REQUIRE(first.value() == appended + 1);
      }
    };
    const auto read_often = [&]() -> qio::task<void> {
      auto file = both.open<qio::direct>("log").value();
      for (; reads != 20; ++reads) {
        const auto contents = co_await qio::read_log(file, accept, large);
        REQUIRE(contents);
        REQUIRE(contents.value().tail != qio::log_end::damaged);
      }
    };
    both.context.run(qio::when_all(append_and_trim(), read_often()));
    CHECK(appended < 2000);
  }
}

namespace {

/// A file as a reader may see it beside a writer: the first read of a sector finds its two ends, but an old middle.
struct half_written {
  bytes stored;
  std::vector<bool> is_written = std::vector<bool>(stored.size() / 512);

  qio::alignment alignment() const noexcept { return {}; }
  qio::result<std::uint64_t> size() const { return std::uint64_t(stored.size()); }
  qio::task<qio::result<std::size_t>> async_read_at(std::uint64_t offset, std::span<std::byte> into) {
    std::size_t read = 0;
    for (; read != into.size() && offset + read != stored.size(); ++read) {
      const std::size_t at = static_cast<std::size_t>(offset) + read, within = at % 512;
      const bool is_old = at >= first_batch && !is_written[at / 512] && within >= 128 && within < 384;
      into[read] = is_old ? std::byte{0} : stored[at];
      if (within == 511) is_written[at / 512] = true;
    }
    co_return read;
  }
};

}  // namespace

TEST_CASE("reading a log beside a writer believes no sector of which only the ends are written") {
  qio::simulated_disk disk({.seed = 1});
  program writer(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  {
    // It does not grow: what is durable when a header is written needs no second look.
    auto log = writer.context.run(qio::open_log(writer.open("log").value(), accept, {.extent = 256 * 1024})).value();
    for (std::uint64_t id = 1; id <= 20; ++id) {
      const bytes record = record_of(id);
      const auto append = [&]() -> qio::task<bool> { co_return (co_await log.append(record)).has_value(); };
      REQUIRE(writer.context.run(append()));
    }
  }
  half_written file{contents(disk, "log")};
  qio::detail::log_reader<half_written> reader(file, false);
  std::uint64_t whole = 0;
  const auto visit = [&whole](const qio::log_record& each) {
    std::uint64_t id = 0;
    whole += is_whole(each, id) && id == each.number ? 1u : 0u;
    return true;
  };
  const auto read = [&]() -> qio::task<qio::result<qio::log_contents>> {
    const auto header = co_await reader.read_header();
    co_return co_await reader.read(*header.value(), visit);
  };
  const auto found = writer.context.run(read());
  REQUIRE(found);
  CHECK(found.value().records == 20);
  CHECK(whole == 20);
}

TEST_CASE("no single changed bit makes a log lose a record, or show one twice") {
  std::uint64_t damaged = 0;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    INFO("log " << id);
    const bool checksums = id % 2 == 0;
    qio::simulated_disk disk({.seed = id});
    program writer(disk);
    std::vector<bytes> expected;
    std::uint64_t end = 0;
    {
      const auto accept = [](const qio::log_record&) { return true; };
      const qio::log_options options{.extent = 4096, .largest_batch = 4096, .checksums = checksums, .id = id};
      auto log = writer.context.run(qio::open_log(writer.open("log").value(), accept, options)).value();
      for (const std::size_t length : {0u, 40u, 1800u}) {
        expected.push_back(filled(length, 0x5a));
        const auto append = [&]() -> qio::task<bool> { co_return (co_await log.append(expected.back())).has_value(); };
        REQUIRE(writer.context.run(append()));
      }
      end = log.end();
    }
    file_in_memory file{contents(disk, "log")};
    const auto check_with_bit_changed = [&](std::size_t at, unsigned bit) {
      file.stored[at] ^= std::byte(1u << bit);
      std::vector<bytes> records;
      const auto visit = [&records](const qio::log_record& each) {
        records.emplace_back(each.bytes.begin(), each.bytes.end());
        return each.number == records.size();
      };
      const found_in_memory found = writer.context.run(read_in_memory(file, visit));
      file.stored[at] ^= std::byte(1u << bit);
      if (!found.contents) FAIL("byte " << at << ", bit " << bit << ": no log any more");
      const bool is_damaged = found.contents->tail == qio::log_end::damaged;
      damaged += is_damaged;
      const std::size_t most = std::min(records.size(), expected.size());
      std::size_t right = 0;
      for (std::size_t i = 0; i != most; ++i) right += records[i] == expected[i];
      const bool is_prefix = right == records.size() || (!checksums && right + 1 == records.size());
      if (!is_prefix || (!is_damaged && records.size() != expected.size()))
        FAIL("byte " << at << ", bit " << bit << ": " << right << " of " << expected.size() << " records are left");
    };
    for (unsigned bit = 0; bit != 8; ++bit) {
      for (const std::size_t copy : {0u, 4096u})
        for (std::size_t at = 0; at != 160; ++at) check_with_bit_changed(copy + at, bit);
      for (std::size_t at = first_batch; at != end + 1024; ++at) check_with_bit_changed(at, bit);
    }
  }
  CHECK(damaged > 10'000);
}

TEST_CASE("a log grows before the space that it has is used up") {
  qio::simulated_disk disk({.seed = 1});
  program writer(disk);
  const auto accept = [](const qio::log_record&) { return true; };
  auto log = writer.context.run(qio::open_log(writer.open("log").value(), accept, {.extent = 1024 * 1024})).value();
  const std::size_t at_first = contents(disk, "log").size();
  const bytes record = filled(4000, 1);
  const auto append = [&]() -> qio::task<bool> { co_return (co_await log.append(record)).has_value(); };
  std::size_t appended = 0, size = at_first;
  for (; size == at_first; size = contents(disk, "log").size()) {
    REQUIRE(writer.context.run(append()));
    appended += record.size();
    writer.context.run();
  }
  CHECK(appended < at_first / 4 * 3);  // when half of the space was left
}
