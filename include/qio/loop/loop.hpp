// SPDX-License-Identifier: BSL-1.0
// The event loop that a context, its files and their operations share, and what it is made of: timers, the time that a
// turn may spend on inline work, deadlines and stop tokens of operations, turns, and coroutines that sleep.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/io_class.hpp>
#include <qio/loop/batch.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/operation_options.hpp>
#include <qio/options.hpp>
#include <qio/request/observer.hpp>
#include <qio/request/request.hpp>
#include <qio/request/scheduling.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- Timers in order of time: a pairing heap whose nodes live in the operations ---

/// A loop calls it when its time has come. It lives in the object that sets it.
struct timer {
  std::chrono::steady_clock::time_point when;
  bool (*expired)(timer&) noexcept;  ///< true if it resumed a coroutine
  timer* child;                      // the first of the later ones below this
  timer* sibling;                    // the next with the same parent
  timer* previous;                   // the sibling before, or the parent of a first child; null at the root
  bool is_armed = false;             ///< in a heap
};

/// Far beyond any operation, and what every engine can wait for without an overflow.
inline constexpr std::chrono::steady_clock::duration longest_wait = std::chrono::hours(24 * 36525);

/// Insertion takes constant time; removal takes logarithmic time, amortized (Fredman, Sedgewick, Sleator, Tarjan 1986).
class timers {
 public:
  bool empty() const noexcept { return root_ == nullptr; }
  timer* earliest() const noexcept { return root_; }

  void insert(timer& node) noexcept {
    QIO_CHECK(!node.is_armed, "bug in qio: a timer was armed twice");
    node.is_armed = true;
    node.child = node.sibling = node.previous = nullptr;
    root_ = root_ == nullptr ? &node : meld(root_, &node);
  }

  void remove(timer& node) noexcept {
    QIO_CHECK(node.is_armed, "bug in qio: a timer was removed that was not armed");
    node.is_armed = false;
    timer* const below = meld_all(std::exchange(node.child, nullptr));
    if (&node == root_) {
      root_ = below;
      return;
    }
    (node.previous->child == &node ? node.previous->child : node.previous->sibling) = node.sibling;
    if (node.sibling != nullptr) node.sibling->previous = node.previous;
    if (below != nullptr) root_ = meld(root_, below);
  }

 private:
  static timer* meld(timer* a, timer* b) noexcept {
    if (b->when < a->when) std::swap(a, b);
    b->previous = a;
    b->sibling = a->child;
    if (a->child != nullptr) a->child->previous = b;
    a->child = b;
    return a;
  }

  // Two passes: it melds pairs from the left, then the pairs from the right. A loop, because the list may be long.
  static timer* meld_all(timer* first) noexcept {
    timer* pairs = nullptr;
    while (first != nullptr) {
      timer* const second = first->sibling;
      timer* const rest = second == nullptr ? nullptr : second->sibling;
      first->sibling = first->previous = nullptr;
      if (second != nullptr) second->sibling = second->previous = nullptr;
      timer* const pair = second == nullptr ? first : meld(first, second);
      pair->sibling = pairs;
      pairs = pair;
      first = rest;
    }
    timer* root = nullptr;
    while (pairs != nullptr) {
      timer* const following = std::exchange(pairs->sibling, nullptr);
      root = root == nullptr ? pairs : meld(root, pairs);
      pairs = following;
    }
    return root;
  }

  timer* root_ = nullptr;
};

// --- Whether a slow system call waited, or the thread was preempted ---

/// Watches one thread. The kernel counts its voluntary and involuntary context switches, and reports them by a system
/// call. That is too expensive for every transfer, so it is made once in a while, and after a slow transfer.
class thread_waits {
 public:
  /// Before a call that might be slow.
  void look(clock::time_point now) noexcept {
    if (now - looked_at_ < std::chrono::milliseconds(1)) return;
    looked_at_ = now;
    seen_ = platform::switches_of_this_thread();
  }

  /// Before the thread sleeps, which it counts, too.
  void forget() noexcept { looked_at_ = {}; }

  /// After a call that took long: whether it waited. False if the thread was also preempted since the last look, unless
  /// the call took longer than preemption usually does, because a false alarm would be worse: on a busy machine there
  /// would be one every few milliseconds.
  bool has_waited(const platform::thread_switches& now, clock::duration took) noexcept {
    const platform::thread_switches before = std::exchange(seen_, now);
    if (now.voluntary == before.voluntary) return false;
    return now.involuntary == before.involuntary || took > std::chrono::milliseconds(10);
  }

 private:
  clock::time_point looked_at_{};
  platform::thread_switches seen_;
};

// --- Whether a write on this thread might exceed the process's limit on the size of files ---

/// Watches RLIMIT_FSIZE, which may change at any time. A write past the limit raises SIGXFSZ on the thread that makes
/// it, so a limited process leaves its writes to the engine. A system call per write would make small writes a tenth
/// slower, so a change is noticed within a millisecond.
class file_size_limit {
 public:
  bool exists(clock::time_point now) noexcept {
    if (now - asked_at_ >= std::chrono::milliseconds(1)) {
      asked_at_ = now;
      exists_ = platform::has_file_size_limit();
    }
    return exists_;
  }

