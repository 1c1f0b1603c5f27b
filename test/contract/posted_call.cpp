// Calls that other threads hand to a context.
#include "world.hpp"

#include <atomic>
#include <deque>
#include <optional>
#include <thread>

namespace contract {

namespace {

/// Counts its calls, and adds up what was written before each post.
struct counter {
  std::atomic<int> written = 0;
  int calls = 0;
  int seen = 0;
  qio::posted_call call{[this] {
    ++calls;
    seen = written.load(std::memory_order_relaxed);
  }};
};

}  // namespace

PROMISE(post_calls, each_engine, "post() has the callback called by the context, once, however often it is pending") {
  counter one;
  CHECK(w.context->post(one.call));
  CHECK(!w.context->post(one.call));
  CHECK(one.calls == 0);
  CHECK(w.context->poll());
  CHECK(one.calls == 1);
  CHECK(!w.context->poll());
  CHECK(w.context->post(one.call));
  CHECK(w.context->run_one());
  CHECK(one.calls == 2);
}

PROMISE(post_from_threads, each_engine, "the last call of a posted_call sees all that was written before its posts") {
  constexpr int threads = 4, posts = 5'000;
  counter all;
  std::deque<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&] {
      for (int each = 0; each < posts; ++each) {
        all.written.fetch_add(1, std::memory_order_relaxed);
        w.context->post(all.call);
      }
    });
  while (all.seen < threads * posts) w.context->poll();
  for (auto& each : running) each.join();
  w.context->poll();
  CHECK(all.seen == threads * posts);
  CHECK(all.calls <= threads * posts);
}

PROMISE(post_wakes, each_engine, "post() wakes a context that waits") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  counter one;
  w.context->poll();  // from now on, the context belongs to this thread
  for (int repeated = 1; repeated <= 200; ++repeated) {
    std::thread other([&] { w.context->post(one.call); });
    CHECK(w.context->run_one());
    other.join();
    CHECK(one.calls == repeated);
  }
}

PROMISE(post_again, each_engine, "a callback may post or destroy its own posted_call, or destroy others") {
  int calls = 0;
  std::optional<qio::posted_call> again;
  again.emplace([&] {
    if (++calls < 3) w.context->post(*again);
  });
  w.context->post(*again);
  while (w.context->poll()) {}
  CHECK(calls == 3);

  std::optional<qio::posted_call> other, own;
  other.emplace([&calls] { calls += 100; });
  own.emplace([&own, &other] {
    other.reset();
    own.reset();
  });
  w.context->post(*own);
  w.context->post(*other);
  w.context->poll();
  CHECK(!own);
  CHECK(calls == 3);
}

PROMISE(post_while_ending, each_engine, "what a callback posts while its context is destroyed is refused") {
  auto& context = *w.context;
  int calls = 0, posted = 0;
  std::optional<qio::posted_call> endless;
  endless.emplace([&] {
    ++calls;
    posted += context.post(*endless);
  });
  w.context->post(*endless);
  w.context->poll();
  CHECK(posted == 1);
  w.context.reset();
  CHECK(calls == 2);
  CHECK(posted == 1);
}

PROMISE(post_turns, each_engine, "callbacks that post and withdraw one another do not keep a turn from ending") {
  int calls = 0;
  std::optional<qio::posted_call> one, other;
  const auto again = [&](std::optional<qio::posted_call>& next) {
    if (++calls == 1000) return;
    qio::posted_call withdrawn([] {});
    w.context->post(withdrawn);
    w.context->post(*next);
  };
  one.emplace([&again, &other] { again(other); });
  other.emplace([&again, &one] { again(one); });
  w.context->post(*one);
  w.context->poll();
  CHECK(calls == 1);
  w.context->poll();
  CHECK(calls == 2);
}

PROMISE(post_withdrawn, each_engine, "a pending posted_call that is destroyed is not called") {
  counter kept;
  int calls = 0;
  {
    qio::posted_call gone([&calls] { ++calls; });
    w.context->post(gone);
    w.context->post(kept.call);
  }
  w.context->poll();
  CHECK(calls == 0);
  CHECK(kept.calls == 1);
}

PROMISE(post_and_end, each_engine, "a context that is destroyed calls what is pending") {
  counter one;
  w.context->post(one.call);
  w.context.reset();
  CHECK(one.calls == 1);
}

}  // namespace contract
