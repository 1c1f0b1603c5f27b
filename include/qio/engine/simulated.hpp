// SPDX-License-Identifier: BSL-1.0
// The engine for fault injection: deterministic, over a simulated disk in memory.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/events.hpp>
#include <qio/request/request.hpp>
#include <qio/simulation/disk.hpp>
#include <qio/simulation/system.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE

/// The engine for tests of programs that store data. Use it as basic_context<simulated>, with a simulated_disk
/// (context_options::disk; otherwise with an empty one of its own, without faults). The seed decides the order of all
/// events: operations overtake one another, transfer less than requested, fail, are canceled before they start, midway
/// or too late, and wait if more than context_options::queue_depth are in flight. Until a read completes, the contents
/// of its buffer are arbitrary. There are no threads and no real time: a run takes only as long as its computation.
///
/// Unlike other engines, it allocates memory.
class simulated : detail::no_hook {
 public:
  using system = simulated_system;

  /// Fails with errc::invalid_alignment if the disk's sector is not a power of two.
  static result<std::unique_ptr<simulated>> create(const context_options& options) {
    auto made = std::make_unique<simulated>(options);
    const std::uint32_t sector = made->disk_.options_.sector;
    if (!std::has_single_bit(sector)) return error(errc::invalid_alignment, sector, std::bit_ceil(sector));
    return made;
  }

  explicit simulated(const context_options& options)
      : own_disk_(options.disk == nullptr ? std::make_unique<simulated_disk>() : nullptr),
        disk_(options.disk == nullptr ? *own_disk_ : *options.disk),
        restarts_(disk_.restarts_),
        places_((std::max)(options.queue_depth, 1u)) {}
  simulated(const simulated&) = delete;
  simulated& operator=(const simulated&) = delete;
  ~simulated() { QIO_CHECK(in_flight() == 0, "an engine was destroyed while requests were in flight"); }

  system files() const noexcept { return simulated_system(disk_); }
  detail::clock::time_point now() const noexcept { return disk_.now(); }
  using no_hook::attach;
  using no_hook::begin;
  using no_hook::end;
  using no_hook::find_polling;
  using no_hook::gathers;
  void observe(detail::list<file_activity>&, detail::turn_watch& watch) noexcept { watch_ = &watch; }
  using no_hook::prepare_to_wait;
  using no_hook::register_memory;
  using no_hook::release;
  using no_hook::waits;
  using no_hook::wake_handle;

  void submit(request& r) noexcept {
    detail::take_over(r);
    if (disk_.order_ != nullptr) return submit_as_recorded(r);
    backlog_.push_back(&r);
    admit();
  }

  /// Carries it out, and returns true, if it was served inline when the order was recorded that is repeated.
  bool serve_at_once(request& r) noexcept {
    if (disk_.order_ == nullptr || r.needs_no_engine) return false;
    const std::size_t recorded = disk_.order_->start_inline({r, operation_path::inlined, disk_.now_}, disk_.now_);
    if (!disk_.order_->has(recorded)) return false;
    event now = new_event(r);
    now.recorded = recorded;
    carry_out_as_recorded(now);
    disk_.order_->end(recorded, {r, operation_path::inlined, disk_.now_});
    ++r.activity->statistics.served_inline;
    return true;
  }

  void submit_all(request* first) noexcept { detail::submit_each(*this, first); }

