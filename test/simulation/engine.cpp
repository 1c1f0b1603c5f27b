// SPDX-License-Identifier: BSL-1.0
// Asynchronous operations on a simulated disk: the seed decides the order of all events.
#include "program.hpp"
#include <qio/when_any.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace simulation;
using namespace std::chrono_literals;

qio::task<> rewrite(file& data, std::uint64_t offset, std::string& history, qio::simulated_disk& disk) {
  const bytes block = filled(1500, static_cast<int>(offset % 251));
  const auto written = co_await data.async_write_at(offset, block);
  history += std::to_string(offset) + (written ? " written " : " failed ") + std::to_string(disk.system_calls()) + ' ' +
             std::to_string(disk.now().time_since_epoch().count()) + '\n';
  bytes buffer(1500);
  const auto read = co_await data.async_read_at(offset, buffer);
  history += std::to_string(offset) + (read ? " read " : " failed ") +
             std::to_string(read ? read.value() : read.error().transferred()) + '\n';
}

std::string history_of(std::uint64_t seed) {
  qio::simulated_disk disk({.seed = seed,
                            .short_transfers = 0.2,
                            .interruptions = 0.2,
                            .read_errors = 0.02,
                            .write_errors = 0.02,
                            .sync_errors = 0.1});
  std::string history;
  {
    program one(disk, 8);
    auto data = one.open("data").value();
    std::vector<qio::task<>> all;
    for (std::uint64_t each = 0; each < 50; ++each) all.push_back(rewrite(data, each * 1500, history, disk));
    one.context.run(qio::when_all(std::move(all)));
    history += one.context.run(data.async_sync()) ? "synced\n" : "not synced\n";
    disk.cut_power_after(20);
    std::vector<qio::task<>> more;
    for (std::uint64_t each = 0; each < 50; ++each) more.push_back(rewrite(data, each * 1500, history, disk));
    one.context.run(qio::when_all(std::move(more)));
  }
  static_cast<void>(disk.sync_directory("."));
  disk.restart();
  if (!disk.exists("data")) return history;
  program after(disk);
  return history + std::to_string(after.open("data").value().size().value());
}

TEST_CASE("of the syncs of one file that overlap, all fail or none") {
  std::set<bool> outcomes;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .sync_errors = 0.2});
    program one(disk);
    auto data = one.open("data").value();
    const auto sync = [&]() -> qio::task<bool> { co_return bool(co_await data.async_sync()); };
    std::vector<qio::task<bool>> all;
    for (int each = 0; each < 4; ++each) all.push_back(sync());
    std::set<bool> found;
    for (const bool each : one.context.run(qio::when_all(std::move(all)))) found.insert(each);
    CHECK(found.size() == 1);
    outcomes.merge(found);
  });
  CHECK(outcomes.size() == 2);
}

TEST_CASE("the error of a failed sync or durable write names the file, also that of each later one") {
  qio::simulated_disk disk({.seed = 1, .sync_errors = 0.5});
  program one(disk);
  const bytes block = filled(512, 1);
  const auto text = [](const auto& failed) { return failed.error().message(); };
  const auto first_failure = [&](auto&& call) {
    auto answer = call();
    while (answer) answer = call();
    return answer;
  };
  const auto begins = [](const std::string& message, const std::string& with) { return message.find(with) == 0; };
  {
    auto data = one.open("data").value();
    CHECK(begins(text(first_failure([&] { return one.context.run(data.async_sync()); })), "cannot sync data: "));
    CHECK(begins(text(one.context.run(data.async_sync())), "cannot sync data: "));
    CHECK(begins(text(data.sync()), "cannot sync data: "));
  }
  {
    auto data = one.open("data").value();
    CHECK(begins(text(first_failure([&] { return data.sync(); })), "cannot sync data: "));
  }
  for (const bool blocking : {true, false}) {
    auto data = one.open("data").value();
    const auto write = [&] {
      return blocking ? data.write_at(0, block, {.durable = true})
                      : one.context.run(data.async_write_at(0, block, {.durable = true}));
    };
    CHECK(begins(text(first_failure(write)), "cannot write data: "));
  }
}

