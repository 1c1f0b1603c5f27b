// SPDX-License-Identifier: BSL-1.0
// Background reads and writes that leave the device to the foreground. An opt-in header.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/latency_bins.hpp>
#include <qio/configuration.hpp>
#include <qio/explanation.hpp>
#include <qio/io_class.hpp>
#include <qio/loop/loop.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/request/request.hpp>
#include <qio/request/scheduling.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

/// How an io_scheduler weighs the foreground against the background.
struct io_scheduler_options {
  /// What 99 of 100 foreground operations should take at most, from submission to completion. Zero: a multiple of what
  /// they take without background, which the scheduler measures.
  std::chrono::nanoseconds latency_goal{};
  /// That multiple. Measured apart for reads, writes that are not durable, and what waits until data is durable, in
  /// short pauses of the background; a foreground that is alone for long may take up to twice as long as in these.
  double latency_factor = 4;
  /// The longest background transfer while there is a foreground, in bytes, or a quarter of the window if that is more;
  /// longer ones are split. Rounded down to a power of two, and at least 4 KiB. For direct files, it must be a multiple
  /// of their alignment. The window begins with it.
  std::size_t largest_part = 128 * 1024;
  /// For how long after its last operation there is a foreground.
  std::chrono::nanoseconds foreground_lasts = std::chrono::milliseconds(50);
};

/// A class of background operations.
struct io_class_options {
  std::string name = "background";  ///< for context.explain()
  /// Classes that have something to do get throughput in proportion to their shares. The foreground has 1000: where
  /// its goal cannot be kept, the background occupies the device for shares / (1000 + shares) of the time, by the
  /// smallest transfers there are. From 1 to 10,000; what is less or more counts as these.
  unsigned shares = 100;
  std::uint64_t bytes_per_second = 0;       ///< a limit, even if there is no foreground; 0: none
  std::uint64_t operations_per_second = 0;  ///< the same for reads and writes, each counted once
};

/// Counts of a background class: see io_scheduler::statistics().
struct io_class_statistics {
  std::uint64_t operations = 0;             ///< that have had their turn, at least once
  std::uint64_t parts = 0;                  ///< transfers that were made of them: more, if long ones were split
  std::uint64_t bytes = 0;                  ///< that these were to move
  std::uint64_t waiting = 0;                ///< operations that wait now, before their first part or between two
  std::uint64_t in_device = 0;              ///< parts that the system has now
  std::chrono::nanoseconds longest_wait{};  ///< of an operation, until its first part has had its turn
};

/// The state of a scheduler: see io_scheduler::statistics().
struct io_scheduler_statistics {
  /// The bytes of background transfers that may be in the device at a time while there is a foreground. Less than
  /// 16 KiB: one transfer of that size, and pauses.
  std::uint64_t window = 0;
  std::uint64_t most_in_device = 0;  ///< most bytes that were, while there was a foreground
  std::uint64_t foreground = 0;      ///< foreground operations that have ended
  /// How many foreground operations took longer than the goal while there was a background, also of those that were
  /// canceled or timed out.
  std::uint64_t foreground_late = 0;
  std::chrono::nanoseconds read_alone{};     ///< 99th percentile of foreground reads without a background; 0: unknown
  std::chrono::nanoseconds write_alone{};    ///< the same of writes that are not durable
  std::chrono::nanoseconds durable_alone{};  ///< the same of durable writes and syncs
};

namespace detail {

/// Counts durations, of which the older ones count less.
class fading_histogram {
 public:
  void add(clock::duration took) noexcept {
    if (total_ >= most) fade();
    ++bins_[latency_bins::index_of(static_cast<std::uint64_t>(greater_of<clock::rep>(took.count(), 0)))];
    ++total_;
  }

  /// The lower end of the bin that has the percentile. 0 if there are too few durations.
  clock::duration percentile_99() const noexcept {
    if (total_ < least) return clock::duration::zero();
    std::uint32_t above = total_ / 100;
    std::size_t bin = bins_.size();
    while (bin > 1 && bins_[--bin] <= above) above -= bins_[bin];
    return clock::duration(static_cast<clock::rep>(latency_bins::lower_end(bin)));
  }

 private:
  static constexpr std::uint32_t least = 50, most = 4096;

  void fade() noexcept {
    total_ = 0;
    for (std::uint32_t& each : bins_) total_ += each /= 2;
  }

  std::array<std::uint32_t, latency_bins::count> bins_{};
  std::uint32_t total_ = 0;
};

}  // namespace detail