  void cancel(request& r) noexcept {
    QIO_CHECK(r.is_held(), "a request was canceled that is not in flight");
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    const auto under_way = std::ranges::find(events_, &r, [](const auto& each) { return each.second.about; });
    if (under_way == events_.end() || disk_.order_ != nullptr) return;
    // Completes it sooner, or when it would have completed anyway.
    const auto& [due, moved] = *under_way;
    const auto left = (std::max)(due.first - disk_.now_, detail::clock::duration::zero());
    schedule(moved, detail::clock::duration(disk_.chance_.below(static_cast<std::uint64_t>(left.count()) + 1)));
    events_.erase(under_way);
  }

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (limit.may_wait() && !woken_.take()) {
      // Only another thread can provide work.
      if (in_flight() == 0 && limit.is_unlimited()) return woken_.wait(limit);
      disk_.now_ = (std::max)(disk_.now_, (std::min)(next_time(), limit.time));
    }
    if (disk_.order_ != nullptr) return complete_next_recorded(completed);
    disk_.pass_a_moment();
    while (!events_.empty() && events_.begin()->first.first <= disk_.now_) {
      const event next = events_.extract(events_.begin()).mapped();
      if (carry_out(next))
        complete(*next.about, completed);
      else
        schedule(next, disk_.duration());
    }
    admit();
  }

  std::size_t in_flight() const noexcept { return events_.size() + backlog_.size(); }

  void wake() noexcept { woken_.set(); }

  void explain(explanation& out) const {
    out.add("engine", "simulated");
    out.add("seed", std::to_string(disk_.seed()));
  }

 private:
  // The completion of one simulated system call.
  struct event {
    request* about;
    bool had_power;          // when it began
    bool is_loss_unnoticed;  // when it began: see simulated_disk
    std::uint64_t calls;     // before it began
    std::size_t recorded;    // its number in the recorded order, if there is one
  };

  void admit() noexcept {
    for (; !backlog_.empty() && events_.size() < places_; backlog_.pop_front()) {
      request& r = *backlog_.front();
      if (watch_->is_observing()) r.queued_for = detail::age_of(r, disk_.now_);
      if (r.op == opcode::read) disk_.scribble(platform::number_of(r.handle), r.io.next());
      schedule(new_event(r), disk_.duration());
    }
  }

  event new_event(request& r) const noexcept {
    return {&r, disk_.has_power(), disk_.is_loss_unnoticed_, disk_.calls_, 0};
  }

  // --- as recorded ---

  void submit_as_recorded(request& r) noexcept {
    if (watch_->is_observing()) r.queued_for = 0;
    event made = new_event(r);
    made.recorded = disk_.order_->start({r, operation_path::ring, disk_.now_}, disk_.now_);
    events_.emplace(std::pair(disk_.order_->end_of(made.recorded, disk_.now_), made.recorded), made);
  }

  // One at a time: what the program starts because of it may have ended before the next one.
  void complete_next_recorded(completed_requests& completed) noexcept {
    if (events_.empty()) return;
    if (next_time() > disk_.now_) disk_.pass_a_moment();
    if (next_time() > disk_.now_) return;
    const event next = events_.extract(events_.begin()).mapped();
    carry_out_as_recorded(next);
    disk_.order_->end(next.recorded, {*next.about, operation_path::ring, disk_.now_});
    count(*next.about);
    detail::complete_alone(*next.about, completed);  // what it had to wait for is part of the recorded time
  }

  void carry_out_as_recorded(const event& what) noexcept {
    request& r = *what.about;
    r.cancel_requested.store(false, std::memory_order_relaxed);  // the recording says what became of that
    const std::error_code failure = disk_.order_->failure_of(what.recorded);
    if (!failure) {
      if (r.op != opcode::read && r.op != opcode::write) return carry_out_whole(what);
      while (!transfer(what, r.io.next())) {}
    } else if (r.op == opcode::call) {
      r.failure = error(failure);
    } else if (r.op == opcode::sync) {
      r.failure = r.activity->sync_failure.answer_of([&]() -> result<void> { return error(failure); }).error();
    } else if (r.op == opcode::writeback) {
      r.io.moved(disk_.order_->transferred_by(what.recorded));
      r.failure = r.activity->of_transfer(error(failure).after(r.io.transferred()), r.op);
    } else {
      const std::size_t moved = disk_.order_->transferred_by(what.recorded);
      while (r.io.transferred() < moved)
        if (transfer(what, r.io.begin_of_rest(moved - r.io.transferred()).next())) break;
      if (r.failed()) return;
      if (failure == std::errc::operation_canceled) return r.fail_as_canceled();
      static_cast<void>(detail::take_answer(r, -failure.value()));
    }
  }

  void schedule(const event& what, detail::clock::duration from_now) noexcept {
    events_.emplace(std::pair(disk_.now_ + from_now, ++last_event_), what);
  }

  detail::clock::time_point next_time() const noexcept {
    return events_.empty() ? (detail::clock::time_point::max)() : events_.begin()->first.first;
  }

  /// True if the request is complete. A canceled one may end before, in the middle, or as if it had not been canceled.
  bool carry_out(const event& what) noexcept {
    request& r = *what.about;
    if (restarts_ != disk_.restarts_) {  // its machine has crashed
      r.fail_as_canceled();
      return true;
    }
    // What a program does after the power has failed does not undo what a write had begun by then.
    const bool is_too_late = r.op == opcode::write && !disk_.has_power();
    const bool is_canceled = r.cancel_requested.load(std::memory_order_relaxed) && !is_too_late;
    const std::uint64_t fate = is_canceled ? disk_.chance_.below(3) : 2;
    if (fate == 0) {
      r.fail_as_canceled();
      return true;
    }
    if (r.op == opcode::read || r.op == opcode::write) {
      const bool is_divided = fate == 1 && (r.flags & platform::untorn) == 0;
      return transfer(what, is_divided ? part_of(r.io.next()) : r.io.next());
    }
    carry_out_whole(what);
    return true;
  }

  bool transfer(const event& what, const detail::piece& now) noexcept {
    request& r = *what.about;
    const std::uint64_t number = platform::number_of(r.handle);
    if (r.op == opcode::read) return detail::take_answer(r, disk_.read(number, now));
    if (what.had_power && !disk_.has_power()) disk_.lose_power_during_write(number, now, r.flags);
    if (what.is_loss_unnoticed && !disk_.has_power()) disk_.lose_power_during_durable_write(number, now, r.flags);
    return detail::take_answer(r, disk_.write(number, now, r.flags));
  }

  void carry_out_whole(const event& what) noexcept {
    request& r = *what.about;
    if (r.op == opcode::writeback) {
      while (!detail::take_writeback(r, disk_.start_writeback(platform::number_of(r.handle)))) {}
      return;
    }
    const auto sync = [&] { return disk_.sync(platform::number_of(r.handle), what.calls); };
    const auto done = r.op == opcode::call ? r.call(r) : r.activity->sync_failure.answer_of(sync);
    if (!done) r.failure = done.error();
  }

  static void count(const request& r) noexcept {
    file_statistics& counted = r.activity->statistics;
    ++(r.op == opcode::call ? counted.served_by_worker : counted.served_by_ring);
  }
  static void complete(request& r, completed_requests& completed) noexcept {
    count(r);
    detail::complete(r, completed);
  }

  // A part of it that a canceled transfer may have moved, if it can be divided.
  detail::piece part_of(detail::piece whole) noexcept {
    const mutable_buffer first = whole.vector == nullptr ? whole.single : whole.vector[0];
    const std::size_t sector = disk_.options_.sector;  // a direct transfer ends between two of them
    if (first.size <= sector) return whole;
    const auto sectors = static_cast<std::size_t>(disk_.chance_.between(1, (first.size - 1) / sector));
    return {whole.offset, {}, 0, {first.data, sectors * sector}};
  }

  std::unique_ptr<simulated_disk> own_disk_;
  simulated_disk& disk_;
  const std::uint64_t restarts_;  // of the disk, before this began
  std::size_t places_;
  detail::turn_watch* watch_ = nullptr;
  std::deque<request*> backlog_;  // requests for which there is no place yet
  std::map<std::pair<detail::clock::time_point, std::uint64_t>, event> events_;  // by their time, then in their order
  std::uint64_t last_event_ = 0;
  detail::auto_reset_event woken_;
};

static_assert(engine<simulated>);

QIO_END_NAMESPACE
