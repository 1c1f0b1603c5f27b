// How the turns of a loop measure what has waited for them.
#include "catch.hpp"
#include <qio/engine/engine.hpp>
#include <qio/qio.hpp>

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

using namespace std::chrono_literals;
using qio::stall_cause;

namespace {

using clock = qio::detail::clock;

constexpr clock::time_point never = clock::time_point::max();
constexpr clock::time_point start = clock::time_point(1h);

std::uint64_t turns_of(const qio::detail::turn_watch& watch) {
  const auto& late = watch.totals().late;
  return std::accumulate(late.begin(), late.end(), std::uint64_t(0));
}

std::size_t bucket_of(std::chrono::microseconds time) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time.count()))) - 1;
}

}  // namespace

TEST_CASE("a turn that finds nothing late does not count") {
  qio::detail::turn_watch watch;
  watch.begin_turn(start, never);
  watch.begin_turn(start + 1s, start + 2s);
  CHECK(turns_of(watch) == 0);
  CHECK(watch.totals().longest == 0ns);
  CHECK(watch.totals().cause == stall_cause::none);
}

TEST_CASE("an operation that had completed before the wait has waited since the turn before") {
  qio::detail::turn_watch watch;
  watch.begin_turn(start, never);
  watch.found_due();
  watch.begin_turn(start + 300us, never);
  CHECK(turns_of(watch) == 1);
  CHECK(watch.totals().late[bucket_of(300us)] == 1);
  CHECK(watch.totals().longest == 300us);
  watch.begin_turn(start + 400us, never);
  CHECK(turns_of(watch) == 1);
}

TEST_CASE("what was due when the program called run() is not late by an unknown time") {
  qio::detail::turn_watch watch;
  watch.begin_turn(start, never);
  watch.begin_session();
  watch.found_due();
  watch.begin_turn(start + 1h, never);
  CHECK(watch.totals().longest == 0ns);

  CHECK(watch.begin_turn_alone());
  watch.found_due();
  CHECK(!watch.begin_turn_alone());
  watch.begin_turn(start + 2h, never);
  CHECK(watch.totals().longest == 0ns);
}

TEST_CASE("what was posted has waited since then, however long the turn before was") {
  qio::detail::turn_watch watch;
  watch.begin_turn(start, never);
  watch.found_posted(3ms);
  watch.begin_turn(start + 1s, never);
  CHECK(turns_of(watch) == 1);
  CHECK(watch.totals().longest == 3ms);
}

TEST_CASE("a timer waits from its time on") {
  qio::detail::turn_watch watch;
  watch.begin_turn(start, start + 5ms);
  watch.begin_turn(start + 12ms, start + 5ms);
  CHECK(watch.totals().late[bucket_of(7000us)] == 1);
  CHECK(watch.totals().longest == 7ms);
  watch.found_due();
  watch.begin_turn(start + 22ms, start + 21ms);
  CHECK(turns_of(watch) == 2);
  CHECK(watch.totals().longest == 10ms);  // the operation's wait, since it is the longer one
}

TEST_CASE("the longest wait has the cause that took most of it") {
  qio::detail::turn_watch watch;
  watch.begin_turn(start, never);
  watch.note_slow(stall_cause::writing, "/data/log", 6ms);
  watch.note_slow(stall_cause::closing, "/data/other", 1ms);
  watch.found_due();
  watch.begin_turn(start + 10ms, never);
  CHECK(watch.totals().cause == stall_cause::writing);
  CHECK(watch.totals().path == "/data/log");

  watch.note_slow(stall_cause::writing, "/data/log", 6ms);
  watch.found_due();
  watch.begin_turn(start + 30ms, never);
  CHECK(watch.totals().longest == 20ms);
  CHECK(watch.totals().cause == stall_cause::program);
  CHECK(watch.totals().path.empty());

  watch.found_due();  // what was slow before is forgotten
  watch.begin_turn(start + 60ms, never);
  CHECK(watch.totals().cause == stall_cause::program);
}

TEST_CASE("a cause keeps the end of a long path") {
  qio::detail::turn_watch watch;
  watch.begin_turn(start, never);
  watch.note_slow(stall_cause::opening, std::string(1000, 'a') + "/end", 6ms);
  watch.found_due();
  watch.begin_turn(start + 6ms, never);
  CHECK(watch.totals().path == std::string(251, 'a') + "/end");
}

TEST_CASE("longer_than() rounds its time up to a power of two") {
  qio::detail::turn_watch watch;
  for (const auto waited : {0us, 1us, 2us, 1023us, 1024us, 5000us}) {
    watch.found_posted(waited);
    watch.begin_turn(start, never);
  }
  const qio::stall_statistics found = watch.totals();
  CHECK(found.late[0] == 2);
  CHECK(found.late[1] == 1);
  CHECK(found.longer_than(0ns) == 6);
  CHECK(found.longer_than(2us) == 4);
  CHECK(found.longer_than(1ms) == 2);
  CHECK(found.longer_than(1024us) == 2);
  CHECK(found.longer_than(1025us) == 1);
  CHECK(found.longer_than(1h) == 0);
}

TEST_CASE("each cause of a stall has a name") {
  CHECK(name_of(stall_cause::program) == "program");
  CHECK(name_of(stall_cause::submitting) == "submitting");
}
