// SPDX-License-Identifier: BSL-1.0
// What an engine is. Written before the engines, and kept true by a static_assert beside each.
#pragma once

#include <qio/detail/clock.hpp>
#include <qio/engine/polling.hpp>
#include <qio/engine/request.hpp>
#include <qio/explanation.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace qio {

class simulated_disk;

/// How a context waits for the operations that a ring carries out. Waiting asleep costs the least. Waiting awake saves
/// the time of falling asleep and waking up, some 10 µs an operation, for a processor that is busy meanwhile: it is for
/// a thread that has a processor to itself. Where that processor is needed by others, it makes everything slower.
///
/// Nothing waits awake for long (0.2 ms, then it sleeps), nor while nothing is in the ring, nor for what kernel or
/// worker threads complete, which need a processor themselves: syncs, durable writes, opening, resizing.
enum class wait_policy : std::uint8_t {
  sleep,
  spin,  ///< awake
  /// Awake if the wait will be short (0.1 ms), judging by the last ones; asleep for the first part of it where that
  /// does not make it longer.
  adaptive,
};

constexpr std::string_view name_of(wait_policy policy) noexcept {
  switch (policy) {
    case wait_policy::sleep: return "sleep";
    case wait_policy::spin: return "spin";
    case wait_policy::adaptive: return "adaptive";
  }
  return {};
}

/// How a context is set up. Each engine takes what concerns it.
struct context_options {
  /// io_uring: entries of the submission queue, rounded up to a power of two and down to what the kernel allows. More
  /// operations than this may be in flight; they are handed to the kernel as places become free.
  unsigned queue_depth = 256;
  /// Threads for what blocks: all operations of the pool, and what a ring cannot do. Started when first needed.
  /// 0 chooses.
  unsigned workers = 0;
  /// io_uring only: how the transfers of direct files are waited for. Costs each open of one a ring of its own, for a
  /// moment, to find out whether its device can be polled.
  qio::polling polling = qio::polling::off;
  /// io_uring only: see wait_policy. context.waits() tells what came of it.
  wait_policy waiting = wait_policy::sleep;
  /// Bytes of context.registered_memory().
  std::size_t registered_bytes = 0;
  /// The simulated engine only (qio/engine/simulated.hpp): what it works on. Must outlive the context.
  simulated_disk* disk = nullptr;
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
/// - `find_polling(handle, alignment)`, from any thread, of an engine that can poll devices: which transfers of a
///   direct file it polls if the file's activity says so.
/// - `register_memory(memory)`, of an engine whose system can be told of memory beforehand: once, before anything is
///   submitted. The memory stays as long as the engine. Answers with nothing, or why that cannot be.
/// - `let_go(activity)`, of an engine that keeps something of a file besides its requests: before the file is closed,
///   when nothing of it is in flight.
/// - `end()`, of an engine that keeps something of the system's: its context has ended, and there will be nothing to
///   submit or to wait for any more; wake() may still be called. By whoever ends the context, another thread perhaps.
///   Files may be there longer, and keep the engine alive.
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

/// Binds a file that is being opened to the engine, where it has to be bound (`attach(handle)`, from any thread): on
/// Windows. Elsewhere there is nothing to be done.
template <engine Engine>
result<void> attach(Engine& engine, platform::native_handle handle) noexcept {
  if constexpr (requires { engine.attach(handle); })
    return engine.attach(handle);
  else
    return BOOST_OUTCOME_V2_NAMESPACE::success();
}

/// Tells the engine's system of memory that transfers will use. Empty, or why that cannot be.
template <engine Engine>
std::string register_memory(Engine& engine, std::span<std::byte> memory) {
  if constexpr (requires { engine.register_memory(memory); })
    return engine.register_memory(memory);
  else
    return "only a context over io_uring registers memory";
}

/// A file is about to be closed: has the engine let go of what it keeps of it.
template <engine Engine>
void let_go(Engine& engine, file_activity& file) noexcept {
  if constexpr (requires { engine.let_go(file); }) engine.let_go(file);
}

/// The context has ended.
template <engine Engine>
void end(Engine& engine) noexcept {
  if constexpr (requires { engine.end(); }) engine.end();
}

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