/// Lets the background have the device while the foreground's latency allows it. Give contexts one of its classes:
///
///     qio::io_scheduler scheduler;                                    // for one device
///     const qio::io_class compaction = scheduler.make_class({.name = "compaction"});
///     auto context = qio::context::create({.io_class = scheduler.foreground()}).value();
///     auto table = qio::direct_file::open(context, path, qio::access::write, qio::creation::always_new,
///                                         {.io_class = compaction}).value();
///     co_await file.async_read_at(offset, buffer, {.io_class = compaction});     // or one operation
///
/// Asynchronous reads and writes of background classes wait in the context. While there is a foreground (one of its
/// operations is in flight, or was in the last 50 ms), they are split into parts of at most 128 KiB, and at most
/// `window` bytes of these are with the system. Every 128 foreground operations or 50 ms, the window grows by 15% (by
/// half, until it has been too large once) if at most one in a hundred of them took longer than the goal, and else
/// shrinks by a quarter. Below 16 KiB, the background makes transfers of that size with pauses. Without a latency_goal,
/// it pauses for 25 ms every 500 ms, so that the scheduler sees what the foreground takes alone (for up to 225 ms every
/// 4.5 s, if that takes longer). Without a foreground, parts are of 1 MiB, and up to 8 MiB are with the system.
///
/// A write is not split if it is durable or untorn; syncs and other operations are not scheduled. A file of a
/// background class writes nothing inline. A part that the system has got is not taken back for the foreground's sake:
/// choose direct or uncached files, because what is written to the page cache reaches the device when the kernel likes.
/// Cancellation, deadlines, results and errors are as without a scheduler. Parts of one operation follow each other.
///
/// Any thread may use it. It must outlive the contexts that were created with its classes, and the files that were
/// opened on them. These should use one device: a scheduler for each. Background transfers of a context that is not run
/// for 20 ms do not count as in flight. Classes and contexts allocate memory when they are made; operations do not.
class io_scheduler final : detail::request_scheduler {
 public:
  /// How many classes it may have, besides the foreground.
  static constexpr std::size_t most_classes = 16;

  /// With the foreground as its only class. Allocates.
  explicit io_scheduler(const io_scheduler_options& options = {})
      : options_(options),
        largest_part_(static_cast<double>(std::bit_floor(detail::greater_of<std::size_t>(options.largest_part, 4096)))),
        window_(detail::lesser_of(largest_part_, largest_window)) {
    classes_.reserve(most_classes);  // so that they stay where they are
  }
  io_scheduler(const io_scheduler&) = delete;
  io_scheduler& operator=(const io_scheduler&) = delete;
  ~io_scheduler() {
    QIO_REQUIRE_AT(attached_.empty(),
                   "an io_scheduler was destroyed before a context that uses it, or before a file of one",
                   detail::caller());
  }

  /// The class of what is to go to the system at once.
  io_class foreground() noexcept { return {*this, io_class::foreground}; }

