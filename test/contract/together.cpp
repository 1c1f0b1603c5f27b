// Everything that crosses threads, at the same time.
#include "adopt.hpp"
#include "world.hpp"
#include <qio/any_file.hpp>
#include <qio/when_any.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace contract {

namespace {

using std::chrono::microseconds, std::chrono::milliseconds;

/// The stops that another thread may request now.
class stops {
 public:
  explicit stops(std::size_t places) : sources_(places) {}

  std::stop_token renew(std::size_t place) {
    const std::lock_guard lock(mutex_);
    sources_[place] = std::stop_source();
    return sources_[place].get_token();
  }
  void request(std::size_t place) {
    std::stop_source source;
    {
      const std::lock_guard lock(mutex_);
      source = sources_[place];
    }
    source.request_stop();
  }
  std::size_t size() const { return sources_.size(); }

 private:
  std::mutex mutex_;
  std::vector<std::stop_source> sources_;
};

/// A context and what belongs to its thread.
template <class World>
struct node {
  using context_type = typename World::context_type;
  using file_type = typename World::file;

  explicit node(World& w, file_type& first) : context(context_type::create().value()), file(of(w, first)) {}

  file_type of(World& w, file_type& first) {
    using same_mode = qio::basic_file<typename World::mode>;
    const std::string path = w.where / "data";
    if (os::binds_handles) return same_mode::open(context, path, access::read_write).value();
    return first.share_with(context).value();
  }

  context_type context;
  std::optional<qio::any_file<typename World::engine>> file;
  int calls = 0;
  int wrong = 0;
  qio::posted_call called{[this] { ++calls; }};
};

bool is_right(const qio::result<std::size_t>& moved, std::size_t bytes) {
  return moved ? moved.value() == bytes : moved.error() == std::errc::operation_canceled;
}

constexpr std::size_t loops = 4, rounds = 50;

template <class Node>
qio::task<bool> read(Node& own, std::uint64_t offset, std::stop_token stop) {
  memory block(4096);
  const auto moved = co_await own.file->async_read_at(offset, block.all(), {.stop = stop});
  const std::size_t bytes = moved ? moved.value() : moved.error().transferred();
  co_return is_right(moved, 4096) && holds_pattern(block.part(0, bytes), offset);
}

template <class Node>
qio::task<bool> nap(Node& own, std::stop_token stop) {
  const auto slept = co_await own.context.sleep_for(microseconds(100), stop);
  co_return slept || slept.error() == std::errc::operation_canceled;
}

template <class Node>
qio::task<void> work(Node& own, Node& next, stops& all, std::size_t place) {
  const std::uint64_t offset = place * 4096;
  auto source = memory::with_pattern(offset, 4096);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::stop_token stop = all.renew(place);
    const auto written = co_await own.file->async_write_at(offset, source.all(), {.stop = stop});
    own.wrong += !is_right(written, 4096);
    const auto first = co_await qio::when_any(
        stop, [&](std::stop_token both) { return read(own, offset, both); },
        [&](std::stop_token both) { return nap(own, both); });
    own.wrong += !(first.index() == 0 ? std::get<0>(first) : std::get<1>(first));
    next.context.post(next.called);
    if (round % 8 == 0) {
      const bool arrived = co_await next.context.schedule();  // `own` belongs to another thread now …
      const bool returned = co_await own.context.schedule();  // … and here again to this one
      own.wrong += !arrived + !returned;
    }
  }
}

/// Takes one handle from thread to thread: each adopts it, reads, and releases it. Where a context keeps its handles,
/// each opens one of its own.
template <class World, class Node>
qio::task<void> tour(World& w, std::deque<Node>& nodes) {
  using same_mode = qio::basic_file<typename World::mode>;
  auto handle = qio::platform::invalid_handle;
  for (std::size_t round = 0; round < rounds; ++round) {
    Node& here = nodes[round % nodes.size()];
    const std::uint64_t offset = round % loops * 4096;
    const bool arrived = co_await here.context.schedule();
    if (handle == qio::platform::invalid_handle) handle = os::open_raw(w.where / "data", suitable<World>());
    auto file = same_mode::adopt(here.context, std::exchange(handle, qio::platform::invalid_handle)).value();
    memory block(4096);
    const auto moved = co_await file.async_read_at(offset, block.all());
    here.wrong += !arrived || !moved || !holds_pattern(block.all(), offset);
    if (!os::binds_handles) handle = file.release().value();
  }
  if (handle != qio::platform::invalid_handle) os::close(handle);
}

/// One round of an event loop of the program's own, where the engine supports that.
template <class Node>
void one_round(Node& own) {
  const auto handle = own.context.wake_handle();
  if (!handle) return static_cast<void>(own.context.run_one());
  if (own.context.prepare_to_wait()) {
    const qio::deadline next = own.context.next_deadline();
    const auto left = next.exists() ? next.when() - std::chrono::steady_clock::now() : std::chrono::minutes(1);
    const auto limit = std::max(std::chrono::ceil<milliseconds>(left), milliseconds(0));
    own.wrong += !os::wait_until_ready(handle.value(), limit) && !next.exists();
  }
  own.context.poll();
}

template <class Node>
qio::task<void> finish(Node& own, qio::task_scope& scope) {
  co_await scope.join();
  const auto closed = co_await own.file->async_close();
  own.wrong += !closed;
}

}  // namespace

PROMISE(together, of_the_system, "threads share a file, post, sleep, stop one another and change contexts") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  constexpr std::size_t threads = 3;
  auto file = w.with(threads * loops * 4096);
  std::deque<node<world<Where>>> nodes;
  for (std::size_t i = 0; i < threads; ++i) nodes.emplace_back(w, file);
  REQUIRE(file.close());

  stops all(threads * loops);
  std::atomic<std::size_t> left = threads;
  std::stop_source finished;
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      auto& own = nodes[i];
      qio::task_scope scope(own.context);
      for (std::size_t loop = 0; loop < loops; ++loop)
        scope.spawn(work(own, nodes[(i + 1) % threads], all, i * loops + loop));
      if (i == 0) scope.spawn(tour(w, nodes));
      // One thread waits for each event, another in a loop of its own, and the third until all is done.
      while (i == 1 && !scope.is_empty()) own.context.run_one();
      while (i == 2 && !scope.is_empty()) one_round(own);
      own.context.run(finish(own, scope));
      if (--left == 0) finished.request_stop();
      own.context.run_until(finished.get_token());  // for the coroutines of others that visit
    });
  for (std::size_t place = 0; !finished.stop_requested(); place = (place + 5) % all.size()) {
    all.request(place);
    std::this_thread::sleep_for(microseconds(50));
  }
  for (auto& each : running) each.join();
  for (const auto& each : nodes) {
    CHECK(each.wrong == 0);
    CHECK(each.calls > 0);
    CHECK(each.calls <= static_cast<int>(loops * rounds));
  }
}

}  // namespace contract
