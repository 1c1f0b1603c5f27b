// What decides whether a transfer is attempted inline.
#include "catch.hpp"
#include <qio/file/inline_writes.hpp>
#include <qio/loop/inline_turn.hpp>
#include <qio/loop/thread_waits.hpp>

#include <chrono>
#include <cstddef>
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
}

TEST_CASE("a thread has waited if it gave up its CPU and was not preempted") {
  qio::detail::thread_waits waits;
  CHECK(!waits.has_waited({0, 1}));  // was preempted
  CHECK(waits.has_waited({1, 1}));   // waited
  CHECK(!waits.has_waited({2, 2}));  // unknown
  CHECK(!waits.has_waited({2, 2}));  // was busy
  CHECK(waits.has_waited({10, 2}));
}

TEST_CASE("after a write that waited, inline writes pause for sixteen times as long") {
  qio::detail::inline_writes writes;
  qio::request r;
  std::vector<std::byte> page(qio::platform::page_size());
  r.io = qio::detail::transfer(0, qio::mutable_buffer(page.data(), page.size()));
  const std::chrono::steady_clock::time_point end{1h};
  CHECK(writes.may_be_attempted(r, end));
  writes.waited(end, 1ms);
  CHECK(!writes.may_be_attempted(r, end + 16ms - 1ns));
  CHECK(writes.may_be_attempted(r, end + 16ms));
}
