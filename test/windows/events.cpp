// The events with which threads wait for their blocking transfers.
#include "catch.hpp"
#include "world.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <set>
#include <thread>
#include <vector>

using contract::memory;
using qio::platform::lent_event;

namespace {

struct blocking_world : contract::world<contract::under<qio::no_engine, qio::cached>> {
  file data = with(4096);

  bool reads() {
    memory buffer(4096);
    return data.read_at(0, buffer.all()).has_value() && contract::holds_pattern(buffer.all(), 0);
  }
};

}  // namespace

TEST_CASE("consecutive threads use the same event, which outlives each of them") {
  blocking_world w;
  const unsigned before = shim::now.events_made;
  bool all = w.reads();
  for (int i = 0; i < 100; ++i) std::thread([&] { all = w.reads() && all; }).join();
  CHECK(all);
  CHECK(shim::now.events_made == before);
}

TEST_CASE("threads that wait at the same time have an event each") {
  blocking_world w;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      bool all = true;
      for (int i = 0; i < 100; ++i) all = w.reads() && all;
      right += all ? 1 : 0;
    });
  for (auto& each : threads) each.join();
  CHECK(right == 8);

  std::set<HANDLE> different;
  {
    std::deque<lent_event> held;
    for (int i = 0; i < 100; ++i) different.insert(held.emplace_back().get());
    CHECK(different.size() == 100);
    CHECK(different.count(nullptr) == 0);
  }
  const auto is_kept = [](HANDLE each) { return ::WaitForSingleObject(each, 0) != WAIT_FAILED; };
  CHECK(std::ranges::count_if(different, is_kept) == 64);
}

TEST_CASE("a blocking transfer fails if no event can be created, and the next one may succeed") {
  blocking_world w;
  {
    std::deque<lent_event> held;  // all that are available
    for (const unsigned before = shim::now.events_made; shim::now.events_made == before;) held.emplace_back();
    memory buffer(4096);
    shim::fail_next(shim::call::create_event, ERROR_NOT_ENOUGH_MEMORY);
    CHECK(w.data.read_at(0, buffer.all()).error() == std::errc::not_enough_memory);
    shim::fail_next(shim::call::create_event, ERROR_NOT_ENOUGH_MEMORY);
    CHECK(w.data.write_at(0, buffer.all()).error() == std::errc::not_enough_memory);
    CHECK(w.reads());
  }
  CHECK(w.reads());
}
