// SPDX-License-Identifier: BSL-1.0
// What readers and writers share: how far ahead a reader reads, which bytes of its blocks it hands out, the memory of
// blocks, and how an awaiter waits for them.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/loop.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/mode.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- How many blocks are in flight, and how long they are ---

/// Finds how much to read ahead, from how long the program had to wait for blocks. Without I/O, and without a clock of
/// its own.
///
/// What may be in flight is a list of levels, each twice the one below: twice the number of blocks, or twice their
/// length. (Short blocks cost more CPU time; few blocks keep fewer parts of the device busy.) While the program waits
/// for the device, it goes up from level to level, and measures how fast blocks come. Then it takes the lowest level
/// that was about as fast as the best one. It does that again later, because the device may have been busy with
/// something else.
class read_ahead {
 public:
  struct bounds {
    std::size_t smallest_block;  ///< bytes
    std::size_t largest_block;
    unsigned least_depth;  ///< blocks in flight
    unsigned most_depth;
    bool shrinks;  ///< whether less is in flight again when the program does not wait
  };

  explicit read_ahead(const bounds& within) noexcept {
    QIO_CHECK(within.smallest_block != 0 && within.smallest_block <= within.largest_block && within.least_depth != 0 &&
                  within.least_depth <= within.most_depth,
              "bug in qio: the bounds of a read-ahead exclude everything");
    shrinks_ = within.shrinks;
    levels_[0] = {within.smallest_block, within.least_depth, 0};
    for (count_ = 1; count_ < most_levels; ++count_) {
      const level& below = levels_[count_ - 1];
      const bool has_longer = 2 * below.block <= within.largest_block, has_more = below.depth < within.most_depth;
      if (!has_longer && !has_more) return;
      if (has_longer)
        levels_[count_] = {2 * below.block, below.depth, 0};
      else
        levels_[count_] = {below.block, lesser_of(2 * below.depth, within.most_depth), 0};
    }
  }

  std::size_t block_bytes() const noexcept { return levels_[now_].block; }
  unsigned depth() const noexcept { return levels_[now_].depth; }
  bool adapts() const noexcept { return count_ > 1; }

  /// Whether less cannot be in flight.
  bool is_lowest() const noexcept { return now_ == 0; }
  /// The program got a block for which nothing was read ahead.
  void pass_over() noexcept { skipped_ = greater_of(skipped_, std::size_t(1)); }
  /// The program got a block of `bytes` bytes at `now`, for which it waited for `waited`.
  void handed_out(std::size_t bytes, clock::duration waited, clock::time_point now) noexcept {
    if (skipped_ != 0) {  // it was started before the last change
      skipped_ -= lesser_of(skipped_, bytes);
      return begin_period(now);
    }
    bytes_ += bytes;
    waited_ += waited;
    if (bytes_ < (is_measuring_ ? 2u : 8u) * in_flight()) return;
    const auto took = static_cast<double>((now - begin_).count() + 1);
    judge(static_cast<double>(bytes_) / took, static_cast<double>(waited_.count()) > share_of_waiting * took);
    begin_period(now);
  }

 private:
  struct level {
    std::size_t block = 0;
    unsigned depth = 0;
    double rate = 0;  // in bytes for a tick of the clock, when it was last measured
  };

  static constexpr unsigned most_levels = 16;
  static constexpr double share_of_waiting = 1.0 / 16;  // of the time, from which on the device is what takes time
  static constexpr double as_fast = 0.98, much_slower = 0.7;
  static constexpr unsigned first_pause = 8, longest_pause = 64;

  std::size_t in_flight() const noexcept { return levels_[now_].block * levels_[now_].depth; }

  void begin_period(clock::time_point now) noexcept {
    begin_ = now;
    bytes_ = 0;
    waited_ = {};
  }

  void judge(double rate, bool has_waited) noexcept {
    if (is_measuring_) return measured(rate, has_waited);
    if (!has_waited) {
      if (shrinks_ && now_ != 0) change_to(now_ - 1);
      return;
    }
    if (pause_ != 0) {
      --pause_;
      return;
    }
    is_measuring_ = true;
    first_measured_ = now_ == 0 ? 0 : now_ - 1;
    change_to(first_measured_);
  }

  void measured(double rate, bool has_waited) noexcept {
    levels_[now_].rate = rate;
    double best = 0;
    for (unsigned each = first_measured_; each <= now_; ++each) best = greater_of(best, levels_[each].rate);
    if (has_waited && now_ + 1 < count_ && rate > much_slower * best) return change_to(now_ + 1);
    unsigned chosen = first_measured_;
    while (levels_[chosen].rate < as_fast * best) ++chosen;
    is_measuring_ = !has_waited && now_ == 0;  // it has not begun
    pause_ = next_pause_;
    next_pause_ = lesser_of(2 * next_pause_, longest_pause);
    change_to(chosen);
  }