 private:
  clock::time_point asked_at_{};
  bool exists_ = false;
};

// --- How to back off from inline transfers after one that waited ---

/// After a transfer that waited, the engine gets the transfers of that file system for sixteen times as long. So
/// waiting for a file system costs the context's thread at most a seventeenth of its time, however many of its files
/// are open.
class inline_pause {
 public:
  bool is_over(clock::time_point now) const noexcept { return now >= resume_; }

  /// A transfer that ended at `end` waited for `took`.
  void begin(clock::time_point end, clock::duration took) noexcept { resume_ = end + 16 * took; }

 private:
  clock::time_point resume_{};
};

// --- How much work one turn of the loop may do inline, without the engine ---

/// Counts the time that a turn has spent on inline transfers. Up to the first limit, the coroutine that started a
/// transfer continues immediately. Up to the second, transfers still complete inline, but the coroutine continues only
/// after the others have run.
class inline_turn {
 public:
  using duration = std::chrono::nanoseconds;

  void renew() noexcept { spent_ = duration::zero(); }
  void spend(duration time) noexcept { spent_ += time; }
  /// A system call has copied this many bytes.
  void spend_copy(std::size_t bytes) noexcept { spent_ += duration(512 + bytes / 8); }

  bool may_go_on() const noexcept { return spent_ < without_a_pause; }
  bool has_time() const noexcept { return spent_ < altogether; }

  /// For a batch, whose transfers have no coroutine to continue between them: they may use the time up to the second
  /// limit. What they have spent counts when the share ends.
  class long_share {
   public:
    explicit long_share(inline_turn& turn) noexcept : turn_(turn) {}
    long_share(const long_share&) = delete;
    long_share& operator=(const long_share&) = delete;
    ~long_share() { turn_.spent_ += spent_; }

    /// Before each transfer: whether there is time left.
    bool begin_next() noexcept {
      spent_ += std::exchange(turn_.spent_, duration::zero());
      return spent_ < altogether;
    }

   private:
    inline_turn& turn_;
    duration spent_{};
  };

  /// About how long a system call takes that copies this many bytes between buffers.
  static constexpr duration time_of_copy(std::size_t bytes) noexcept { return duration(512 + bytes / 8); }
  /// A transfer that should only copy, but took longer, may have waited for a device.
  static constexpr duration longest_copy(std::size_t bytes) noexcept {
    return std::chrono::microseconds(20) + 2 * time_of_copy(bytes);
  }

  /// The same for opening or closing a file.
  static constexpr duration longest_opening = std::chrono::microseconds(200);

  /// Long enough to make a turn cheap (some 60 transfers of 4 KiB) ...
  static constexpr duration without_a_pause = std::chrono::microseconds(64);

  /// The pause of a file system, by its device number. Two file systems may share one.
  static constexpr unsigned pauses = 16;
  inline_pause& pause_of(unsigned number) noexcept { return pauses_[number % pauses]; }

  turn_watch watch;                        ///< of the loop's turns
  operation_observer* observer = nullptr;  ///< of the loop's operations
  thread_waits waits;                      ///< of the loop's thread
  file_size_limit limit;
  platform::known_file_systems file_systems;  ///< of files that were opened asynchronously

 private:
  // ... and short enough for operations that the engine has completed meanwhile.
  static constexpr duration altogether = std::chrono::milliseconds(1);

  duration spent_{};
  inline_pause pauses_[pauses];
};

// --- What ends one operation early: its deadline and its stop token ---

/// For operations that have neither a deadline nor a stop token.
struct no_control {};

/// The deadline and the stop token of one operation. `Work` is what they cancel: a request or a batch.
template <class Loop, class Work = request>
class control final : timer, posted {
 public:
  explicit control(const operation_options& options) noexcept
      : deadline_(options.deadline), stop_(options.stop.token()) {}

  /// False if the stop has been requested or the deadline has passed already. Called once, before arm().
  bool may_start(const Loop& owner) noexcept {
    if (stop_.stop_requested()) return false;
    if (!deadline_.exists()) return true;
    const clock::time_point now = owner.now();
    timed_out_ = deadline_.when() <= now;
    // The difference cannot overflow, because steady clocks count from the start of something.
    has_timer_ = !timed_out_ && deadline_.when() - now <= longest_wait;
    return !timed_out_;
  }

  bool timed_out() const noexcept { return timed_out_; }

  /// `work` has been submitted: cancels it when the time comes.
  void arm(Loop& owner, Work& work) noexcept {
    loop_ = &owner;
    work_ = &work;
    if (has_timer_) {
      when = deadline_.when();
      expired = [](timer& self) noexcept {
        static_cast<control&>(self).expire();
        return false;
      };
      owner.arm(*this);
    }
    // Last, because a stop that has been requested meanwhile calls back from here.
    if (stop_.stop_possible()) stopper_.emplace(stop_, stop_notice{this});
  }

  /// It has completed, or is about to be destroyed.
  void disarm(Loop& owner) noexcept {
    if (is_armed) owner.disarm(*this);
    // Waits for a stop that another thread is requesting at this moment; nothing is posted after it.
    stopper_.reset();
    if (is_posted) owner.withdraw(*this);
  }