  /// A background class. At most 16: one more is a failed precondition.
  io_class make_class(const io_class_options& options = {},
                      [[maybe_unused]] detail::caller from = detail::caller::here()) {
    const std::lock_guard lock(mutex_);
    QIO_REQUIRE_AT(classes_.size() < most_classes, "an io_scheduler was asked for more than 16 classes", from);
    background& made = classes_.emplace_back();
    made.options = options;
    made.options.shares = detail::greater_of(1u, detail::lesser_of(options.shares, 10'000u));
    shares_ += made.options.shares;
    return {*this, static_cast<std::uint8_t>(io_class::foreground + classes_.size())};
  }

  /// The counts of a background class of this scheduler. Any other class has none.
  io_class_statistics statistics(const io_class& of) const {
    const std::lock_guard lock(mutex_);
    if (of.scheduler() != this || of.is_foreground()) return {};
    return classes_[index_of(of.number())].statistics;
  }
  /// The scheduler's own state.
  io_scheduler_statistics statistics() const {
    const std::lock_guard lock(mutex_);
    io_scheduler_statistics found = totals_;
    found.foreground = foreground_ended_.load(std::memory_order_relaxed);
    found.window = static_cast<std::uint64_t>(window_);
    found.read_alone = kinds_[0].alone.percentile_99();
    found.write_alone = kinds_[1].alone.percentile_99();
    found.durable_alone = kinds_[2].alone.percentile_99();
    return found;
  }

 private:
  using clock = detail::clock;
  class queues;

  static constexpr double kib = 1024;
  static constexpr double largest_window = 4096 * kib;
  static constexpr std::size_t part_alone = 1024 * 1024, most_alone = 8 * part_alone;  // without a foreground
  static constexpr std::uint32_t most_parts = 64;
  static constexpr clock::duration pause = std::chrono::milliseconds(25), longest_pause = 8 * pause;
  static constexpr int pauses_one_in = 20;
  static constexpr clock::duration asks_every = std::chrono::milliseconds(10), absent_after = 2 * asks_every;

  struct background {
    io_class_options options;
    io_class_statistics statistics;
    double virtual_time = 0;              // what it has moved, over its shares
    double bytes_left = 0, ops_left = 0;  // of its limits
    clock::time_point refilled_at{};
  };
  // Reads, writes, and what waits for durability.
  struct kind {
    detail::fading_histogram alone;
    std::uint32_t beside = 0, late = 0;       // since the window was judged: beside the background; of these, too long
    clock::time_point seen_at{}, alone_at{};  // the last time that any of them was seen, and one that was alone
    bool is_awaited = false;                  // some were there before the last pause
  };
  struct sample {
    std::uint8_t kind;
    bool is_alone, has_ended_early;
    clock::duration took;
  };
  struct grant {
    std::size_t bytes = 0;  // 0: none
    std::size_t of = 0;     // the class
  };

  static std::size_t index_of(std::uint8_t number) noexcept { return number - io_class::foreground - 1u; }

  std::unique_ptr<detail::request_queues> attach(detail::scheduled_loop& loop, detail::mailbox& posts) override;
  void explain(explanation& out) const;

  // --- the foreground ---

  // One more or one less is in flight.
  void note_foreground(int change, clock::time_point now) noexcept {
    foreground_in_flight_.fetch_add(change, std::memory_order_relaxed);
    if (change < 0) foreground_ended_.fetch_add(1, std::memory_order_relaxed);
    last_foreground_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  bool has_foreground(clock::time_point now) const noexcept {
    if (foreground_in_flight_.load(std::memory_order_relaxed) != 0) return true;
    const clock::duration last(last_foreground_.load(std::memory_order_relaxed));
    return last != clock::duration::zero() && now.time_since_epoch() - last < options_.foreground_lasts;
  }
  /// Whether an operation that began then, and has just ended, had the device to itself.
  bool was_alone(clock::time_point since) const noexcept {
    return since.time_since_epoch().count() >= free_since_.load(std::memory_order_relaxed);
  }

  // --- under the lock ---

  clock::duration goal_of(const kind& of) const noexcept {
    if (options_.latency_goal.count() != 0) return options_.latency_goal;
    const auto alone = static_cast<double>(of.alone.percentile_99().count());
    return clock::duration(static_cast<clock::rep>(detail::lesser_of(alone * options_.latency_factor, 1e18)));
  }

  void judge(const std::vector<sample>& samples, clock::time_point now) noexcept {
    for (const sample& each : samples) {
      kind& of = kinds_[each.kind];
      of.seen_at = now;
      if (each.is_alone) {
        of.alone.add(each.took);
        of.alone_at = now;
      } else if (const auto goal = goal_of(of); goal.count() != 0 && (!each.has_ended_early || each.took > goal)) {
        ++of.beside;
        of.late += each.took > goal;
        totals_.foreground_late += each.took > goal;
      }
    }
    std::uint32_t most = 0;
    for (const kind& each : kinds_) most = detail::greater_of(most, each.beside);
    if (most < 128 && (most < 32 || now - judged_at_ < std::chrono::milliseconds(50))) return;
    bool is_late = false;
    for (kind& each : kinds_) {
      is_late = is_late || (each.beside >= 32 && each.late * 100 > each.beside);
      if (each.beside >= 32) each.beside = each.late = 0;
    }
    if (is_late)
      window_ *= 0.75;
    else if (was_limited_)
      window_ *= has_been_late_ ? 1.15 : 1.5;
    has_been_late_ = has_been_late_ || is_late;
    const double least = smallest_part_ * shares_ / (1000 + shares_);
    window_ = window_ < least ? least : window_ > largest_window ? largest_window : window_;
    was_limited_ = false;
    judged_at_ = now;
  }

  void refill(background& of, clock::time_point now) noexcept {
    const double seconds = std::chrono::duration<double>(now - of.refilled_at).count();
    const auto filled = [&](double left, std::uint64_t rate) {
      const auto per_second = static_cast<double>(rate);
      return detail::lesser_of(left + seconds * per_second, per_second / 10);
    };
    of.bytes_left = filled(of.bytes_left, of.options.bytes_per_second);
    of.ops_left = filled(of.ops_left, of.options.operations_per_second);
    of.refilled_at = now;
  }
  // When a class may go on, by its limits.
  static clock::duration until_allowed(const background& of) noexcept {
    const auto wait = [](double left, std::uint64_t rate) {
      return rate == 0 || left >= 0 ? 0.0 : -left / static_cast<double>(rate);
    };
    const double seconds = detail::greater_of(wait(of.bytes_left, of.options.bytes_per_second),
                                              wait(of.ops_left, of.options.operations_per_second));
    // After an hour at the latest, it is asked again: so no limit is too small for a clock.
    return std::chrono::duration_cast<clock::duration>(
        std::chrono::duration<double>(detail::lesser_of(seconds, 3600.0)));
  }

  std::size_t part_now(clock::time_point now, const background& of) const noexcept {
    std::size_t part = part_alone;
    if (has_foreground(now)) {
      const double most = detail::greater_of(largest_part_, window_ / 4);
      const double within = detail::greater_of(smallest_part_, detail::lesser_of(window_, most));
      part = std::bit_floor(static_cast<std::size_t>(within));
    }
    if (of.options.bytes_per_second == 0) return part;
    const std::uint64_t paced = std::bit_floor(of.options.bytes_per_second / 32 | 1);
    return detail::lesser_of<std::uint64_t>(
        part, detail::greater_of<std::uint64_t>(paced, static_cast<std::uint64_t>(smallest_part_)));
  }

  // Begins a pause now and then, in which the foreground is alone. It takes longer if no operation of one of its kinds
  // has begun and ended in it, up to a limit; but it always takes the same part of the time.
  void measure_alone(clock::time_point now) noexcept {
    if (now < alone_until_) return;
    if (is_one_missing() && now - alone_since_ < longest_pause) {
      alone_until_ = now + pause;
    } else if (const auto between = (alone_until_ - alone_since_) * pauses_one_in;
               now - all_alone_at() > between && now - alone_since_ > between) {
      for (kind& each : kinds_) each.is_awaited = each.seen_at > alone_since_;
      alone_since_ = now;
      alone_until_ = now + pause;
    }
  }
  // Whether the last pause has not shown all that it was made for.
  bool is_one_missing() const noexcept {
    bool has_seen_any = false;
    for (const kind& each : kinds_) {
      const bool was_alone = each.alone_at >= alone_since_;
      if (each.is_awaited && !was_alone) return true;
      has_seen_any = has_seen_any || was_alone;
    }
    return !has_seen_any;
  }
  // Of the kinds of operations that the foreground has now: when the one was alone that has not been for longest.
  clock::time_point all_alone_at() const noexcept {
    clock::time_point first = (clock::time_point::max)();
    for (const kind& each : kinds_)
      if (each.seen_at > alone_since_) first = detail::lesser_of(first, each.alone_at);
    return first == (clock::time_point::max)() ? clock::time_point() : first;
  }

  // Whether the system may have a part of `part` bytes. Otherwise `again` is when to ask, if time decides it.
  bool has_room(std::size_t part, clock::time_point now, clock::time_point& again) noexcept {
    const bool competes = has_foreground(now);
    if (competes && options_.latency_goal.count() == 0) measure_alone(now);
    if (const auto until = detail::greater_of(paused_until_, alone_until_); competes && now < until) {
      was_limited_ = was_limited_ || window_ < smallest_part_;
      again = detail::lesser_of(again, until);
      return false;
    }
    if (in_device_.parts == 0) return true;
    const std::size_t limit = competes ? static_cast<std::size_t>(window_) : most_alone;
    const bool fits = in_device_.parts < most_parts && in_device_.bytes + part <= limit;
    if (!fits && competes) was_limited_ = true;
    return fits;
  }

  // Grants parts to loops until there is no room. `again` is when to ask again, if time decides it.
  void distribute(queues& self, clock::time_point now, clock::time_point& again) noexcept;
  // The class whose turn it is, among those that loops want and that their limits allow.
  background* next_class(clock::time_point now, clock::time_point& again) noexcept;

  // What the device has, or is about to get, of a loop.
  struct share {
    std::uint32_t parts = 0;
    std::size_t bytes = 0;
  };
  void add(const share& more) noexcept {
    if (more.parts == 0) return;
    in_device_.parts += more.parts;
    in_device_.bytes += more.bytes;
    free_since_.store((std::numeric_limits<clock::rep>::max)(), std::memory_order_relaxed);
  }
  void subtract(const share& gone, clock::time_point now) noexcept {
    in_device_.parts -= gone.parts;
    in_device_.bytes -= gone.bytes;
    if (in_device_.parts == 0) free_since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  // Count a part of a loop that is not absent.
  void occupy(queues& by, std::size_t bytes) noexcept;
  void vacate(queues& by, std::size_t bytes, clock::time_point now) noexcept;
  // The loop runs: its parts count.
  void find_here(queues& loop, clock::time_point now) noexcept;
  // The parts of loops that have not run for a while count no longer.
  void find_absent(clock::time_point now) noexcept;

  // A part has ended that took so long.
  void release(std::size_t of, clock::duration took, clock::time_point now) noexcept {
    --classes_[of].statistics.in_device;
    if (window_ >= smallest_part_ || !has_foreground(now)) return;
    const auto rest = static_cast<clock::rep>(static_cast<double>(took.count()) * (smallest_part_ / window_ - 1));
    paused_until_ = detail::greater_of(paused_until_, now + clock::duration(rest));
  }
  // A part of a class is about to be submitted: `bytes`, of what was granted.
  void use(const grant& granted, std::size_t bytes, bool is_first, bool is_last, clock::duration waited,
           clock::time_point now) noexcept {
    background& of = classes_[granted.of];
    io_class_statistics& counts = of.statistics;
    ++counts.parts;
    ++counts.in_device;
    counts.bytes += bytes;
    of.virtual_time += (static_cast<double>(bytes) + smallest_part_) / of.options.shares;
    of.bytes_left -= static_cast<double>(bytes);
    if (is_first) {
      ++counts.operations;
      of.ops_left -= 1;
      if (waited > counts.longest_wait) counts.longest_wait = waited;
    }
    if (!has_foreground(now)) return;
    // The next part of the same operation waits for this one, even if it would fit beside it.
    if (!is_last && static_cast<double>(in_device_.bytes + granted.bytes) > window_) was_limited_ = true;
    if (in_device_.bytes > totals_.most_in_device) totals_.most_in_device = in_device_.bytes;
  }

  const io_scheduler_options options_;
  const double largest_part_;
  const double smallest_part_ = detail::lesser_of(largest_part_, 16 * kib);
  mutable std::mutex mutex_;
  std::vector<background> classes_;
  unsigned shares_ = 0;  // of all classes
  std::vector<queues*> attached_;
  std::size_t turn_ = 0;  // of attached_: who was served last
  kind kinds_[3];
  io_scheduler_statistics totals_;
  double window_;
  bool was_limited_ = false;    // by the window, since that was judged
  bool has_been_late_ = false;  // the window has shrunk before, so its right size is near
  double virtual_time_ = 0;     // of the class that was served last
  share in_device_;             // of all loops that are not absent
  clock::time_point judged_at_{}, paused_until_{};
  clock::time_point alone_since_{}, alone_until_{};  // the last pause in which the foreground was to be alone
  std::atomic<int> foreground_in_flight_ = 0;
  std::atomic<std::uint64_t> foreground_ended_ = 0;
  std::atomic<clock::rep> last_foreground_ = 0, free_since_ = 0;
};

/// The background requests of one loop.
class io_scheduler::queues final : public detail::request_queues, detail::posted, detail::timer {
 public:
  queues(io_scheduler& owner, detail::scheduled_loop& loop, detail::mailbox& posts)
      : owner_(owner), loop_(loop), posts_(posts), slots_(std::make_unique<slot[]>(most_parts)) {
    samples_.reserve(most_samples);
    ended_.reserve(most_parts);
    run = [](posted& node) noexcept { static_cast<queues&>(node).issue(); };
    expired = [](timer& node) noexcept {
      auto& self = static_cast<queues&>(node);
      self.issue(self.loop_.now());
      return false;
    };
    const std::lock_guard lock(owner_.mutex_);
    owner_.attached_.push_back(this);
  }
  queues(const queues&) = delete;
  queues& operator=(const queues&) = delete;
  ~queues() override {
    const std::lock_guard lock(owner_.mutex_);
    owner_.judge(samples_, owner_.judged_at_);
    std::erase(owner_.attached_, this);
    if (!is_absent_) owner_.subtract(own_, owner_.judged_at_);  // a part that was granted
    if (is_posted) posts_.withdraw(*this);
    if (is_armed) loop_.disarm(*this);
  }

  bool takes(request& r) noexcept override {
    const std::uint8_t number = class_of(r);
    if (is_foreground(r, number)) owner_.note_foreground(+1, started(r));
    if (number <= io_class::foreground || r.op > opcode::write) return false;
    r.class_number = number;
    wait(r);
    issue(started(r));
    return true;
  }

  bool ended(request& r, clock::time_point now) noexcept override {
    if (r.class_number == io_class::part) {
      end_part(static_cast<slot&>(r), now);
      return true;
    }
    if (!is_foreground(r, class_of(r))) return false;
    owner_.note_foreground(-1, now);
    const bool is_alone = owner_.was_alone(started(r)), has_ended_early = r.failed();
    if (has_ended_early && (is_alone || !r.cancel_requested)) return false;
    if (samples_.empty()) sampled_at_ = now;
    if (samples_.size() == most_samples) judge(now);
    const std::uint8_t kind = r.op == opcode::read ? 0 : r.op == opcode::write && !r.is_durable_write() ? 1 : 2;
    samples_.push_back({kind, is_alone, has_ended_early, now - started(r)});
    return false;
  }

  void go_on(clock::time_point now) noexcept override {
    if (!samples_.empty() && now - sampled_at_ > std::chrono::milliseconds(2)) judge(now);
    if (!ended_.empty() || wants_ != 0) issue(now);
  }

  void cancel(request& r) noexcept override {
    r.cancel_requested = true;
    if (!r.queued) return loop_.cancel_part(part_of(r));
    leave_queue(r);
    r.fail_as_canceled();
    const clock::time_point now = loop_.now();
    finish(r, now);
    if (wants_ == 0 && parts_ == 0) set_timer((clock::time_point::max)());
    const std::lock_guard lock(owner_.mutex_);
    owner_.find_here(*this, now);
    publish();
  }

  void note_cancellation(request& part) noexcept override { static_cast<slot&>(part).whole->cancel_requested = true; }

  void explain(explanation& out) const override { owner_.explain(out); }

 private:
  friend io_scheduler;

  // A part of a request, as an engine sees it.
  struct slot : request {
    request* whole = nullptr;  // null if it is free
    std::size_t of = 0;        // the class
  };
  // A slot whose part has ended. It becomes free when the loop has forgotten it.
  struct ended_part {
    slot* from;
    std::size_t bytes;
  };
  static constexpr std::size_t most_samples = 32;

  static clock::time_point started(const request& r) noexcept {
    return clock::time_point(clock::duration(r.started_at));
  }
  static std::uint8_t class_of(const request& r) noexcept {
    return r.class_number != io_class::none ? r.class_number : r.activity->class_number;
  }
  static bool is_foreground(const request& r, std::uint8_t number) noexcept {
    return number == io_class::foreground && r.op <= opcode::sync;
  }
  static std::uint32_t microseconds(clock::duration time) noexcept {
    return static_cast<std::uint32_t>(time / std::chrono::microseconds(1));
  }

  // --- waiting ---

  void wait(request& r) noexcept {
    const std::size_t of = index_of(r.class_number);
    r.activity->waiting.insert(r);
    // In the order in which they were started. Most are the last; one that has begun is behind those that began before.
    request* behind = nullptr;
    if (r.io.transferred() != 0) {
      behind = lanes_[of].first();
      while (behind != nullptr && (behind->started_at < r.started_at ||
                                   (behind->started_at == r.started_at && behind->io.transferred() != 0)))
        behind = behind->next;
    }
    behind == nullptr ? lanes_[of].push(r) : lanes_[of].insert(r, *behind);
    r.queued = true;
    ++waiting_[of];
    wants_ |= 1u << of;
  }
  void leave_queue(request& r) noexcept {
    const std::size_t of = index_of(r.class_number);
    QIO_CHECK(waiting_[of] != 0, "bug in qio: a request left a queue that is empty");
    r.unlink();
    r.queued = false;
    lanes_[of].remove(r);
    if (--waiting_[of] == 0) wants_ &= ~(1u << of);
  }

  // Under the scheduler's lock: what it knows of this loop.
  void publish() noexcept {
    for (std::size_t of = 0; of < owner_.classes_.size(); ++of) {
      std::uint64_t& all = owner_.classes_[of].statistics.waiting;
      all += waiting_[of] - std::exchange(published_[of], waiting_[of]);
    }
    published_wants_ = parts_ == most_parts ? 0 : wants_;
  }

  void judge(clock::time_point now) noexcept {
    const std::lock_guard lock(owner_.mutex_);
    owner_.judge(samples_, now);
    samples_.clear();
  }

  // --- parts ---

  void issue() noexcept {
    is_woken_ = false;
    issue(loop_.now());
  }

  // Submits parts as long as the scheduler allows it.
  void issue(clock::time_point now) noexcept {
    clock::time_point again = (clock::time_point::max)();
    for (;;) {
      grant taken;
      request* from = nullptr;
      detail::transfer part;
      {
        const std::lock_guard lock(owner_.mutex_);
        owner_.find_here(*this, now);
        for (const ended_part& each : ended_) {
          owner_.vacate(*this, each.bytes, now);
          owner_.release(each.from->of, time_in_device(*each.from, now), now);
          each.from->whole = nullptr;
          --parts_;
        }
        ended_.clear();
        publish();
        owner_.distribute(*this, now, again);
        taken = std::exchange(granted_, grant());
        if (taken.bytes != 0) from = use(taken, part, now);
      }
      if (taken.bytes == 0) break;
      if (from != nullptr) submit_part_of(*from, part, taken.of, now);
    }
    set_timer(again);
  }

  // Decides which part of which request is submitted. Under the lock, because the scheduler counts it. Null if none is
  // left.
  request* use(const grant& of, detail::transfer& part, clock::time_point now) noexcept {
    owner_.vacate(*this, of.bytes, now);
    request* const r = lanes_[of.of].first();
    if (r == nullptr || parts_ == most_parts) return nullptr;
    const bool is_whole = (r->flags & platform::untorn) != 0 || r->is_durable_write();
    part = r->io.begin_of_rest(is_whole ? r->io.total() : of.bytes);
    owner_.occupy(*this, part.total());
    const std::size_t left = r->io.total() - r->io.transferred();
    owner_.use(of, part.total(), r->io.transferred() == 0, part.total() == left, now - started(*r), now);
    return r;
  }

  void submit_part_of(request& r, const detail::transfer& part, std::size_t of, clock::time_point now) noexcept {
    leave_queue(r);
    slot* free = slots_.get();
    while (free->whole != nullptr) ++free;
    std::destroy_at(free);
    std::construct_at(free);
    ++parts_;
    free->whole = &r;
    free->of = of;
    free->op = r.op;
    free->handle = r.handle;
    free->flags = r.flags;
    free->block = r.block;
    free->io = part;
    free->activity = r.activity;
    free->class_number = io_class::part;
    free->started_at = now.time_since_epoch().count();
    free->queued_for = 0;
    free->completed = &call_back_part;
    submitted_.insert(r);
    loop_.submit_part(*free);
  }

  // Parts are taken out of the loop's list before that calls back. (Debuggers know them by this function.)
  static void call_back_part(request&) noexcept { QIO_CHECK(false, "bug in qio: a part of a request was called back"); }

  // The part of a request that the engine has.
  slot& part_of(const request& r) noexcept {
    slot* found = slots_.get();
    while (found->whole != &r) ++found;
    return *found;
  }

  void end_part(slot& part, clock::time_point now) noexcept {
    request& r = *part.whole;
    const std::size_t moved = part.io.transferred();
    r.unlink();
    r.io.moved(moved);
    r.place = part.place;
    // The time in the device, until it is complete.
    r.queued_for += microseconds(now - started(part)) - part.queued_for;
    ended_.push_back({&part, part.io.total()});
    const bool is_last = moved != part.io.total() || r.io.transferred() == r.io.total();
    if (part.failed())
      r.failure = part.failure.after(r.io.transferred());
    else if (!is_last && !r.cancel_requested)
      return wait(r);
    else if (!is_last)
      r.fail_as_canceled();
    finish(r, now);
  }

  // How long a part had the device. If its loop was absent meanwhile, nobody saw it end: that time does not count.
  clock::duration time_in_device(const slot& part, clock::time_point now) const noexcept {
    const clock::duration took = now - started(part);
    return started(part) < back_at_ ? took - absent_for_ : took;
  }

  void finish(request& r, clock::time_point now) noexcept {
    r.queued_for = microseconds(now - started(r)) - r.queued_for;
    loop_.complete_scheduled(r, now);
  }

  void set_timer(clock::time_point when_to) noexcept {
    if (is_armed && when == when_to) return;
    if (is_armed) loop_.disarm(*this);
    when = when_to;
    if (when_to != (clock::time_point::max)()) loop_.arm(*this);
  }

  io_scheduler& owner_;
  detail::scheduled_loop& loop_;
  detail::mailbox& posts_;
  std::array<detail::queue<request>, most_classes> lanes_;
  std::array<std::uint64_t, most_classes> waiting_{};  // requests in each
  std::uint32_t wants_ = 0;                            // a bit for each that has some
  std::unique_ptr<slot[]> slots_;
  std::uint32_t parts_ = 0;          // slots in use
  std::vector<ended_part> ended_;    // of these, since the last issue()
  detail::list<request> submitted_;  // requests of which the engine has a part
  std::vector<sample> samples_;
  clock::time_point sampled_at_{};  // the first of them
  // Under the scheduler's lock.
  std::array<std::uint64_t, most_classes> published_{};
  std::uint32_t published_wants_ = 0;
  grant granted_;
  share own_;  // in the device, or granted
  bool is_absent_ = false;
  clock::time_point seen_at_{};
  clock::time_point back_at_{};   // after its last absence,
  clock::duration absent_for_{};  // which was so long
  std::atomic<bool> is_woken_ = false;
};

inline std::unique_ptr<detail::request_queues> io_scheduler::attach(detail::scheduled_loop& loop,
                                                                    detail::mailbox& posts) {
  return std::make_unique<queues>(*this, loop, posts);
}

inline io_scheduler::background* io_scheduler::next_class(clock::time_point now, clock::time_point& again) noexcept {
  std::uint32_t wanted = 0;
  for (const queues* each : attached_)
    if (each->granted_.bytes == 0) wanted |= each->published_wants_;
  background* next = nullptr;
  for (std::size_t of = 0; of < classes_.size(); ++of) {
    background& each = classes_[of];
    if ((wanted & (1u << of)) == 0) continue;
    refill(each, now);
    if (const clock::duration left = until_allowed(each); left > clock::duration::zero())
      again = detail::lesser_of(again, now + left);
    else if (next == nullptr || each.virtual_time < next->virtual_time)
      next = &each;
  }
  return next;
}

inline void io_scheduler::occupy(queues& by, std::size_t bytes) noexcept {
  by.own_.parts += 1;
  by.own_.bytes += bytes;
  add({1, bytes});
}
inline void io_scheduler::vacate(queues& by, std::size_t bytes, clock::time_point now) noexcept {
  by.own_.parts -= 1;
  by.own_.bytes -= bytes;
  subtract({1, bytes}, now);
}

inline void io_scheduler::find_here(queues& loop, clock::time_point now) noexcept {
  if (now - loop.seen_at_ > absent_after) {
    loop.absent_for_ = now - loop.seen_at_ - absent_after;
    loop.back_at_ = now;
  }
  loop.seen_at_ = now;
  if (std::exchange(loop.is_absent_, false)) add(loop.own_);
}

inline void io_scheduler::find_absent(clock::time_point now) noexcept {
  for (queues* each : attached_) {
    if (each->is_absent_ || each->own_.parts == 0 || now - each->seen_at_ <= absent_after) continue;
    if (const std::size_t granted = std::exchange(each->granted_, {}).bytes; granted != 0) vacate(*each, granted, now);
    each->is_absent_ = true;
    each->published_wants_ = 0;  // until it runs again
    subtract(each->own_, now);
  }
}

inline void io_scheduler::distribute(queues& self, clock::time_point now, clock::time_point& again) noexcept {
  // A loop that waits for parts, or has some, shows now and then that it is not absent.
  again = self.published_wants_ != 0 || self.own_.parts != 0 ? now + asks_every : (clock::time_point::max)();
  find_absent(now);
  while (background* const next = next_class(now, again)) {
    const std::size_t part = part_now(now, *next);
    if (!has_room(part, now, again)) return;
    const auto of = static_cast<std::size_t>(next - classes_.data());
    queues* chosen = nullptr;
    for (std::size_t i = 0; i < attached_.size() && chosen == nullptr; ++i) {
      queues& each = *attached_[(turn_ + 1 + i) % attached_.size()];
      if (each.granted_.bytes != 0 || (each.published_wants_ & (1u << of)) == 0) continue;
      chosen = &each;
      turn_ = (turn_ + 1 + i) % attached_.size();
    }
    occupy(*chosen, part);
    // What had nothing to do does not make up for that.
    virtual_time_ = next->virtual_time = detail::greater_of(next->virtual_time, virtual_time_);
    chosen->granted_ = {part, of};
    if (chosen != &self && !chosen->is_woken_.exchange(true)) chosen->posts_.post(*chosen);
  }
}

inline void io_scheduler::explain(explanation& out) const {
  const io_scheduler_statistics found = statistics();
  std::string alone;
  for (const auto& [name, time] : {std::pair("reads", found.read_alone), std::pair("writes", found.write_alone),
                                   std::pair("durable writes", found.durable_alone)})
    if (time.count() != 0)
      alone += (alone.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(time.count() / 1000) + " us";
  out.add("background window", std::to_string(found.window) + " bytes",
          alone.empty() ? "" : "99th percentile of the foreground alone: " + alone);
  const std::lock_guard lock(mutex_);
  for (const background& each : classes_) {
    const io_class_statistics& counts = each.statistics;
    out.add("class " + each.options.name, std::to_string(counts.operations) + " operations",
            std::to_string(counts.parts) + " parts, " + std::to_string(counts.waiting) + " operations wait");
  }
}

QIO_END_NAMESPACE