  void change_to(unsigned other) noexcept {
    if (other == now_) return;
    skipped_ = in_flight();
    now_ = other;
  }

  level levels_[most_levels];
  unsigned count_ = 0;
  unsigned now_ = 0;
  bool shrinks_ = false;
  bool is_measuring_ = true;
  unsigned first_measured_ = 0;
  unsigned pause_ = 0;  // periods until it measures again
  unsigned next_pause_ = first_pause;
  std::size_t skipped_ = 1;    // bytes; the first block begins the first period
  clock::time_point begin_{};  // of this period, as what follows
  std::size_t bytes_ = 0;
  clock::duration waited_{};
};

// --- Which bytes of its blocks a reader hands out ---

/// The position of a reader, and what it has to answer next: bytes of a block, then perhaps an error, or the end.
class read_cursor {
 public:
  /// From `offset` up to `end`. Blocks begin at multiples of `unit`.
  read_cursor(std::uint64_t offset, std::uint64_t end, std::uint64_t unit) noexcept
      : position_(offset), end_(end), unit_(unit) {}

  /// The offset of the next byte that the program gets.
  std::uint64_t position() const noexcept { return position_ - rest_.size(); }
  std::uint64_t end() const noexcept { return end_; }
  std::uint64_t unit() const noexcept { return unit_; }

  /// Where the block begins that has the next byte.
  std::uint64_t begin_of_block() const noexcept { return position_ - position_ % unit_; }
  /// Where the block ends that begins at `from`: at a multiple of its length, or of the unit behind the end.
  std::uint64_t end_of_block(std::uint64_t from, std::size_t block_bytes) const noexcept {
    const std::uint64_t rest = end_ - end_ % unit_ + (end_ % unit_ == 0 ? 0 : unit_);
    return lesser_of(from - from % block_bytes + block_bytes, rest);
  }

  /// Whether it can answer without another block.
  bool has_answer() const noexcept { return has_bytes() || is_at_end_ || failure_.exists() || position_ >= end_; }
  bool has_bytes() const noexcept { return !rest_.empty(); }

  /// The next block has been read. False if it is the last one: the file ends in it, or reading failed.
  bool take(std::uint64_t offset, std::span<const std::byte> asked, const result<std::size_t>& answer) noexcept {
    QIO_CHECK(!has_answer() && offset <= position_, "bug in qio: a reader took a block that is not the next");
    const std::size_t got = answer ? answer.value() : static_cast<std::size_t>(answer.error().transferred());
    const std::uint64_t stop = lesser_of(offset + got, end_);
    if (stop > position_) {
      rest_ = asked.subspan(static_cast<std::size_t>(position_ - offset), static_cast<std::size_t>(stop - position_));
      position_ = stop;
    }
    if (!answer)
      failure_ = answer.error().after(0);
    else
      is_at_end_ = got < asked.size();
    return answer && !is_at_end_;
  }

  /// All bytes that are left, or the end (no bytes), or the error.
  result<std::span<const std::byte>> answer() noexcept {
    if (has_bytes()) return std::exchange(rest_, {});
    is_at_end_ = false;
    if (failure_.exists()) return std::exchange(failure_, {});
    return std::span<const std::byte>();
  }
  /// The program did not get the last `bytes` bytes after all.
  void go_back(std::uint64_t bytes) noexcept {
    position_ = position() - bytes;
    rest_ = {};
    failure_ = {};
    is_at_end_ = false;
  }
  /// Copies as many of the bytes as fit. Returns their number.
  std::size_t copy_to(std::span<std::byte> target) noexcept {
    const std::size_t bytes = lesser_of(target.size(), rest_.size());
    if (bytes != 0) std::memcpy(target.data(), rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
    return bytes;
  }

 private:
  std::uint64_t position_;  // behind rest_
  std::uint64_t end_;
  std::uint64_t unit_;
  std::span<const std::byte> rest_;
  error failure_;           // behind rest_
  bool is_at_end_ = false;  // the same
};

/// The result of read(), which had copied `copied` bytes before its end, or an error.
inline result<std::size_t> answer_of_read(std::size_t copied, const result<std::span<const std::byte>>& last) noexcept {
  if (last) return copied;
  return last.error().after(copied);
}

// --- The memory of blocks ---

struct block_plan {
  std::size_t bytes = 0;    ///< of a block; a multiple of `unit`
  unsigned count = 0;       ///< of blocks
  std::size_t unit = 1;     ///< what lengths must be multiples of
  std::size_t address = 1;  ///< the same of addresses
};

/// The length of a block, rounded up to a multiple of what the file needs.
inline std::size_t rounded_block(std::size_t bytes, std::size_t unit) noexcept {
  constexpr std::size_t most = max_transfer_bytes;
  const std::size_t limited = lesser_of(bytes, most);
  return lesser_of(limited + (unit - limited % unit) % unit, most - most % unit);
}

/// Owned memory of blocks, uninitialized.
class block_memory {
 public:
  /// With `in_huge_pages`, in those that the kernel has for it; all of each is then present from its first use on.
  static result<block_memory> allocate(const block_plan& plan, bool in_huge_pages = false) noexcept {
    const std::size_t address = greater_of(plan.address, default_buffer_alignment);
    if (plan.bytes > ~std::size_t(0) / 2 / plan.count) return error(std::make_error_code(std::errc::not_enough_memory));
    const std::size_t bytes = plan.bytes * plan.count;
    if (in_huge_pages && address == default_buffer_alignment) {  // the least of what the system maps
      const auto mapped = platform::reserve_memory(bytes, huge_pages::preferred);
      if (mapped) return block_memory(mapped.value());
    }
    auto allocated = aligned_buffer::allocate(bytes, address);
    if (!allocated) return allocated.error();
    return block_memory(std::move(allocated).value());
  }