 private:
  // Called by the thread that requests the stop. It must not touch the engine, so it has the loop's thread cancel.
  struct stop_notice {
    control* self;
    void operator()() const noexcept {
      self->run = [](posted& node) noexcept {
        auto& stopped = static_cast<control&>(node);
        stopped.loop_->cancel(*stopped.work_);
      };
      self->loop_->post(*self);
    }
  };

  void expire() noexcept {
    timed_out_ = true;
    loop_->cancel(*work_);
  }

  deadline deadline_;
  std::stop_token stop_;
  Loop* loop_ = nullptr;
  Work* work_ = nullptr;
  std::optional<std::stop_callback<stop_notice>> stopper_;
  bool has_timer_ = false;
  bool timed_out_ = false;
};

// --- What no engine waits for: the loop tries it again and again ---

/// A request of which the loop's thread makes one attempt after another, until it is complete: the first in the next
/// turn, and the others by a timer, after pauses that double. From submit() to completion it is in the list
/// file_activity::retried.
struct retried_request : request, timer {
  static constexpr clock::duration shortest_pause = std::chrono::milliseconds(1);
  static constexpr clock::duration longest_pause = std::chrono::milliseconds(50);

  bool (*try_once)(retried_request&) noexcept;  ///< true if it is complete: `failure` says how
  void (*ended)(request&) noexcept;             ///< of the operation: `completed` is the loop's until then
  void* owner;                                  ///< the loop
  clock::duration pause = shortest_pause;
};

/// The same for a function that returns a result<bool>: false to be called again. It must not throw.
template <class Function>
class retried_call : public retried_request {
 public:
  void describe(const Function& function, file_activity& file) noexcept {
    function_.emplace(function);
    op = opcode::call;
    activity = &file;
    try_once = [](retried_request& self) noexcept {
      const result<bool> done = (*static_cast<retried_call&>(self).function_)();
      if (!done) self.failure = done.error();
      return !done || done.value();
    };
  }

 private:
  std::optional<Function> function_;
};

// --- The event loop that a context, its files and their operations share ---

/// Work that submits requests of its own, one after another: begin(loop), cancel(loop), abandon(loop).
template <class Work>
concept composed_work = requires { typename Work::is_composed; };

/// Owns an engine, and the operations that have completed, are due or were posted. Outlives its context as long as
/// files refer to it.
template <engine Engine>
class loop final : public mailbox, private scheduled_loop {
  static constexpr const char* started_elsewhere = "an operation was started by another thread than its context's";
  static constexpr const char* canceled_elsewhere =
      "an operation was canceled by another thread than its context's: use a stop token instead";
  static constexpr const char* destroyed_elsewhere =
      "an operation was destroyed by another thread than the one that runs its context";
  static constexpr bool serves_at_once =
      !std::same_as<decltype(&Engine::serve_at_once), decltype(&no_hook::serve_at_once)>;

 public:
  loop(std::unique_ptr<Engine> engine, std::optional<aligned_buffer>&& memory, const context_options& options)
      : mailbox([](mailbox& self) noexcept { static_cast<loop&>(self).engine_->wake(); }),
        memory_(std::move(memory)),
        engine_(std::move(engine)),
        why_not_registered_(memory_ ? engine_->register_memory(*memory_) : "not requested"),
        is_to_poll_(options.polling != polling::off),
        inline_work_(options.inline_work),
        class_(options.io_class) {
    inline_turn_.observer = options.observer;
    if (class_.exists()) queues_ = class_.scheduler()->attach(*this, *this);
    is_watched_ = options.observer != nullptr || queues_ != nullptr;
    if (is_watched_) inline_turn_.watch.begin_observing();
    engine_->observe(activities_, inline_turn_.watch);
  }
  ~loop() { QIO_CHECK(idle() && timers_.empty(), "bug in qio: a loop was destroyed with operations in flight"); }

  const Engine& engine() const noexcept { return *engine_; }
  std::span<std::byte> memory() noexcept { return memory_ ? std::span<std::byte>(*memory_) : std::span<std::byte>(); }
  /// Whether polling was requested. Then opening a direct file takes a transfer.
  bool is_to_poll() const noexcept { return is_to_poll_; }
  /// The options of a file that is opened here: no file may do inline what the context forbids.
  open_options allowed(open_options options) const noexcept {
    if (inline_work_ == inline_work::never)
      options.inline_reads = options.inline_writes = options.inline_opening = inline_transfers::never;
    return options;
  }
  inline_work works_inline() const noexcept { return inline_work_; }
  /// Whether operations are stamped, and an observer told of them.
  bool is_observed() const noexcept { return inline_turn_.observer != nullptr; }
  /// The class of a file of this loop that is to have the class `given`, if that is any; or why it cannot.
  result<io_class> class_of_file(const io_class& given) const noexcept {
    if (!given.exists()) return class_;
    if (given.scheduler() != class_.scheduler()) return error(errc::foreign_io_class);
    return given;
  }
  bool idle() const noexcept { return engine_->in_flight() == 0 && completed_.empty() && retried_ == 0; }

  /// Binds a file that is being opened to the engine. From any thread.
  result<void> attach(platform::native_handle handle) noexcept { return engine_->attach(handle); }

