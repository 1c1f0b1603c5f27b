// SPDX-License-Identifier: BSL-1.0
// How other threads reach a loop: by its address while it is known to exist, else by its number. What they post runs on
// the loop's thread.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- Work that one thread hands to the loop of another ---

/// Posted by any thread, and run by the loop's thread. It lives in the object that posts it, so posting allocates
/// nothing; that object withdraws it if it is destroyed first.
struct posted {
  posted() noexcept = default;
  posted(const posted&) = delete;
  posted& operator=(const posted&) = delete;
  ~posted() { QIO_CHECK(!is_posted, "bug in qio: posted work was destroyed before it ran"); }

  posted* next;
  posted* previous;
  void (*run)(posted&) noexcept;
  bool is_posted = false;  ///< from post() until it runs or is withdrawn
};

// --- The mailbox of a loop ---

/// Names a loop for as long as the process lives; no other loop ever has the same number. 0 names none.
using loop_number = std::uint64_t;

/// The loop that the calling thread is running, the innermost if one runs within another; 0 if it runs none.
inline constinit thread_local loop_number running_loop = 0;

/// Where in the stack of the calling thread the running loop began.
inline constinit thread_local std::uintptr_t running_from = 0;

/// Whether the running loop returns to the program although nothing has ended that it waits for. Then the program may
/// run other loops by turns.
enum class running_how : std::uint8_t { returns_soon, until_an_end };
inline constinit thread_local running_how running_now = running_how::returns_soon;  // only for checks

/// Makes a loop the running one of this thread until the end of the scope.
class running_scope {
 public:
  explicit running_scope(loop_number loop, running_how how = running_how::returns_soon) noexcept
      : previous_(std::exchange(running_loop, loop)),
        previous_from_(std::exchange(running_from, QIO_STACK_POSITION())) {
    if (QIO_CHECKS) previous_how_ = std::exchange(running_now, how);
  }
  bool is_nested() const noexcept { return previous_ != 0; }
  running_scope(const running_scope&) = delete;
  running_scope& operator=(const running_scope&) = delete;
  ~running_scope() {
    running_loop = previous_;
    running_from = previous_from_;
    if (QIO_CHECKS) running_now = previous_how_;
  }

 private:
  const loop_number previous_;
  const std::uintptr_t previous_from_;
  running_how previous_how_ = running_how::returns_soon;
};

/// How much of the stack tasks may use before the next one starts or finishes by way of the mailbox: half of the
/// smallest stack that a common system gives to a thread (128 KiB, musl 1.1.21 and later).
inline constexpr std::intptr_t stack_for_tasks = 64 * 1024;

/// The part of a loop that every thread may use. Knows no engine, so that tasks need not know one either.
class mailbox : list_hook {
 public:
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  loop_number number() const noexcept { return number_; }
  /// Whether the loop is closing, or has closed: it takes no more operations. On the loop's thread.
  bool closed() const noexcept { return closed_; }

  /// The owner is the thread that first ran the loop. Before that, and after the end, the program may use the loop from
  /// any one thread.
  void require_own_thread([[maybe_unused]] const char* mistake, [[maybe_unused]] caller from = {}) const noexcept {
    QIO_CHECK_AT(owner_ == 0 || is_this_thread(owner_), mistake, from);
  }

  /// Something of this loop is awaited. If the thread runs another loop, and does not return to the program before that
  /// one has finished, nothing runs this one meanwhile; unless a coroutine of that loop polls this one, as it has done
  /// before.
  void require_running([[maybe_unused]] const char* mistake, [[maybe_unused]] caller from) const noexcept {
    QIO_CHECK_AT(running_loop == number_ || running_now == running_how::returns_soon || is_run_within_others_, mistake,
                 from);
  }

  /// The loop's thread does not run it at the moment, or is this one.
  void require_no_other_runs([[maybe_unused]] const char* mistake) const noexcept {
    QIO_CHECK_AT(!is_running_ || is_this_thread(owner_), mistake, caller());
  }

  /// Has the loop's thread run `node`, and wakes it if it sleeps. From any thread. The caller keeps the loop alive
  /// during the call; `node` may have run, and be gone, before it returns.
  void post(posted& node) noexcept {
    QIO_CHECK(!node.is_posted, "bug in qio: the same work was posted twice");
    node.is_posted = true;
    if (arrivals_.empty()) posted_at_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    if (arrivals_.push(node)) wake_(*this);
  }

  /// The same on the loop's thread: `node` runs at the beginning of the next turn. Takes no system call, because
  /// nothing sleeps that would have to be woken.
  void post_to_next_turn(posted& node) noexcept {
    QIO_CHECK(!node.is_posted, "bug in qio: the same work was posted twice");
    require_own_thread("bug in qio: another thread asked for the next turn of a loop");
    node.is_posted = true;
    posted_.push(node);
  }