  block_memory(block_memory&& other) noexcept
      : allocated_(std::move(other.allocated_)), mapped_(std::exchange(other.mapped_, {})) {}
  block_memory& operator=(block_memory&&) = delete;
  ~block_memory() { platform::unmap_memory(mapped_); }

  std::byte* data() noexcept { return allocated_ ? allocated_->data() : mapped_.data; }
  std::span<std::byte> view(std::size_t offset, std::size_t bytes) noexcept { return {data() + offset, bytes}; }

 private:
  explicit block_memory(aligned_buffer&& allocated) noexcept : allocated_(std::move(allocated)) {}
  explicit block_memory(const platform::memory_block& mapped) noexcept : mapped_(mapped) {}

  std::optional<aligned_buffer> allocated_;
  platform::memory_block mapped_;
};

// --- Waiting for blocks ---

/// What waits for a stream: one operation at a time. It lives in the frame of the coroutine.
struct stream_waiter {
  void (*go_on)(stream_waiter&) noexcept = nullptr;  ///< something has completed
  bool is_waiting = false;
};

/// Where the program waits for a stream's blocks, and for the next turn of the loop.
///
/// A ring is handed direct transfers four at a time, and the others when the loop waits. A program that works on its
/// block meanwhile would keep the device waiting for them. So nobody goes on while half of the transfers may be held
/// back, but only after the loop's next turn. So does who reads from the page cache and has used up the time that a
/// turn has for that.
template <class Loop>
class stream_gate final : posted, request {
 public:
  explicit stream_gate(Loop& on) noexcept : loop_(on) {}
  stream_gate(const stream_gate&) = delete;
  stream_gate& operator=(const stream_gate&) = delete;
  ~stream_gate() {
    if (waiter_ != nullptr) leave();
  }

  bool has_waiter() const noexcept { return waiter_ != nullptr; }

  /// One of `depth` transfers has been submitted.
  void note_submission(unsigned depth) noexcept {
    held_back_ = (held_back_ + 1) % handed_over_together;
    most_held_back_ = depth / 2;
  }
  /// None is in flight.
  void note_idle() noexcept { held_back_ = 0; }
  bool holds_back() const noexcept { return held_back_ != 0 && held_back_ >= most_held_back_ && !loop_.closed(); }

  /// Whether inline work should wait for the next turn. If so, the waiter is called in that turn. Never twice in a row.
  bool defers_inline_work() noexcept {
    if (std::exchange(has_had_turn_, false) || loop_.may_go_on() || loop_.closed()) return false;
    return wants_turn_ = true;
  }

  /// `waiter` waits for a block or, if it `has_all`, only for the loop.
  void enter(stream_waiter& waiter, bool has_all) noexcept {
    QIO_CHECK(waiter_ == nullptr && (!has_all || holds_back()),
              "bug in qio: two wait for a stream, or one for nothing");
    waiter_ = &waiter;
    waiter.is_waiting = true;
    waits_for_block_ = !has_all && !wants_turn_;
    entered_at_ = loop_.now();
    if (has_all || wants_turn_) take_turn();
  }
  void leave() noexcept {
    waiter_->is_waiting = false;
    waiter_ = nullptr;
    wants_turn_ = false;
    if (is_posted) loop_.withdraw(*this);
    if (std::exchange(is_due_, false)) loop_.abandon(static_cast<request&>(*this));
  }