  void explain(explanation& out) const {
    engine_->explain(out);
    out.add("registered memory", why_not_registered_.empty() ? std::to_string(memory_->size()) + " bytes" : "off",
            why_not_registered_);
    if (inline_work_ == inline_work::never) out.add("inline work", "off", "context_options::inline_work");
    if (queues_ != nullptr) queues_->explain(out);
    explain_stalls(out);
  }

  const stall_statistics& stalls() const noexcept { return inline_turn_.watch.totals(); }

  // --- for operations ---

  /// Completes `r` at once, if that can be attempted and the attempt succeeds. Operations that have completed but wait
  /// for their turn count as one in flight: the coroutines that they resume will start more, which makes one batch.
  bool try_inline(request& r, caller from = {}) noexcept {
    require_own_thread(started_elsewhere, from);
    // Most engines lack this hook: then nothing of it is on the way of a hit.
    if constexpr (serves_at_once)
      if (engine_->serve_at_once(r)) return true;
    return r.attempt != nullptr && r.attempt(r, inline_turn_, engine_->in_flight() + !completed_.empty());
  }
  /// The same for the parts of a batch, each of which the engine may serve.
  bool try_inline(batch& all, caller = {}) noexcept
    requires(serves_at_once)
  {
    all.for_each_unfinished([&](batch_part& part) {
      if (engine_->serve_at_once(part)) all.finished(part);
    });
    return all.unfinished() == 0;
  }
  /// Whether a coroutine whose operation completed at once may continue at once. If false, it is the turn of others,
  /// and complete_later() takes the operation.
  bool may_go_on() const noexcept { return inline_turn_.may_go_on(); }

  /// An operation completes at once without any work: it is empty or refused. It counts as some, so that a coroutine
  /// that starts one after another lets others run, unless the loop is closing and waits for it to give up.
  void complete_idly() noexcept {
    if (!closed()) inline_turn_.spend_copy(0);
  }

  /// Whether a coroutine goes on at once whose sleep has no time left to wait. That counts as some work as well.
  bool may_skip_sleep() noexcept {
    complete_idly();
    return may_go_on();
  }

  /// For what is done inline, but is no request.
  inline_turn& work_inline() noexcept {
    require_own_thread("a file was opened or closed asynchronously by another thread than its context's");
    return inline_turn_;
  }

  void submit(request& r) noexcept {
    QIO_CHECK(!r.is_held(), "bug in qio: a request was submitted twice");
    require_own_thread(started_elsewhere);
    if (!r.activity->is_plain) [[unlikely]]
      return prepare_and_submit(r);
    r.activity->held.insert(r);
    engine_->submit(r);
  }
  void submit(batch& all) noexcept {
    require_own_thread("a batch was started by another thread than its context's");
    if (!all.activity->is_plain && prepare_each(all)) [[unlikely]]
      return;
    request* first = nullptr;
    request** end = &first;
    all.for_each_unfinished([&](batch_part& part) {
      all.activity->held.insert(part);
      *end = &part;
      end = &part.next;
    });
    *end = nullptr;
    engine_->submit_all(first);
  }

  void submit(retried_request& r) noexcept {
    require_own_thread(started_elsewhere);
    if (!r.activity->is_linked()) activities_.insert(*r.activity);
    r.activity->retried.insert(r);
    ++retried_;
    r.owner = this;
    r.ended = r.completed;
    r.completed = [](request& self) noexcept {
      auto& due = static_cast<retried_request&>(self);
      static_cast<void>(static_cast<loop*>(due.owner)->try_once(due));
    };
    r.expired = [](timer& self) noexcept {
      auto& due = static_cast<retried_request&>(self);
      return static_cast<loop*>(due.owner)->try_once(due);
    };
    completed_.push(r);
  }

  template <composed_work Work>
  void submit(Work& work) noexcept {
    require_own_thread(started_elsewhere);
    work.begin(*this);
  }

  /// `r` has completed without the engine; the loop calls it back like any other. If the loop has ended, this function
  /// calls it back, because nothing else would.
  void complete_later(request& r) noexcept {
    if (ended_) return r.completed(r);
    completed_.push(r);
  }

  void cancel(request& r) noexcept {
    require_own_thread(canceled_elsewhere);
    if (!r.is_held()) return;
    if (r.class_number > io_class::foreground) [[unlikely]]
      return queues_->cancel(r);
    request* const last = completed_.last();
    if (!give_up_waiting(r, completed_)) return engine_->cancel(r);
    if (is_watched_) note_ended(last, now());
  }
  void cancel(batch& all) noexcept {
    all.for_each_unfinished([this](batch_part& part) { cancel(static_cast<request&>(part)); });
  }

  void cancel(retried_request& r) noexcept {
    require_own_thread(canceled_elsewhere);
    if (r.is_held()) give_up(r);
  }

  template <composed_work Work>
  void cancel(Work& work) noexcept {
    require_own_thread(canceled_elsewhere);
    work.cancel(*this);
  }

  /// `r` is about to be destroyed: cancels it, waits until the system no longer uses its memory, and forgets it.
  QIO_NOINLINE void abandon(request& r) noexcept {
    require_own_thread(destroyed_elsewhere);
    cancel(r);
    while (r.is_held()) reap(wait_limit::unlimited());
    completed_.remove(r);
  }
  void abandon(batch& all) noexcept {
    require_own_thread("a batch was destroyed by another thread than the one that runs its context");
    if (all.needs_no_engine) {
      completed_.remove(all);
    } else {
      cancel(all);  // all, before it waits for the first
      all.for_each_unfinished([this](batch_part& part) { abandon(static_cast<request&>(part)); });
    }
    static_cast<void>(all.conclude(false));
  }