  /// post() by number. False if that loop has closed; then `node` is untouched.
  static bool post_to(loop_number number, posted& node) noexcept {
    return with_open(number, [&](mailbox& found) { found.post(node); });
  }

  /// Takes back posted work that has not run. On the loop's thread.
  void withdraw(posted& node) noexcept {
    QIO_CHECK(node.is_posted, "bug in qio: work was withdrawn that was not posted");
    arrivals_.take(posted_);
    if (&node == last_of_turn_) last_of_turn_ = node.previous;
    posted_.remove(node);
    node.is_posted = false;
  }

  static void withdraw_from(loop_number number, posted& node) noexcept {
    with_open(number, [&](mailbox& found) { found.withdraw(node); });
  }

 protected:
  /// `wake` ends the wait of the loop's thread; any thread calls it.
  explicit mailbox(void (*wake)(mailbox&) noexcept) : wake_(wake) {
    const std::lock_guard lock(open.mutex);
    open.enter_process();
    number_ = open.next_number();
    open.mailboxes.insert(*this);
  }
  ~mailbox() { leave(); }

  bool has_posted() const noexcept { return !arrivals_.empty() || !posted_.empty(); }

  /// What has been posted until now is what the turn runs, but not what that posts in turn.
  void begin_posted() noexcept {
    if (!arrivals_.empty()) arrivals_.take(posted_);
    last_of_turn_ = posted_.last();
  }

  /// For how long the first of those has waited; zero if that is unknown: two threads posted at the same time, or it
  /// waited before.
  clock::duration waited_since_post() noexcept {
    const clock::duration at(posted_at_.exchange(0, std::memory_order_relaxed));
    return at == clock::duration::zero() ? at : clock::now().time_since_epoch() - at;
  }

  /// Runs the next of these. False if none is left.
  bool run_next_posted() noexcept {
    if (last_of_turn_ == nullptr) return false;
    posted* const node = posted_.pop();
    if (node == last_of_turn_) last_of_turn_ = nullptr;
    node->is_posted = false;
    node->run(*node);
    return true;
  }

  /// Runs what has been posted until now, but not what that posts in turn. True if there was anything.
  bool run_posted() noexcept {
    if (!has_posted()) return false;
    begin_posted();
    while (run_next_posted()) {}
    return true;
  }

  bool has_owner() const noexcept { return owner_ != 0; }
  void take_ownership() noexcept { owner_ = this_thread_number(); }
  void give_up_ownership() noexcept { owner_ = 0; }

  void set_closed() noexcept { closed_ = true; }

  bool is_running() const noexcept { return is_running_; }
  void set_running(bool is_running) noexcept { is_running_ = is_running; }
  /// It is run by a callback or coroutine of another loop.
  void note_run_within_another() noexcept { is_run_within_others_ = true; }

  /// From now on, post_to() no longer finds this loop.
  void leave() noexcept {
    const std::lock_guard lock(open.mutex);
    if (is_linked()) unlink();
  }

 private:
  friend class list<mailbox>;

  struct registry {
    // A child process must not use the loops of its parent. Besides, another thread may have been changing the list.
    void enter_process() noexcept {
      if (process.has_changed()) mailboxes.renew();
    }
    // Shared libraries that are loaded at run time may have registries of their own, whose numbers must differ.
    loop_number next_number() noexcept {
      return (loop_number(reinterpret_cast<std::uintptr_t>(this)) << 16) + ++last_number;
    }

    process_mutex mutex;
    last_process process;
    loop_number last_number = 0;
    list<mailbox> mailboxes;  // of the loops that have not closed
  };
  static registry open;

  // Under the lock, so that the loop cannot end meanwhile.
  template <class Action>
  static bool with_open(loop_number number, Action&& action) noexcept {
    const std::lock_guard lock(open.mutex);
    open.enter_process();
    mailbox* found = nullptr;
    open.mailboxes.for_each([&](mailbox& each) {
      if (each.number_ == number) found = &each;
    });
    if (found != nullptr) action(*found);
    return found != nullptr;
  }

  void (*const wake_)(mailbox&) noexcept;
  loop_number number_;
  std::uint64_t owner_ = 0;  // this_thread_number(); 0 if there is none
  bool is_running_ = false;  // within run() or poll()
  bool is_run_within_others_ = false;
  bool closed_ = false;
  std::atomic<clock::rep> posted_at_ = 0;  // when the first of arrivals_ was posted; 0 if that is unknown
  arrivals<posted> arrivals_;
  queue<posted> posted_;            // taken from arrivals_, not yet run
  posted* last_of_turn_ = nullptr;  // the last that the turn runs; null if none is left
};

inline constinit mailbox::registry mailbox::open;

}  // namespace detail
QIO_END_NAMESPACE
