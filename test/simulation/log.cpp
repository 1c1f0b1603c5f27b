// A log loses no acknowledged record, wherever the power fails.
#include "program.hpp"
#include <qio/log_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
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

/// What outlives the crashes.
struct history {
  std::uint64_t last_id = 0;
  std::map<std::uint64_t, std::uint64_t> acknowledged;  // numbers of records, and their identities
  std::map<std::uint64_t, std::uint64_t> found;         // by the last recovery

  int crashes = 0, recoveries = 0, torn = 0, not_opened = 0;

  /// Whether a recovery has found all that was acknowledged.
  bool is_complete() const {
    return std::ranges::all_of(acknowledged, [&](const auto& each) {
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

/// Recovers, checks that nothing is lost, and appends until the power fails.
template <class Mode>
qio::task<void> live(program& in, qio::simulated_disk& disk, history& of, bool appends) {
  of.found.clear();
  auto file = in.open<Mode>("log");
  if (!file || !disk.sync_directory(".")) co_return void(++of.not_opened);
  bool all_whole = true;
  const auto visit = [&](const qio::log_record& each) {
    std::uint64_t id = 0;
    all_whole = all_whole && each.number == of.found.size() + 1 && is_whole(each, id);
    of.found[each.number] = id;
    return all_whole;
  };
  auto log = co_await qio::open_log(std::move(file).value(), visit,
                                    {.extent = 16 * 1024, .largest_batch = 4096, .id = disk.seed()});
  CHECK(all_whole);
  if (!log) {
    CHECK(log.error() == std::errc::io_error);  // the power failed, or a sync
    co_return void(++of.not_opened);
  }
  CHECK(of.is_complete());
  ++of.recoveries;
  of.torn += log.value().recovered().tail == qio::log_end::torn;
  of.acknowledged = of.found;  // visited is durable
  if (!appends) co_return;
  std::vector<qio::task<void>> writers;
  for (int i = 0; i < 4; ++i) writers.push_back(append_until_failure(log.value(), of));
  co_await qio::when_all(std::move(writers));
  CHECK(log.value().failure().exists());
}

/// Three crashes for each seed, at any moment, and a last recovery.
template <class Mode>
history crash(std::uint64_t first, std::uint64_t seeds, qio::simulation_options options) {
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
    }
    program reader(disk);
    reader.context.run(live<Mode>(reader, disk, one, false));
    all.torn += one.torn;
    all.not_opened += one.not_opened;
    all.recoveries += one.recoveries;
  }
  return all;
}

void check_events(const history& of) {
  CHECK(of.crashes > 2500);
  CHECK(of.recoveries > 2000);
  CHECK(of.torn > 25);
}

}  // namespace

TEST_CASE("a direct log loses no acknowledged record in 2,500 crashes, and shows no torn one") {
  check_events(crash<qio::direct>(1, 834, {.short_transfers = 0.1, .interruptions = 0.05}));
}

TEST_CASE("a direct log loses no acknowledged record in 2,500 more crashes, and shows no torn one") {
  check_events(crash<qio::direct>(5001, 834, {.short_transfers = 0.1, .interruptions = 0.05}));
}

TEST_CASE("a cached log loses no acknowledged record in 2,500 crashes, and shows no torn one") {
  check_events(crash<qio::cached>(10001, 834, {.short_transfers = 0.1, .interruptions = 0.05}));
}

TEST_CASE("a cached log loses no acknowledged record in 2,500 more crashes, and shows no torn one") {
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