  void abandon(retried_request& r) noexcept {
    require_own_thread(destroyed_elsewhere);
    cancel(r);
    completed_.remove(r);
  }

  template <composed_work Work>
  void abandon(Work& work) noexcept {
    require_own_thread(destroyed_elsewhere);
    work.abandon(*this);
  }

  /// A file is about to be closed: cancels its operations, waits until the system no longer uses their memory, and
  /// forgets the file. The operations are called back by a later turn.
  void end(file_activity& activity) noexcept {
    if (!activity.is_linked()) return;  // it has had no operation, or the loop has ended: any thread may close it
    // Without operations in flight, any thread may close it when the loop's thread no longer runs it.
    if (activity.in_flight != 0 || activity.retried.any() != nullptr || activity.waiting.any() != nullptr ||
        is_running())
      require_own_thread("a file was closed by another thread than its context's");
    cancel_all(activity);
    while (activity.in_flight != 0) reap(wait_limit::unlimited());
    activity.forget();  // only now: the engine may need the list
    engine_->release(activity);
  }

  /// The clock by which deadlines are due.
  clock::time_point now() const noexcept override { return engine_->now(); }

  void arm(timer& node) noexcept override { timers_.insert(node); }
  void disarm(timer& node) noexcept override { timers_.remove(node); }

  /// Arms the timer of a coroutine.
  void sleep(timer& node, caller from) noexcept {
    require_own_thread("a coroutine slept on another thread than the one that runs the context", from);
    require_running(
        "a coroutine slept on another context inside run(), and nothing runs that context meanwhile: sleep on the one "
        "that runs",
        from);
    timers_.insert(node);
  }
  void end_sleep(timer& node) noexcept {
    require_own_thread("a sleeping coroutine was destroyed by another thread than the one that runs the context");
    timers_.remove(node);
  }

  // --- for the context ---

  /// Ends a wait of the loop's thread. From any thread.
  void wake() noexcept { engine_->wake(); }

  result<platform::native_handle> wake_handle(caller from) noexcept {
    require_own_thread("wake_handle() was called by another thread than the one that runs the context", from);
    return engine_->wake_handle();
  }

  /// The earliest deadline of an operation in flight, or end of a sleep.
  deadline next_deadline(caller from) const noexcept {
    require_own_thread("next_deadline() was called by another thread than the one that runs the context", from);
    return timers_.earliest() == nullptr ? deadline() : deadline(timers_.earliest()->when);
  }

  /// One call of run() or poll(): turns are taken within it.
  class session {
   public:
    session(loop& owner, [[maybe_unused]] caller from, running_how how = running_how::returns_soon) noexcept
        : owner_(owner), scope_(owner.number(), how) {
      QIO_CHECK_AT(!owner.is_running(), "run() or poll() was called by a callback or coroutine of the same context",
                   from);
      if (!owner.has_owner()) [[unlikely]] {
        owner.take_ownership();
        owner.engine_->begin();
      }
      owner.require_own_thread("a context was run by another thread than the one that first ran it", from);
      owner.set_running(true);
      owner.inline_turn_.waits.forget();  // the thread may have slept meanwhile
      owner.inline_turn_.watch.begin_session();
      if (QIO_CHECKS && scope_.is_nested()) owner.note_run_within_another();
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() { owner_.set_running(false); }

    /// The program's work is about to begin, within the session but before its first turn.
    void begins() noexcept { owner_.inline_turn_.watch.begin_at(owner_.now()); }

    /// Runs what was posted, reaps completed operations, cancels those whose deadline has passed, and resumes or calls
    /// back. Waits for something to do if it may. True if it resumed a coroutine or called a callback.
    bool turn(bool may_wait) noexcept {
      owner_.inline_turn_.renew();
      const bool ran = owner_.has_posted() && owner_.run_what_was_posted();
      const clock::time_point now = owner_.wait(owner_.limit(may_wait && !ran));
      const bool resumed = owner_.timers_.earliest() != nullptr && owner_.expire_all(now);
      return owner_.dispatch() || ran || resumed;
    }

    /// Takes pieces of turns until one thing was run, or `until` has passed. True if there was one. Each call is a
    /// piece of a turn, and the next call goes on where it ended. So whatever runs again and again keeps nothing else
    /// waiting for longer than a turn: neither completions, nor timers, nor what is posted.
    bool one(wait_limit until) noexcept {
      for (bool has_passed = false;; has_passed = !until.may_wait() || until.time <= owner_.now()) {
        if (owner_.go_on_with_turn()) return true;
        if (has_passed) return false;
        owner_.begin_turn(until);
      }
    }

    /// True if a turn has nothing to do until the engine's handle is ready or the next deadline has passed.
    bool prepare_to_wait() noexcept {
      if (owner_.has_work()) return false;
      request* const last = owner_.completed_.last();
      const bool nothing_left = owner_.engine_->prepare_to_wait(owner_.completed_);
      if (owner_.is_watched_) {
        const std::size_t before = owner_.engine_->in_flight();
        owner_.note_ended(last, owner_.now());
        if (owner_.engine_->in_flight() != before) return false;  // it has submitted parts of background requests
      }
      // Looked at after the handle was reset: what is posted from now on makes it ready.
      if (!nothing_left || owner_.has_posted()) return false;
      return owner_.timers_.empty() || owner_.timers_.earliest()->when > owner_.now();
    }

   private:
    loop& owner_;
    running_scope scope_;
  };