  /// A transfer has completed. This may destroy the stream.
  void notify() noexcept {
    if (waiter_ != nullptr && !is_posted && !is_due_) waiter_->go_on(*waiter_);
  }

  /// The waiter does not have all that it waits for.
  void stay() noexcept {
    if (wants_turn_) take_turn();
  }

  /// The waiter has all that it waited for. Whether it may go on; otherwise it is called again.
  bool opens() noexcept {
    if (std::exchange(waits_for_block_, false)) {
      const clock::duration waited = loop_.now() - entered_at_;
      waited_ += waited;
      if (waited > always_a_turn) held_back_ = 0;
    }
    if (!holds_back()) return true;
    take_turn();
    return false;
  }

  /// For how long the program has waited for blocks since the last call.
  clock::duration take_waited() noexcept { return std::exchange(waited_, {}); }

 private:
  static constexpr unsigned handed_over_together = 4;
  // A longer wait was in the kernel, so all transfers have been submitted since.
  static constexpr clock::duration always_a_turn = std::chrono::microseconds(5);

  // In the next turn: what is posted runs before the loop hands over what was submitted, what is completed after that.
  void take_turn() noexcept {
    wants_turn_ = false;
    run = [](posted& node) noexcept {
      auto& gate = static_cast<stream_gate&>(node);
      gate.is_due_ = true;
      gate.loop_.complete_later(gate);
    };
    completed = [](request& self) noexcept {
      auto& gate = static_cast<stream_gate&>(self);
      gate.is_due_ = false;
      gate.has_had_turn_ = true;
      gate.held_back_ = 0;
      gate.waiter_->go_on(*gate.waiter_);
    };
    loop_.post_to_next_turn(*this);
  }

  Loop& loop_;
  stream_waiter* waiter_ = nullptr;
  unsigned held_back_ = 0;
  unsigned most_held_back_ = 0;
  bool waits_for_block_ = false;
  bool wants_turn_ = false;
  bool has_had_turn_ = false;
  bool is_due_ = false;  // in the loop's list of what has completed
  clock::time_point entered_at_{};
  clock::duration waited_{};
};

/// One operation of a stream, to be awaited once: `Work::step(state)` does what needs no waiting and returns whether
/// that is all; `Work::answer(state)` is the result. Immovable; allocates nothing. Destroying it ends only the wait,
/// and calls `Work::abandon(state)` if there is one.
template <class State, class Work>
class [[nodiscard]] stream_operation final : stream_waiter {
 public:
  using result_type = typename Work::result_type;

  /// A null `state` is that of a stream that was moved from.
  stream_operation(State* state, const Work& work) noexcept : state_(state), work_(work) {}
  stream_operation(const stream_operation&) = delete;
  stream_operation& operator=(const stream_operation&) = delete;
  ~stream_operation() {
    if (!is_waiting) return;
    state_->gate().leave();
    if constexpr (requires { work_.abandon(*state_); }) work_.abandon(*state_);
  }

  bool await_ready(caller from = caller::here()) noexcept {
    if (state_ == nullptr) return true;
    state_->loop_of().require_own_thread("a reader or writer was used by another thread than its context's", from);
    QIO_CHECK_AT(!state_->gate().has_waiter(),
                 "a reader or writer was used while an operation of it was awaited: one at a time", from);
    if (!state_->loop_of().closed())
      state_->loop_of().require_running(
          "a reader or writer was awaited inside another context's run(), and nothing runs its own context meanwhile: "
          "run that on a thread of its own, and co_await its schedule() first",
          from);
    has_all_ = work_.step(*state_);
    return has_all_ && !state_->gate().holds_back();
  }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    waiting_ = waiting;
    go_on = [](stream_waiter& self) noexcept { static_cast<stream_operation&>(self).step(); };
    state_->gate().enter(*this, has_all_);
  }
  result_type await_resume() noexcept {
    if (state_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    return work_.answer(*state_);
  }

 private:
  void step() noexcept {
    has_all_ = has_all_ || work_.step(*state_);
    if (!has_all_) return state_->gate().stay();
    if (!state_->gate().opens()) return;
    state_->gate().leave();
    waiting_.resume();
  }

  State* state_;
  Work work_;
  std::coroutine_handle<> waiting_;
  bool has_all_ = false;
};

/// How many operations of a file were served inline so far.
template <class File>
std::uint64_t served_inline(const File& by) noexcept {
  return by.is_open() ? by.statistics().served_inline : 0;
}

}  // namespace detail
QIO_END_NAMESPACE
