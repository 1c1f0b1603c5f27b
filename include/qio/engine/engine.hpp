// SPDX-License-Identifier: BSL-1.0
// What an engine is. Written before the engines, and kept true by a static_assert beside each.
#pragma once

#include <qio/engine/request.hpp>
#include <qio/explanation.hpp>
#include <qio/result.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>

namespace qio {

/// How a context is set up. Each engine takes what concerns it.
struct context_options {
  /// io_uring: entries of the submission queue, rounded up to a power of two and down to what the kernel allows. More
  /// operations than this may be in flight; they are handed to the kernel as places become free.
  unsigned queue_depth = 256;
  /// Threads for what blocks: all operations of the pool, and what a ring cannot do. Started when first needed.
  /// 0 chooses.
  unsigned workers = 0;
};

/// Until when an engine may wait: not at all, until a time, or for ever.
struct wait_limit {
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr wait_limit none() noexcept { return {time_point::min()}; }
  static constexpr wait_limit until(time_point time) noexcept { return {time}; }
  static constexpr wait_limit unlimited() noexcept { return {time_point::max()}; }

  constexpr bool may_wait() const noexcept { return time != time_point::min(); }
  constexpr bool is_unlimited() const noexcept { return time == time_point::max(); }

  time_point time;
};

/// An engine carries out requests.
///
/// All of it is called by one thread at a time, the context's, but for wake(). An engine never calls back: what is
/// over appears in the list that wait() fills, and the context resumes who waits for it. None of it throws, and after
/// create() none of it allocates.
///
/// - `create(options)`: an engine, or why there can be none here. The engine keeps its address for life.
/// - `submit(r)` takes `r` over. It cannot fail: what goes wrong is `r.failure` of the completed request. Each
///   submitted request is completed exactly once.
/// - `cancel(r)` asks for `r` to end early. `r` has been submitted, and has not been completed. It is a wish that is
///   never lost: `r` is completed with its real result, whether it was ended or not; bytes that were moved are counted.
/// - `wait(completed, limit)` appends what is over to `completed`. It hands to the system what was submitted, and waits
///   until there is something, the limit has come, or wake() was called; it may return early with nothing.
/// - `in_flight()`: requests submitted and not yet completed.
/// - `wake()`, from any thread: the present or the next waiting wait() returns soon.
/// - `explain(out)` adds the facts about this engine, "engine" first.
/// - destruction: with nothing in flight (the context cancels and drains before).
template <class Engine>
concept engine =
    std::destructible<Engine> && !std::movable<Engine> &&
    requires(Engine& self, const Engine& seen, request& r, completed_requests& completed, explanation& out) {
      { Engine::create(context_options{}) } -> std::same_as<result<std::unique_ptr<Engine>>>;
      { self.submit(r) } noexcept;
      { self.cancel(r) } noexcept;
      { self.wait(completed, wait_limit::none()) } noexcept;
      { seen.in_flight() } noexcept -> std::same_as<std::size_t>;
      { self.wake() } noexcept;
      { seen.explain(out) };
    };

namespace detail {

/// How every engine begins to hold a request …
inline void take_over(request& r) noexcept { ++r.activity->in_flight; }

/// … and ends to.
inline void complete(request& r, completed_requests& completed) noexcept {
  r.unlink();
  --r.activity->in_flight;
  completed.push(r);
}

}  // namespace detail
}  // namespace qio