  /// Cancels everything in flight, waits until the system no longer uses its memory, and resumes or calls back. What
  /// these start from then on fails.
  void close() noexcept {
    QIO_CHECK_AT(!is_running(), "a context was destroyed by one of its own callbacks or coroutines", caller());
    const running_scope scope(number());
    set_closed();
    inline_turn_.renew();  // and nothing is spent from now on, because what is refused completes at once
    activities_.for_each([&](file_activity& each) { cancel_all(each); });
    while (engine_->in_flight() != 0) reap(wait_limit::unlimited());
    while (run_posted() || dispatch() || expire_first((clock::time_point::max)())) {}
    leave();
    while (run_posted() || dispatch()) {}  // what was posted until then
    activities_.clear();                   // of files that outlive it; several threads may close them
    engine_->end();
    ended_ = true;
    give_up_ownership();
  }

 private:
  static constexpr unsigned dispatches_a_turn = 1024, dispatches_per_look = 16;

  void begin_turn(wait_limit until) noexcept {
    inline_turn_.renew();
    if (has_posted()) note_posted();
    begin_posted();
    const wait_limit own = limit(!has_posted());
    due_ = wait(own.time < until.time ? own : until);
    dispatches_left_ = dispatches_a_turn;
  }

  bool has_work() const noexcept { return has_posted() || !completed_.empty(); }

  QIO_COLD void note_posted() noexcept {
    if (const clock::duration waited = waited_since_post(); waited != clock::duration::zero())
      inline_turn_.watch.found_posted(waited);
  }
  QIO_NOINLINE bool run_what_was_posted() noexcept {
    note_posted();
    return run_posted();
  }

  QIO_NOINLINE bool expire_all(clock::time_point at) noexcept {
    bool resumed = false;
    while (expire_first(at)) resumed = true;
    return resumed;
  }

  // Returns the time after it, by which timers are due.
  clock::time_point wait(wait_limit until) noexcept {
    turn_watch& watch = inline_turn_.watch;
    if (until.may_wait()) inline_turn_.waits.forget();
    if (!completed_.empty()) [[unlikely]] {
      watch.found_due();
      reaped_before_ = completed_.last();
    }
    engine_->wait(completed_, until);
    // Reads no clock if nothing can become due while the only thing runs that has completed.
    if (timers_.earliest() == nullptr && !completed_.has_several() && engine_->in_flight() == 0 &&
        watch.begin_turn_alone())
      return (clock::time_point::min)();
    return begin_watched_turn();
  }
  QIO_NOINLINE clock::time_point begin_watched_turn() noexcept {
    const clock::time_point now = engine_->now();
    if (is_watched_) [[unlikely]] {
      note_ended(std::exchange(reaped_before_, nullptr), now);
      const bool is_alone = timers_.earliest() == nullptr && !completed_.has_several() && engine_->in_flight() == 0;
      if (is_alone && inline_turn_.watch.begin_observed_turn_alone()) return now;
    }
    inline_turn_.watch.begin_turn(
        now, timers_.earliest() == nullptr ? (clock::time_point::max)() : timers_.earliest()->when);
    return now;
  }

  // Not inlined, and no call before those of a plain submission: it would cost these some instructions.
  QIO_NOINLINE void prepare_and_submit(request& r) noexcept {
    if (!prepare(r)) return;
    r.activity->held.insert(r);
    r.next = nullptr;
    submit_each(*engine_, &r);  // as few places as possible call submit(), so that it is inlined into the others
  }

  // What a submission does first, unless the file's activity is plain. False if the request waits in the queue of its
  // class.
  QIO_NOINLINE bool prepare(request& r) noexcept {
    if (!r.activity->is_linked()) activities_.insert(*r.activity);
    r.activity->is_plain = !is_watched_;
    if (r.activity->is_plain) return true;
    r.started_at = now().time_since_epoch().count();
    r.queued_for = 0;
    if (queues_ == nullptr || !queues_->takes(r)) return true;
    ++retried_;
    return false;
  }
  // The same for a batch, whose parts have one class. True if they wait in its queue.
  QIO_NOINLINE bool prepare_each(batch& all) noexcept {
    bool are_for_engine = true;
    all.for_each_unfinished([&](batch_part& part) { are_for_engine = prepare(part); });
    return !are_for_engine;
  }

