// Timers and intrusive lists, against the standard library's containers.
#include "catch.hpp"
#include <qio/base/intrusive.hpp>
#include <qio/loop/loop.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

TEST_CASE("timers agree with a multiset through 20 000 random insertions and removals") {
  using time = std::chrono::steady_clock::time_point;
  for (const unsigned seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<qio::detail::timer> nodes(500);
    std::vector<bool> in(nodes.size());
    qio::detail::timers heap;
    std::multiset<time> model;
    bool agree = true;
    const auto remove = [&](std::size_t index) {
      model.erase(model.find(nodes[index].when));
      heap.remove(nodes[index]);
      in[index] = false;
    };
    for (int step = 0; step < 20'000; ++step) {
      const std::size_t index = random() % nodes.size();
      if (in[index]) {
        remove(index);
      } else {
        nodes[index].when = time(std::chrono::nanoseconds(random() % 300));  // some of them equal
        heap.insert(nodes[index]);
        model.insert(nodes[index].when);
        in[index] = true;
      }
      if (random() % 4 == 0 && !model.empty()) {
        const auto* earliest = heap.earliest();
        remove(static_cast<std::size_t>(earliest - nodes.data()));
      }
      agree = agree && heap.empty() == model.empty();
      if (!model.empty()) agree = agree && heap.earliest()->when == *model.begin();
    }
    CHECK(agree);
    while (agree && !model.empty()) {
      agree = heap.earliest()->when == *model.begin();
      remove(static_cast<std::size_t>(heap.earliest() - nodes.data()));
    }
    CHECK(agree);
    CHECK(heap.empty());
  }
}

namespace {

struct element {
  int number = 0;
  element* next = nullptr;
  element* previous = nullptr;
};

}  // namespace

TEST_CASE("a queue agrees with a deque through random pushes, pops and removals") {
  std::mt19937 random(7);
  std::array<element, 50> elements{};
  qio::detail::queue<element> queue;
  std::deque<element*> model;
  bool agree = true;
  for (int step = 0; step < 20'000; ++step) {
    element& each = elements[random() % elements.size()];
    const auto found = std::find(model.begin(), model.end(), &each);
    if (found == model.end()) {
      queue.push(each);
      model.push_back(&each);
    } else if (random() % 2 == 0) {
      queue.remove(each);
      model.erase(found);
    } else {
      agree = agree && queue.pop() == model.front();
      model.pop_front();
    }
    agree = agree && queue.empty() == model.empty();
  }
  CHECK(agree);
  while (!model.empty()) {
    CHECK(queue.pop() == model.front());
    model.pop_front();
  }
  CHECK(queue.pop() == nullptr);
}

TEST_CASE("arrivals keep the order of each thread, arrive once each, and the first one is reported") {
  constexpr int threads = 4, each_thread = 5000;
  std::vector<element> elements(threads * each_thread);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i].number = static_cast<int>(i);
  qio::detail::arrivals<element> arrivals;
  std::vector<std::thread> givers;
  for (int t = 0; t < threads; ++t)
    givers.emplace_back([&, t] {
      for (int i = 0; i < each_thread; ++i)
        arrivals.push(elements[static_cast<std::size_t>(t) * each_thread + static_cast<std::size_t>(i)]);
    });
  std::array<int, threads> last;
  last.fill(-1);
  int taken = 0;
  bool in_order = true;
  while (taken < threads * each_thread) {
    qio::detail::queue<element> batch;
    arrivals.take(batch);
    for (element* one = batch.pop(); one != nullptr; one = batch.pop(), ++taken) {
      int& before = last[static_cast<std::size_t>(one->number / each_thread)];
      in_order = in_order && one->number % each_thread == before + 1;
      before = one->number % each_thread;
    }
  }
  for (auto& each : givers) each.join();
  CHECK(in_order);
  CHECK(arrivals.empty());

  CHECK(arrivals.push(elements[0]));
  CHECK(!arrivals.push(elements[1]));
  qio::detail::queue<element> rest;
  arrivals.take(rest);
  CHECK(arrivals.push(elements[2]));
}