TEST_CASE("a durable write fails with the sync that it overlaps, and one that begins later does not") {
  std::set<bool> outcomes;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .sync_errors = 0.2});
    program one(disk);
    auto data = one.open("data").value();
    const bytes block = filled(512, 1);
    bool synced = false, written = false;
    const auto sync = [&]() -> qio::task<> { synced = bool(co_await data.async_sync()); };
    const auto write = [&]() -> qio::task<> {
      written = bool(co_await data.async_write_at(0, block, {.durable = true}));
    };
    one.context.run(qio::when_all(sync(), write()));
    CHECK(synced == written);
    outcomes.insert(synced);
    while (!one.context.run(data.async_write_at(0, block, {.durable = true}))) {}
  });
  CHECK(outcomes.size() == 2);
}

TEST_CASE("a durable write of a direct file does not wait for the syncs that it overlaps, nor fails with them") {
  int failed_alone = 0, early = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .sync_errors = 0.2});
    program one(disk);
    auto data = one.open<qio::direct>("data").value();
    const auto block = qio::aligned_buffer::allocate(512).value();
    bool synced = false, written = false, is_first = false;
    const auto sync = [&]() -> qio::task<> { synced = bool(co_await data.async_sync()); };
    const auto write = [&]() -> qio::task<> {
      written = bool(co_await data.async_write_at(0, block, {.durable = true}));
      is_first = data.statistics().served_by_ring == 1;
    };
    one.context.run(qio::when_all(sync(), write()));
    failed_alone += written && !synced;
    early += written && is_first;
  });
  CHECK(failed_alone > 10);
  CHECK(early > 50);
}

TEST_CASE("a sync whose deadline has passed does not wait for those that it overlaps") {
  int early = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    program one(disk);
    auto data = one.open("data").value();
    const auto begin = disk.now();
    qio::simulated_disk::time_point end_of_first{}, end_of_second{};
    const auto first = [&]() -> qio::task<> {
      const auto synced = co_await data.async_sync(qio::sync_kind::data, {.deadline = begin + 1us});
      end_of_first = disk.now();
      CHECK((synced || synced.error() == std::errc::timed_out));
    };
    const auto second = [&]() -> qio::task<> {
      const auto synced = co_await data.async_sync();
      CHECK(synced);
      end_of_second = disk.now();
    };
    one.context.run(qio::when_all(first(), second()));
    early += end_of_first < end_of_second;
  });
  CHECK(early > 100);  // and the others are those that the second waits for
}

TEST_CASE("a sync that waits for those that it overlaps can be canceled, closed and destroyed") {
  int held_back = 0;
  each_seed([&](std::uint64_t seed) {
    for (const int how : {0, 1, 2}) {
      qio::simulated_disk disk({.seed = seed});
      program one(disk);
      auto data = one.open("data").value();
      int ended = 0, canceled = 0;
      std::stop_source stop;
      const std::stop_token token = stop.get_token();
      const auto count = [&](qio::result<void> told) {
        ++ended;
        canceled += !told && told.error() == std::errc::operation_canceled;
      };
      const auto sync = [&] { return data.async_sync(qio::sync_kind::data, {.stop = token}); };
      auto first = std::unique_ptr<decltype(sync())>(new auto(sync()));
      auto second = std::unique_ptr<decltype(sync())>(new auto(sync()));
      first->start(count);
      second->start(count);
      while (data.statistics().served_by_ring == 0) one.context.poll();
      if (ended != 0) return;  // they ended together
      ++held_back;
      if (how == 0) stop.request_stop();
      if (how == 1) CHECK(data.close());
      if (how == 2) first.reset();
      if (how == 2) second.reset();
      one.context.run();
      CHECK(ended == (how == 2 ? 0 : 2));
      if (how == 0) CHECK(canceled >= 1);
    }
  });
  CHECK(held_back > 100);
}

TEST_CASE("the same seed repeats a history, and another seed does not") {
  const std::string first = history_of(1);
  CHECK(history_of(1) == first);
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) all.insert(history_of(seed));
  CHECK(all.size() == 20);
}