  // All requests behind `last`, or all if that is null, are those that the engine has just completed.
  QIO_NOINLINE void note_ended(request* last, clock::time_point at) noexcept {
    request* const first = last == nullptr ? completed_.first() : last->next;
    if (queues_ != nullptr) return note_ended_of_classes(first, at);
    for (request* each = first; each != nullptr; each = each->next) tell_ended(*each, at);
  }
  // Parts of background requests leave the list; the requests themselves enter it when they are complete.
  QIO_COLD void note_ended_of_classes(request* first, clock::time_point at) noexcept {
    for (request* each = first; each != nullptr;) {
      const bool is_part = queues_->ended(*each, at);
      if (is_observed() && each->class_number <= io_class::foreground) tell_ended(*each, at);
      request* const following = each->next;
      if (is_part) completed_.remove(*each);
      each = following;
    }
    queues_->go_on(at);
  }
  QIO_COLD void tell_ended(const request& r, clock::time_point at) noexcept {
    const bool by_worker = r.place == uring_place::workers;
    inline_turn_.observer->ended({r, by_worker ? operation_path::worker : operation_path::ring, at});
  }

  // The engine's wait() outside of a turn.
  QIO_NOINLINE void reap(wait_limit until) noexcept {
    request* const last = completed_.last();
    engine_->wait(completed_, until);
    if (is_watched_) note_ended(last, now());
  }

  // --- for the queues of background requests ---

  QIO_COLD void submit_part(request& part) noexcept override {
    part.activity->held.insert(part);
    part.next = nullptr;
    submit_each(*engine_, &part);
  }
  QIO_COLD void cancel_part(request& part) noexcept override {
    request* const last = completed_.last();
    if (give_up_waiting(part, completed_)) return note_ended(last, now());
    engine_->cancel(part);
  }
  QIO_COLD void complete_scheduled(request& r, clock::time_point at) noexcept override {
    --retried_;
    completed_.push(r);
    if (is_observed()) tell_ended(r, at);
  }

  void explain_stalls(explanation& out) const {
    const stall_statistics& found = stalls();
    if (found.longest < std::chrono::milliseconds(1)) return;
    std::string cause(name_of(found.cause));
    if (!found.path.empty()) cause += " " + printable(found.path);
    out.add("longest stall", std::to_string(found.longest / std::chrono::milliseconds(1)) + " ms", cause);
  }

  // False if nothing is left of the turn.
  bool go_on_with_turn() noexcept {
    if (run_next_posted() || expire_first(due_)) return true;
    if (dispatches_left_ == 0) return false;
    // As dispatch() does: so the first ones run, however much time was used before them.
    const bool looks = dispatches_left_ % dispatches_per_look == 0 && dispatches_left_ != dispatches_a_turn;
    if (looks && !inline_turn_.has_time()) return false;
    request* const r = completed_.pop();
    if (r == nullptr) return false;
    --dispatches_left_;
    r->completed(*r);
    return true;
  }

  // Those that are held back complete with those that hold them up.
  void cancel_all(file_activity& activity) noexcept {
    activity.held.for_each([&](request& r) {
      if (r.class_number == io_class::part) [[unlikely]]
        queues_->note_cancellation(r);
      if (!r.is_held_back()) engine_->cancel(r);
    });
    while (request* const r = activity.waiting.any()) queues_->cancel(*r);
    while (request* const r = activity.retried.any()) give_up(static_cast<retried_request&>(*r));
  }

  // It is due, so in no list but that of its file. True if it is complete, and has called back.
  bool try_once(retried_request& r) noexcept {
    inline_turn_.spend_copy(0);
    if (!r.try_once(r)) {
      r.when = now() + r.pause;
      r.pause = lesser_of(2 * r.pause, retried_request::longest_pause);
      timers_.insert(r);
      return false;
    }
    forget(r);
    r.ended(r);
    return true;
  }

  // It completes as canceled, and needs its file no more.
  void give_up(retried_request& r) noexcept {
    if (r.is_armed) {
      timers_.remove(r);
      completed_.push(r);
    }
    forget(r);
    r.fail_as_canceled();
  }

  void forget(retried_request& r) noexcept {
    QIO_CHECK(retried_ != 0, "bug in qio: a request ended that was not being tried");
    r.unlink();
    --retried_;
    r.completed = r.ended;
  }

  wait_limit limit(bool may_wait) const noexcept {
    if (!may_wait || !completed_.empty()) return wait_limit::none();
    return timers_.earliest() == nullptr ? wait_limit::unlimited() : wait_limit::until(timers_.earliest()->when);
  }

  // Lets timers expire until one has resumed a coroutine. False if none did.
  bool expire_first(clock::time_point at) noexcept {
    while (timer* const earliest = timers_.earliest()) {
      if (earliest->when > at) return false;
      timers_.remove(*earliest);
      if (earliest->expired(*earliest)) return true;
    }
    return false;
  }

  // Everything has been reaped before anything is resumed, so that what is started then finds free places in the
  // queues. Ends early when the turn's time for inline work is used up, because what it resumes may do more of that. It
  // looks at that once in a while: to look each time would cost every completion some instructions.
  bool dispatch() noexcept {
    bool ran = false;
    for (unsigned looks = 0; looks < dispatches_a_turn / dispatches_per_look; ++looks) {
      for (unsigned count = 0; count < dispatches_per_look; ++count) {
        request* const r = completed_.pop();
        if (r == nullptr) return ran;
        ran = true;
        r->completed(*r);
      }
      if (!inline_turn_.has_time()) break;
    }
    return true;
  }

