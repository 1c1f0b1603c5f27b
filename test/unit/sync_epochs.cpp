// When the success of a sync may be believed: after everything that overlapped it.
#include "catch.hpp"
#include "os.hpp"
#include <qio/request/syncs.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace {

using qio::detail::blocking_syncs;
using qio::detail::sync_epochs;

}  // namespace

TEST_CASE("the end of a sync that nothing overlaps is the end of all") {
  sync_epochs epochs;
  for (int i = 0; i < 3; ++i) {
    epochs.end(epochs.begin());
    CHECK(epochs.has_passed(epochs.end_of_all()));
  }
}

TEST_CASE(
    "the end of all comes when everything has ended that was in progress, and does not wait for what began since") {
  std::minstd_rand random(1);
  struct running {
    sync_epochs::epoch epoch;
    int number;
  };
  struct ended {
    std::uint32_t end_of_all;
    std::vector<int> overlapped;  // what still runs of it
    int later = 0;                // ends of others since nothing of it runs
  };
  sync_epochs epochs;
  std::vector<running> all;
  std::vector<ended> waiting;
  int begun = 0, held_back = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (all.empty() || (all.size() < 6 && random() % 2 == 0)) {
      all.push_back({epochs.begin(), ++begun});
      continue;
    }
    const auto which = all.begin() + static_cast<std::ptrdiff_t>(random() % all.size());
    const running done = *which;
    all.erase(which);
    epochs.end(done.epoch);
    ended now{epochs.end_of_all(), {}};
    for (const running& each : all) now.overlapped.push_back(each.number);
    CHECK(epochs.has_passed(now.end_of_all) == all.empty());
    waiting.push_back(now);
    std::erase_if(waiting, [&](ended& each) {
      std::erase(each.overlapped, done.number);
      const bool has_passed = epochs.has_passed(each.end_of_all);
      if (has_passed) CHECK(each.overlapped.empty());
      // At the latest, it has passed when nothing runs that ran at one of the two grace periods' beginnings.
      if (each.overlapped.empty()) ++each.later;
      if (all.empty()) CHECK(has_passed);
      held_back += !has_passed;
      return has_passed;
    });
  }
  CHECK(held_back > 1000);
  for (const running& each : all) epochs.end(each.epoch);
  for (const ended& each : waiting) CHECK(epochs.has_passed(each.end_of_all));
}

TEST_CASE("a sync that others follow without a gap is held back for those that it overlapped, and no longer") {
  sync_epochs epochs;
  const auto first = epochs.begin(), second = epochs.begin();
  epochs.end(first);
  const std::uint32_t end_of_first = epochs.end_of_all();
  CHECK_FALSE(epochs.has_passed(end_of_first));
  const auto third = epochs.begin();
  epochs.end(second);
  CHECK(epochs.has_passed(end_of_first));
  const std::uint32_t end_of_second = epochs.end_of_all();
  const auto fourth = epochs.begin();
  CHECK_FALSE(epochs.has_passed(end_of_second));
  epochs.end(third);
  CHECK(epochs.has_passed(end_of_second));
  epochs.end(fourth);
}

TEST_CASE("a blocking sync returns success only after the failures of those that it overlaps were noted") {
  for (int times = 0; times < 50; ++times) {
    blocking_syncs syncs;
    qio::detail::sync_failure failure;
    std::atomic<bool> overlaps = false, has_succeeded = false, has_failed = false;
    const auto await = [](const std::atomic<bool>& event) {
      while (!event) std::this_thread::yield();
    };
    std::thread fails([&] {
      const auto failed = syncs.run([&]() -> qio::result<void> {
        overlaps = true;
        await(has_succeeded);
        // Time for the other one to return too early.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const qio::error why = std::error_code(os::io_error, qio::platform::system_category());
        failure.note(why);
        return why;
      });
      has_failed = !failed;
    });
    const auto succeeded = syncs.run([&]() -> qio::result<void> {
      await(overlaps);
      has_succeeded = true;
      return qio::success();
    });
    CHECK(succeeded);
    CHECK(failure.exists());
    fails.join();
    CHECK(has_failed);
  }
}