TEST_CASE("operations overtake one another, and more may start than the queue has places") {
  qio::simulated_disk disk;
  program one(disk, 4);
  auto data = one.open("data").value();
  REQUIRE(data.write_at(0, filled(64 * 512, 1)));
  std::vector<bytes> buffers(64, bytes(512));
  std::vector<std::size_t> order;
  const auto read = [&](std::size_t number) -> qio::task<> {
    CHECK((co_await data.async_read_at(512 * number, buffers[number])).value() == 512);
    order.push_back(number);
  };
  std::vector<qio::task<>> reads;
  for (std::size_t each = 0; each < buffers.size(); ++each) reads.push_back(read(each));
  one.context.run(qio::when_all(std::move(reads)));
  CHECK_FALSE(std::ranges::is_sorted(order));
  // Four are in flight at a time, so no operation moves further from its place than that allows.
  CHECK(order.front() < 4);
  std::ranges::sort(order);
  for (std::size_t each = 0; each < order.size(); ++each) CHECK(order[each] == each);
  for (const bytes& each : buffers) CHECK(each == filled(512, 1));
}

TEST_CASE("the buffer of a read in flight does not hold the file's contents") {
  qio::simulated_disk disk;
  program one(disk);
  auto data = one.open("data").value();
  REQUIRE(data.write_at(0, filled(4096, 1)));
  bytes buffer = filled(4096, 2);
  auto read = data.async_read_at(0, buffer);
  std::size_t got = 0;
  read.start([&got](qio::result<std::size_t> answer) { got = answer.value(); });
  CHECK(got == 0);
  CHECK(buffer != filled(4096, 1));
  CHECK(buffer != filled(4096, 2));
  one.context.run();
  CHECK(got == 4096);
  CHECK(buffer == filled(4096, 1));
}

TEST_CASE("a canceled operation ends before, in the middle or as if not canceled, with its real result") {
  int before = 0, between = 0, after = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    program one(disk);
    auto data = one.open("data").value();
    REQUIRE(data.write_at(0, filled(4096, 1)));
    std::optional<qio::result<std::size_t>> answer;
    const bytes block = filled(4096, 2);
    auto write = data.async_write_at(0, block);
    write.start([&answer](qio::result<std::size_t> given) { answer = given; });
    write.cancel();
    one.context.run();
    REQUIRE(answer);
    if (!*answer) CHECK(answer->error() == std::errc::operation_canceled);
    const auto moved = *answer ? answer->value() : static_cast<std::size_t>(answer->error().transferred());
    ++(*answer ? after : moved == 0 ? before : between);
    bytes expected = filled(4096, 1);
    std::fill_n(expected.begin(), moved, std::byte(2));
    CHECK(contents(disk, "data") == expected);
  });
  CHECK(std::min({before, between, after}) > 20);
}

TEST_CASE("on a disk that fails, each request of a batch has its real answer, canceled or not") {
  constexpr std::size_t block = 2048, count = 24;
  int whole = 0, in_part = 0, untouched = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed,
                              .short_transfers = 0.3,
                              .interruptions = 0.3,
                              .refusals = 0.05,
                              .read_errors = 0.01,
                              .write_errors = 0.1});
    program one(disk, 8);
    auto data = one.open("data").value();
    bytes expected = filled(block * count, 1);
    qio::result<std::size_t> made = data.write_at(0, expected);
    while (!made) made = data.write_at(0, expected);

    // Odd seeds cancel the batch while it is in flight.
    const auto carry_out = [&](auto& batch) {
      std::optional<std::size_t> failures;
      batch.start([&failures](qio::result<std::size_t> answer) { failures = answer.value(); });
      one.context.poll();
      if (seed % 2 != 0) batch.cancel();
      one.context.run();
      return failures.value();
    };
    const auto failures_of = [](const auto& requests) {
      return static_cast<std::size_t>(std::ranges::count_if(requests, [](auto& each) { return !each.answer; }));
    };

    const bytes block_written = filled(block, 2);
    std::vector<qio::write_request> writes(count);
    for (std::size_t i = 0; i < count; ++i)
      writes[i] = {.offset = (i * 7 + 5) % count * block, .buffer = block_written};
    auto write = data.async_write_many(writes);
    const std::size_t failed_writes = carry_out(write);
    CHECK(failed_writes == failures_of(writes));
    std::vector<bool> is_known(count, true);
    for (const qio::write_request& each : writes) {
      const std::size_t moved = each.answer ? each.answer.value() : each.answer.error().transferred();
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(each.offset), moved, std::byte(2));
      ++(moved == block ? whole : moved != 0 ? in_part : untouched);
      // A failed write may have written more than it has reported.
      if (!each.answer && each.answer.error() == std::errc::io_error) is_known[each.offset / block] = false;
    }

    bytes found(block * count);
    std::vector<qio::read_request> reads(count);
    for (std::size_t i = 0; i < count; ++i)
      reads[i] = {.offset = i * block, .buffer = std::span(found).subspan(i * block, block)};
    auto read = data.async_read_many(reads);
    const std::size_t failed_reads = carry_out(read);
    CHECK(failed_reads == failures_of(reads));
    for (const qio::read_request& each : reads) {
      const std::size_t moved = each.answer ? each.answer.value() : each.answer.error().transferred();
      if (each.answer) CHECK(moved == block);
      if (is_known[each.offset / block])
        CHECK(std::ranges::equal(each.buffer.first(moved), std::span(expected).subspan(each.offset, moved)));
    }
  });
  CHECK(std::min({whole, in_part, untouched}) > 100);
}