  std::optional<aligned_buffer> memory_;  // for transfers, if it was asked for
  std::unique_ptr<Engine> engine_;
  std::string why_not_registered_;  // with the engine's system; empty if it is
  list<file_activity> activities_;  // of every file that has had an operation; each lists those that the engine holds
  completed_requests completed_;
  request* reaped_before_ = nullptr;  // the last of these before the wait of this turn, if there were any
  timers timers_;
  std::unique_ptr<request_queues> queues_;  // of background requests, if anything is scheduled
  std::size_t retried_ = 0;                 // requests of activities_ that are tried again and again, or are in queues_
  inline_turn inline_turn_;
  clock::time_point due_ = (clock::time_point::min)();  // timers of the turn whose pieces run_one() takes
  unsigned dispatches_left_ = 0;                        // of that turn
  const bool is_to_poll_;
  const inline_work inline_work_;
  const io_class class_;
  bool is_watched_ = false;  // requests are stamped when they are submitted: somebody learns how long they take
  bool ended_ = false;       // calls nothing back any more
};

// --- A coroutine that waits for a time, and may be stopped ---

/// `when`, as far as every engine can wait without an overflow; beyond that, forever. Not in this turn: then a
/// coroutine whose sleeps have no time left would be resumed without end.
inline clock::time_point limited(clock::time_point when, clock::time_point now) noexcept {
  if (when <= now) return now + clock::duration(1);
  return when - now > longest_wait ? (clock::time_point::max)() : when;
}

/// The result of sleep_until() and sleep_for(). Destroying it, with the coroutine that awaits it, ends the wait.
template <class Loop>
class [[nodiscard]] sleeping final : timer {
 public:
  sleeping(std::shared_ptr<Loop> in, clock::time_point until) noexcept : loop_(std::move(in)) { when = until; }
  sleeping(const sleeping&) = delete;
  sleeping& operator=(const sleeping&) = delete;
  ~sleeping() {
    if (is_armed) loop_->end_sleep(*this);
  }

  bool await_ready() noexcept { return loop_->closed() || (when <= loop_->now() && loop_->may_skip_sleep()); }
  void await_suspend(std::coroutine_handle<> waiting, caller from = caller::here()) noexcept {
    waiting_ = waiting;
    when = limited(when, loop_->now());
    expired = [](timer& self) noexcept {
      static_cast<sleeping&>(self).waiting_.resume();
      return true;
    };
    loop_->sleep(*this, from);
  }
  result<void> await_resume() const noexcept {
    if (loop_->closed()) return error(errc::context_closed);
    return success();
  }

 private:
  std::shared_ptr<Loop> loop_;
  std::coroutine_handle<> waiting_;
};

/// The same with a stop token: whichever comes first ends the wait, the time or the stop.
template <class Loop>
class [[nodiscard]] stoppable_sleeping final : timer, posted {
 public:
  stoppable_sleeping(std::shared_ptr<Loop> in, clock::time_point until, const std::stop_token& stop) noexcept
      : loop_(std::move(in)), stop_(stop) {
    when = until;
  }
  stoppable_sleeping(const stoppable_sleeping&) = delete;
  stoppable_sleeping& operator=(const stoppable_sleeping&) = delete;
  ~stoppable_sleeping() { disarm(); }

  bool await_ready() noexcept {
    stopped_ = stop_.stop_requested();
    return stopped_ || loop_->closed() || (when <= loop_->now() && loop_->may_skip_sleep());
  }
  void await_suspend(std::coroutine_handle<> waiting, caller from = caller::here()) noexcept {
    waiting_ = waiting;
    when = limited(when, loop_->now());
    expired = [](timer& self) noexcept {
      static_cast<stoppable_sleeping&>(self).end();
      return true;
    };
    loop_->sleep(*this, from);
    // Last, because a stop that has been requested meanwhile calls back from here.
    if (stop_.stop_possible()) stopper_.emplace(stop_, stop_notice{this});
  }
  result<void> await_resume() const noexcept {
    if (loop_->closed()) return error(errc::context_closed);
    if (stopped_) return error(std::make_error_code(std::errc::operation_canceled));
    return success();
  }

 private:
  // Called by the thread that requests the stop. It must not touch the timers, so it has the loop's thread end the
  // wait.
  struct stop_notice {
    stoppable_sleeping* self;
    void operator()() const noexcept {
      self->run = [](posted& node) noexcept {
        auto& stopped = static_cast<stoppable_sleeping&>(node);
        stopped.stopped_ = true;
        stopped.end();
      };
      self->loop_->post(*self);
    }
  };

  // Disarmed first: the awaiter may live on while the coroutine awaits something else in the same expression, and must
  // not resume it again.
  void end() noexcept {
    disarm();
    waiting_.resume();
  }

  void disarm() noexcept {
    // Waits for a stop that another thread is requesting at this moment; nothing is posted after it.
    stopper_.reset();
    if (is_posted) loop_->withdraw(*this);
    if (is_armed) loop_->end_sleep(*this);
  }

  std::shared_ptr<Loop> loop_;
  std::stop_token stop_;
  std::optional<std::stop_callback<stop_notice>> stopper_;
  std::coroutine_handle<> waiting_;
  bool stopped_ = false;
};

}  // namespace detail
QIO_END_NAMESPACE
