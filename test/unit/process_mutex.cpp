// Waiting for a mutex, or for a number to change.
#include "catch.hpp"
#include <qio/base/process_mutex.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

TEST_CASE("a thread that waits for a number does not run before that changes") {
  std::atomic<std::uint32_t> number = 0, seen = 0;
  std::atomic<bool> has_begun = false;
  std::thread waiting([&] {
    has_begun = true;
    qio::detail::wait_while(number, 0);
    seen = number.load();
  });
  while (!has_begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for a thread that does not wait to see the old number
  number = 1;
  qio::detail::wake_all(number);
  waiting.join();
  CHECK(seen == 1);
}

TEST_CASE("threads that contend for a mutex are all woken, and exclude each other") {
  qio::detail::process_mutex mutex;
  int count = 0;
  constexpr int times = 20'000;
  std::array<std::thread, 4> threads;
  for (auto& each : threads)
    each = std::thread([&] {
      for (int i = 0; i < times; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  for (auto& each : threads) each.join();
  CHECK(count == static_cast<int>(threads.size()) * times);
}
