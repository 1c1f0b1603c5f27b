// How a context decides to wait: by the policy, and by its earlier waits.
#include "catch.hpp"
#include <qio/engine/uring/waiting.hpp>

#include <chrono>

namespace {

using namespace std::chrono_literals;
using qio::wait_policy;
using qio::detail::waiting;

constexpr bool reads = true, writes = false;

void learn(waiting& decided, bool what, std::chrono::nanoseconds waited) {
  for (int wait = 0; wait < 100; ++wait) decided.learn(what, waited, false);
}

}  // namespace

TEST_CASE("spin waits awake from the start, for a bounded time") {
  waiting decided(wait_policy::spin);
  learn(decided, reads, 10ms);
  const waiting::plan plan = decided.next(reads);
  CHECK(plan.nap == 0ns);
  CHECK(plan.awake == 200us);
}

TEST_CASE("the adaptive policy waits awake if waits have been short, and asleep if they have been long") {
  waiting decided(wait_policy::adaptive);
  learn(decided, reads, 10us);
  CHECK(decided.next(reads).nap == 0ns);  // a nap would outlast it
  CHECK(decided.next(reads).awake > 30us);
  learn(decided, reads, 60us);
  CHECK(decided.next(reads).nap > 15us);
  CHECK(decided.next(reads).nap < 25us);
  CHECK(decided.next(reads).awake == 200us);
  learn(decided, reads, 10ms);
  CHECK(decided.next(reads).is_asleep());
  CHECK_FALSE(decided.next(writes).is_asleep());  // nothing is known about writes yet
  learn(decided, reads, 10us);
  CHECK_FALSE(decided.next(reads).is_asleep());
}

TEST_CASE("an unsuccessful wait awake is followed by waits asleep, each time by twice as many") {
  for (const wait_policy policy : {wait_policy::spin, wait_policy::adaptive}) {
    waiting decided(policy);
    const auto asleep = [&] {
      int count = 0;
      while (decided.next(reads).is_asleep()) ++count;
      return count;
    };
    CHECK(asleep() == 0);
    for (const int expected : {1, 2, 4, 8, 16, 32, 64, 64}) {
      decided.was_awake_in_vain();
      CHECK(asleep() == expected);
    }
    decided.was_awake();
    decided.was_awake_in_vain();
    CHECK(asleep() == 1);
    CHECK(decided.statistics().awake == 1);
    CHECK(decided.statistics().awake_in_vain == 9);
  }
}

TEST_CASE("naps that make waits longer are skipped, each time twice as often, until they do not") {
  waiting decided(wait_policy::adaptive);
  learn(decided, reads, 60us);
  for (int wait = 0; wait < 100; ++wait) decided.learn(reads, 60us, true);
  // Every eighth wait has no nap in any case, so this checks whether any of several waits has one.
  const auto waits_until_nap = [&] {
    int count = 0;
    while (decided.next(reads).nap == 0ns) ++count;
    return count;
  };
  CHECK(waits_until_nap() <= 1);
  for (const int left_out : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024}) {
    decided.learn(reads, 100us, true);
    const int count = waits_until_nap();
    CHECK(count >= left_out);
    CHECK(count <= left_out * 8 / 7 + 2);
  }
  decided.learn(reads, 61us, true);
  CHECK(waits_until_nap() <= 1);
  decided.learn(reads, 100us, true);
  CHECK(waits_until_nap() <= 3);
}

TEST_CASE("one very long wait does not make later waits sleep") {
  waiting decided(wait_policy::adaptive);
  learn(decided, reads, 50us);
  decided.learn(reads, 10ms, false);
  CHECK_FALSE(decided.next(reads).is_asleep());
}