TEST_CASE("whether a deadline on the disk's clock passes depends on the seed") {
  const auto outcome = [](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .shortest = 10us, .longest = 200us});
    program one(disk);
    auto data = one.open("data").value();
    const bytes block = filled(512, 1);
    const auto written = one.context.run(data.async_write_at(0, block, {.deadline = disk.now() + 100us}));
    if (!written) CHECK(written.error() == std::errc::timed_out);
    return written.has_value();
  };
  int in_time = 0;
  each_seed([&](std::uint64_t seed) {
    const bool first = outcome(seed);
    CHECK(outcome(seed) == first);
    if (first) ++in_time;
  });
  CHECK(in_time > 20);
  CHECK(in_time < 180);
}

TEST_CASE("an operation that times out midway reports the bytes that it has moved") {
  int midway = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .shortest = 10us, .longest = 200us});
    program one(disk);
    auto data = one.open("data").value();
    REQUIRE(data.write_at(0, filled(4096, 1)));
    const bytes block = filled(4096, 2);
    const auto written = one.context.run(data.async_write_at(0, block, {.deadline = disk.now() + 20us}));
    if (written) return;
    CHECK(written.error() == std::errc::timed_out);
    const auto moved = static_cast<std::size_t>(written.error().transferred());
    if (moved != 0) ++midway;
    bytes expected = filled(4096, 1);
    std::fill_n(expected.begin(), moved, std::byte(2));
    CHECK(contents(disk, "data") == expected);
  });
  CHECK(midway > 20);
}

TEST_CASE("a turn ends when what it resumes has used up its time for work inline") {
  qio::simulated_disk disk;
  program one(disk);
  auto data = one.open("data").value();
  using empty_read = decltype(data.async_read_at(0, std::span<std::byte>()));
  std::vector<qio::operation_slot<empty_read>> all(1000);
  int called = 0;
  const auto call = [&](qio::result<std::size_t>) {
    ++called;
    for (int i = 0; i < 10; ++i) {  // each counts as half a microsecond
      auto more = data.async_read_at(0, std::span<std::byte>());
      more.start([](qio::result<std::size_t>) {});
    }
  };
  for (auto& each : all) each.emplace([&] { return data.async_read_at(0, std::span<std::byte>()); }).start(call);
  CHECK(one.context.poll());
  CHECK(called > 0);
  CHECK(called < 400);
  while (one.context.poll()) {}
  CHECK(called == 1000);
}

TEST_CASE("time passes only on the disk's clock") {
  qio::simulated_disk disk({.shortest = 1h, .longest = 2h});
  program one(disk);
  auto data = one.open("data").value();
  const auto began = disk.now();
  const bytes block = filled(512, 1);
  for (int each = 0; each < 100; ++each) REQUIRE(one.context.run(data.async_write_at(0, block)));
  CHECK(disk.now() - began >= 100h);
  CHECK(disk.now() - began <= 201h);
}

