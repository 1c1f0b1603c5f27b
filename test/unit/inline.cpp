// What decides whether a transfer is attempted inline.
#include "catch.hpp"
#include <qio/file/inline_attempt.hpp>
#include <qio/loop/loop.hpp>
#include <qio/qio.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

TEST_CASE("a turn lets coroutines continue at once for a while, and then only completes transfers") {
  qio::detail::inline_turn turn;
  turn.spend(63us);
  CHECK(turn.may_go_on());
  turn.spend(1us);
  CHECK(!turn.may_go_on());
  CHECK(turn.has_time());
  turn.spend(1ms);
  CHECK(!turn.has_time());
  turn.renew();
  CHECK(turn.may_go_on());
  CHECK(turn.has_time());
  CHECK(turn.time_of_copy(4096) == 1024ns);
  CHECK(turn.longest_copy(4096) == 22048ns);
}

TEST_CASE("a batch may use up a turn's time, of which it leaves less to others") {
  qio::detail::inline_turn turn;
  turn.spend(10us);
  {
    qio::detail::inline_turn::long_share share(turn);
    CHECK(share.begin_next());
    turn.spend(400us);
    CHECK(share.begin_next());
    turn.spend(100us);
  }
  CHECK(!turn.may_go_on());
  CHECK(turn.has_time());
  turn.spend(490us);
  CHECK(!turn.has_time());
  qio::detail::inline_turn::long_share late(turn);
  CHECK(!late.begin_next());
}

TEST_CASE("a thread has waited if it gave up its CPU and was not preempted") {
  qio::detail::thread_waits waits;
  CHECK(!waits.has_waited({0, 1}, 1ms));  // was preempted
  CHECK(waits.has_waited({1, 1}, 1ms));   // waited
  CHECK(!waits.has_waited({2, 2}, 1ms));  // unknown
  CHECK(!waits.has_waited({2, 2}, 1ms));  // was busy
  CHECK(waits.has_waited({10, 2}, 1ms));
  CHECK(waits.has_waited({11, 3}, 11ms));  // longer than others keep the CPU
}

namespace {

/// Whether a write of that range is attempted. On a file that cannot be asked what is in its cache.
bool is_attempted(qio::detail::inline_writes& writes, std::uint64_t offset, std::size_t bytes,
                  qio::platform::transfer_flags flags = 0) {
  qio::request r;
  std::byte first;
  r.io = qio::detail::transfer(offset, qio::mutable_buffer(&first, bytes));
  r.flags = flags;
  return writes.may_be_attempted(r);
}

}  // namespace

TEST_CASE("after a transfer that waited, those of its file system pause for sixteen times as long") {
  const qio::detail::clock::time_point now{1h};
  qio::detail::inline_turn turn;
  CHECK(turn.pause_of(3).is_over(now));
  turn.pause_of(3).begin(now, 1ms);
  turn.renew();
  CHECK(!turn.pause_of(3).is_over(now + 16ms - 1ns));
  CHECK(turn.pause_of(3).is_over(now + 16ms));
  CHECK(turn.pause_of(4).is_over(now));
}

TEST_CASE("however often a file system stalls, waiting for it takes a seventeenth of a context's time at most") {
  using duration = qio::detail::clock::duration;
  const qio::detail::clock::time_point begin{1h};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::uint64_t state = seed;
    const auto up_to = [&](duration most) {  // Marsaglia's xorshift64
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      return duration(static_cast<duration::rep>(state % static_cast<std::uint64_t>(most.count())) + 1);
    };
    qio::detail::inline_pause pause;
    duration waited{}, longest{};
    auto now = begin;
    for (int i = 0; i < 10'000; ++i) {
      if (!pause.is_over(now)) {
        now += up_to(2ms);  // what the engine does meanwhile
        continue;
      }
      const duration took = up_to(seed % 2 == 0 ? duration(50ms) : duration(100us));
      now += took;
      pause.begin(now, took);
      waited += took;
      longest = std::max(longest, took);
    }
    // The last pause may not be over.
    CHECK(17 * waited <= now - begin + 16 * longest);
    CHECK(waited > longest);
  }
}

TEST_CASE("an uncached write is attempted only if it covers whole pages") {
  qio::detail::inline_writes writes;
  const std::size_t page = qio::platform::page_size();
  CHECK(is_attempted(writes, page, 2 * page, 1));
  CHECK(!is_attempted(writes, page + 1, page - 1, 1));
  CHECK(!is_attempted(writes, page, page - 1, 1));
}

TEST_CASE("a write of up to 1 MiB is attempted while the file takes no longer than 320 us for it") {
  qio::detail::inline_writes writes;
  const std::size_t most = 1024 * 1024, always = 128 * 1024;
  CHECK(is_attempted(writes, 0, most));
  CHECK(!is_attempted(writes, 0, most + 1));
  for (int i = 0; i < 20; ++i) static_cast<void>(writes.is_slow(310us, most));
  CHECK(is_attempted(writes, 0, most));
  for (int i = 0; i < 20; ++i) static_cast<void>(writes.is_slow(330us, most));
  CHECK(!is_attempted(writes, 0, most));
  for (int i = 0; i < 20; ++i) static_cast<void>(writes.is_slow(1ms, most));
  CHECK(!is_attempted(writes, 0, most));
  CHECK(is_attempted(writes, 0, always));

  int refused = 0;
  while (refused < 10000 && !is_attempted(writes, 0, most)) ++refused;
  CHECK(refused > 30);  // it is seldom tried again
  CHECK(refused < 2000);
}

TEST_CASE("a write may have waited from 200 us on, and earlier if it assumed that a page is cached") {
  qio::detail::inline_writes writes;
  const std::size_t page = qio::platform::page_size();
  REQUIRE(is_attempted(writes, 0, page));
  CHECK(!writes.is_slow(199us, page));
  CHECK(writes.is_slow(201us, page));
  REQUIRE(is_attempted(writes, page + 100, 100));
  CHECK(!writes.is_slow(20us, 100));
  CHECK(writes.is_slow(25us, 100));
  REQUIRE(is_attempted(writes, page + 200, 100));  // the page of the last write
  CHECK(!writes.is_slow(25us, 100));
}