TEST_CASE("which task of when_any is first depends on the seed, and stopped writes leave what they wrote") {
  const auto race = [](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .shortest = 10us, .longest = 200us});
    program one(disk);
    auto data = one.open("data").value();
    REQUIRE(data.write_at(0, filled(2048, 1)));
    const bytes block = filled(2048, 2);
    std::optional<qio::result<std::size_t>> answer;
    const auto first = one.context.run(qio::when_any(
        [&](std::stop_token stop) -> qio::task<> { answer = co_await data.async_write_at(0, block, {.stop = stop}); },
        [&](std::stop_token stop) -> qio::task<> { static_cast<void>(co_await one.context.sleep_for(100us, stop)); }));
    REQUIRE(answer);  // when_any has waited for it
    if (first.index() == 0) CHECK(answer->has_value());
    if (!*answer) CHECK(answer->error() == std::errc::operation_canceled);
    bytes expected = filled(2048, 1);
    std::fill_n(expected.begin(), *answer ? answer->value() : answer->error().transferred(), std::byte(2));
    CHECK(contents(disk, "data") == expected);
    CHECK(!one.context.next_deadline().exists());
    return first.index();
  };
  std::size_t in_time = 0;
  each_seed([&](std::uint64_t seed) {
    const std::size_t first = race(seed);
    CHECK(race(seed) == first);
    if (first == 0) ++in_time;
  });
  CHECK(in_time > 20);
  CHECK(in_time < 180);
}

TEST_CASE("any part of the writes in flight at a power failure may be on the disk, and none succeeds") {
  std::set<std::size_t> sizes;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 512, 1);
    {
      program one(disk);
      auto data = one.open("data").value();
      const bytes block = filled(2048, 2);
      std::optional<qio::result<std::size_t>> answer;
      auto write = data.async_write_at(512, block);
      write.start([&answer](qio::result<std::size_t> given) { answer = given; });
      disk.cut_power_after(0);
      one.context.run();
      CHECK(answer->error() == std::errc::io_error);
      auto late = data.async_write_at(0, block);
      late.start([](qio::result<std::size_t>) {});
      one.context.run();
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    REQUIRE(found.size() >= 512);
    CHECK(std::ranges::count(std::span(found).first(512), std::byte(1)) == 512);
    sizes.insert(found.size());
  });
  CHECK(sizes == std::set<std::size_t>{512, 1024, 1536, 2048, 2560});
}

TEST_CASE("a write in flight at a power failure leaves each sector whole or not at all") {
  std::set<std::ptrdiff_t> kept;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    make_durable(disk, 4096, 1);
    {
      program one(disk);
      auto data = one.open("data").value();
      const bytes block = filled(2900, 2);  // begins and ends within a sector
      auto write = data.async_write_at(100, block);
      write.start([](qio::result<std::size_t>) {});
      disk.cut_power_after(0);
      one.context.run();
    }
    disk.restart();
    const bytes found = contents(disk, "data");
    bytes expected = filled(4096, 1);
    for (std::size_t at = 0; at != 4096; at += 512) {
      const std::size_t begin = std::max<std::size_t>(at, 100), end = std::min<std::size_t>(at + 512, 3000);
      if (begin < end && found[begin] == std::byte{2})
        std::ranges::fill(std::span(expected).subspan(begin, end - begin), std::byte{2});
    }
    CHECK(found == expected);
    kept.insert(std::ranges::count(found, std::byte{2}));
  });
  CHECK(kept.size() > 10);
}

TEST_CASE("a context without a disk has its own, and explain() names the seed") {
  auto context = qio::basic_context<qio::simulated>::create().value();
  CHECK(context.explain().find("engine")->value == "simulated");
  CHECK(context.explain().find("seed")->value == "1");
  auto data = qio::cached_file::open(context, "data", access::read_write, creation::if_needed).value();
  const auto block = filled(512, 1);
  CHECK(context.run(data.async_write_at(0, block)).value() == 512);
}

}  // namespace

TEST_CASE("a transfer that its deadline ends in the middle reports how much it has moved") {
  int in_the_middle = 0;
  each_seed([&](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed, .short_transfers = 1.0});
    make_durable(disk, 64 * 1024, 7);
    program one(disk);
    auto data = one.open("data").value();
    bytes buffer(64 * 1024);
    const auto read = one.context.run(data.async_read_at(0, buffer, {.deadline = disk.now() + 300us}));
    if (read) return;
    CHECK(read.error() == std::errc::timed_out);
    const std::size_t moved = read.error().transferred();
    CHECK(std::all_of(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(moved),
                      [](std::byte each) { return each == std::byte{7}; }));
    in_the_middle += moved != 0;
  });
  CHECK(in_the_middle > 100);
}
