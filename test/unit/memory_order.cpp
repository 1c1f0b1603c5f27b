// The memory order of the two queues that qio shares with the kernel: the code of system/linux/ring.hpp runs against a
// model of the kernel, in a model of memory that returns every value which a processor may return.
//
// Nothing is copied from ring.hpp. It is compiled here with a model's class in place of std::atomic_ref, and a model's
// function in place of syscall(2). So a changed order, or a changed access, is explored as it is.
#include "catch.hpp"
#include "memory_model.hpp"
#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/posix/process.hpp>

#if QIO_HAS_URING
#include <fcntl.h>
#include <liburing/compat.h>
#include <liburing/io_uring.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using memory_model::kernel_thread;
using memory_model::party;
using memory_model::qio_thread;

enum word : std::uint8_t {
  submission_head,
  submission_tail,
  submission_flags,
  completion_head,
  completion_tail,
  event,  // an eventfd, which is no memory of the ring: its lock orders memory
  words
};
constexpr const char* word_names[] = {"submission head", "submission tail", "submission flags",
                                      "completion head", "completion tail", "event"};
constexpr std::size_t most_entries = 4;

/// One kind of access: that of a party to a word.
struct word_access {
  party who;
  word to;
  bool is_store;

  bool operator==(const word_access&) const = default;
};

/// What the ring maps.
struct shared_memory {
  alignas(64) unsigned indices[16];
  // Not an array of them: they end with an array of any length.
  std::uint64_t room_for_completions[most_entries * sizeof(io_uring_cqe) / sizeof(std::uint64_t)];
  io_uring_sqe entries[most_entries];

  io_uring_cqe* completions() noexcept { return reinterpret_cast<io_uring_cqe*>(room_for_completions); }
};

/// Which kernel it is, and what is wrong with it or with the program.
struct situation {
  unsigned submission_entries = 2, completion_entries = 2;
  unsigned operations = 3;
  /// As with IORING_SETUP_SQPOLL. Otherwise, entries are taken within io_uring_enter(2), on the thread that calls it.
  bool takes_on_own_thread = true;
  bool takes_some = false;        // any number of entries, not all
  bool sets_event = false;        // when a completion arrives: IORING_REGISTER_EVENTFD
  bool defers = false;            // a completion is written within enter(): IORING_SETUP_DEFER_TASKRUN
  bool sets_event_first = false;  // defect: before the event can be seen that it announces
  bool looks_first = false;       // defect of the program: it looks for completions, then resets the event
  std::optional<word_access> relaxed = std::nullopt;  // defect: an access without its order
};

/// One run: qio's thread runs ring.hpp, and wherever that accesses shared memory, the kernel may take any of its steps.
class world {
 public:
  world(const situation& in, memory_model::exploration& choices) : in_(in), choices_(choices) {
    present = this;
    shared = {};
  }
  ~world() { present = nullptr; }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  static inline world* present = nullptr;
  static inline shared_memory shared;

  const situation& in() const noexcept { return in_; }
  const std::string& violation() const noexcept { return violation_; }
  bool is_violated() const noexcept { return !violation_.empty(); }
  void violate(const char* what) {
    if (violation_.empty()) violation_ = what;
  }

  /// qio's thread comes to a place of its program where only these bytes determine what it does next.
  void come_to(unsigned place, std::span<const std::byte> state) {
    seen_ = {};
    note(0x30, place);
    for (const std::byte each : state) seen_.add(std::to_integer<std::uint64_t>(each));
  }

  // --- accesses of qio's thread ---

  unsigned load(const unsigned& from, std::memory_order order) {
    const word which = word_at(from);
    let_kernel_run();
    const unsigned age = choose(memory_.readable(qio_thread, which));
    const unsigned value = memory_.load(qio_thread, which, age, actual(qio_thread, which, false, order));
    note(which, value);
    return value;
  }
  void store(unsigned& to, unsigned value, std::memory_order order) {
    let_kernel_run();
    to = value;  // for plain loads of qio's own indices
    memory_.store(qio_thread, word_at(to), value, actual(qio_thread, word_at(to), true, order));
    note(0x10, value);
  }
  void has_written(const io_uring_sqe& entry) {
    if (!memory_.write_place(qio_thread, static_cast<std::size_t>(&entry - shared.entries)))
      violate("an entry is overwritten that the kernel may still read");
  }
  void reads(const io_uring_cqe& completion) {
    if (!memory_.read_place(qio_thread, most_entries + static_cast<std::size_t>(&completion - shared.completions())))
      violate("a completion is read that may not be written yet");
  }

  // --- system calls of qio's thread ---

  int enter(unsigned submitted, unsigned wanted) {
    let_kernel_run();
    if (!in_.takes_on_own_thread) {
      if (in_.takes_some) submitted -= choose(submitted + 1);
      for (unsigned i = 0; i != submitted; ++i) take(qio_thread);
      memory_.synchronize(qio_thread, kernel_thread);  // by locks of the kernel
    }
    if (in_.defers) write_deferred();
    while (arrived() < wanted && run_kernel())
      if (in_.defers) write_deferred();
    // The kernel has read this tail on this thread, which reads no older one afterwards.
    if (wanted != 0) memory_.skip_to_newest(qio_thread, completion_tail);
    note(0x20, submitted);
    return static_cast<int>(submitted);
  }
  /// Reads the eventfd.
  void reset_event() {
    let_kernel_run();
    const auto order = actual(qio_thread, event, false, std::memory_order_acq_rel);
    note(0x21, memory_.modify(qio_thread, event, order, [](unsigned) { return 0u; }));
  }
  void sleep_until_event() {
    while (memory_.value(event) == 0 && run_kernel()) {}
    note(0x22, 0);
  }

  /// To look again and find nothing newer changes nothing. So this waits for something newer at one of these places,
  /// and has it seen, as it will be at some time.
  void look_until_news(std::initializer_list<word> at) {
    do {
      std::vector<word> newer;
      for (const word each : at)
        if (memory_.unread(qio_thread, each) != 0) newer.push_back(each);
      if (!newer.empty()) {
        const word found = newer[choose(static_cast<unsigned>(newer.size()))];
        memory_.skip_to_unread(qio_thread, found);
        return note(0x23, found);
      }
    } while (run_kernel());
  }

 private:
  // --- the kernel's thread ---

  enum step : std::uint8_t {
    look_for_entries,
    take_entry,
    look_for_room,
    begin_completion,
    write,
    defer,
    flag,
    signal
  };

  std::vector<step> possible_steps() const {
    if (!due_.empty()) return {due_.front()};
    std::vector<step> steps;
    if (in_.takes_on_own_thread) {
      if (tail_seen_ != taken_)
        steps.push_back(take_entry);
      else if (memory_.unread(kernel_thread, submission_tail) != 0)
        steps.push_back(look_for_entries);
    }
    if (in_.defers ? taken_ != deferred_ : taken_ != completed_ && has_room()) steps.push_back(begin_completion);
    if (!in_.defers && taken_ != completed_ && !has_room() && memory_.unread(kernel_thread, completion_head) != 0)
      steps.push_back(look_for_room);
    return steps;
  }
  bool has_room() const noexcept { return completed_ - head_seen_ != in_.completion_entries; }

  void let_kernel_run() {
    for (;;) {
      const std::vector<step> steps = possible_steps();
      const unsigned chosen = choose(1 + static_cast<unsigned>(steps.size()));
      if (chosen == 0) return;
      run(steps[chosen - 1]);
    }
  }
  // For a thread that waits. False if the kernel has nothing left to do, so nothing ends the wait.
  bool run_kernel() {
    const std::vector<step> steps = possible_steps();
    if (steps.empty()) {
      violate("a thread waits for what has happened");
      return false;
    }
    run(steps[choose(static_cast<unsigned>(steps.size()))]);
    return true;
  }

  void run(step which) {
    if (!due_.empty()) due_.erase(due_.begin());
    switch (which) {
      case look_for_entries: tail_seen_ = look(submission_tail); break;
      case take_entry: take(kernel_thread); break;
      // io_uring.c has a control dependency here. It orders the load before stores, which is all that is needed.
      case look_for_room: head_seen_ = look(completion_head); break;
      case begin_completion: {
        // An event for the first of those that are deferred at the same time is enough.
        const bool is_first = !in_.defers || deferred_ == completed_;
        due_ = {in_.defers ? defer : write};
        if (in_.defers && is_first) due_.push_back(flag);
        // What the event announces is the last step but one.
        if (in_.sets_event && is_first) due_.insert(due_.end() - in_.sets_event_first, signal);
        return run(due_.front());
      }
      case write: complete(kernel_thread); break;
      case defer: ++deferred_; break;
      case flag:
        memory_.modify(kernel_thread, submission_flags, std::memory_order_relaxed,
                       [](unsigned flags) { return flags | IORING_SQ_TASKRUN; });
        break;
      case signal:
        memory_.modify(kernel_thread, event, std::memory_order_acq_rel, [](unsigned count) { return count + 1; });
        break;
    }
  }

  // The kernel repeats a look until it finds a newer value.
  unsigned look(word at) {
    const unsigned age = choose(memory_.unread(kernel_thread, at));
    return memory_.load(kernel_thread, at, age, actual(kernel_thread, at, false, std::memory_order_acquire));
  }
  void take(party who) {
    const std::size_t place = taken_ % in_.submission_entries;
    if (!memory_.read_place(who, place)) violate("an entry is taken that may not be written yet");
    if (shared.entries[place].user_data != taken_) violate("entries are not taken once each, in order");
    ++taken_;
    memory_.store(who, submission_head, taken_, actual(who, submission_head, true, std::memory_order_release));
  }
  void complete(party who) {
    const std::size_t place = completed_ % in_.completion_entries;
    if (!memory_.write_place(who, most_entries + place)) violate("a completion is overwritten that may still be read");
    shared.completions()[place] = {};
    shared.completions()[place].user_data = completed_++;
    memory_.store(who, completion_tail, completed_, actual(who, completion_tail, true, std::memory_order_release));
  }
  /// Within enter(), on qio's thread.
  void write_deferred() {
    memory_.synchronize(kernel_thread, qio_thread);  // by the list of what is deferred, but the flag is set later
    memory_.modify(qio_thread, submission_flags, std::memory_order_relaxed,
                   [](unsigned flags) { return flags & ~unsigned(IORING_SQ_TASKRUN); });
    head_seen_ = memory_.value(completion_head);
    while (completed_ != deferred_ && has_room()) complete(qio_thread);
    note(0x24, completed_);
  }
  unsigned arrived() const noexcept { return memory_.value(completion_tail) - memory_.value(completion_head); }

  // --- the model ---

  std::memory_order actual(party who, word which, bool is_store, std::memory_order order) const noexcept {
    return in_.relaxed == word_access{who, which, is_store} ? std::memory_order_relaxed : order;
  }
  static word word_at(const unsigned& at) noexcept { return static_cast<word>(&at - shared.indices); }
  void note(unsigned what, unsigned value) noexcept { seen_.add(std::uint64_t(what) << 32 | value); }

  unsigned choose(unsigned alternatives) {
    return choices_.choose(alternatives, [&] {
      memory_model::fingerprint state = seen_;
      memory_.add_to(state);
      for (const unsigned each : {alternatives, taken_, tail_seen_, completed_, head_seen_, deferred_}) state.add(each);
      for (const step each : due_) state.add(each);
      return state.value();
    });
  }

  const situation in_;
  memory_model::exploration& choices_;
  memory_model::memory<words, 2 * most_entries> memory_;
  memory_model::fingerprint seen_;  // what qio's thread has read since then: it determines what that thread does next
  unsigned taken_ = 0, tail_seen_ = 0, completed_ = 0, head_seen_ = 0, deferred_ = 0;
  std::vector<step> due_;  // what the kernel does next, without a choice
  std::string violation_;
};

}  // namespace

// What ring.hpp is compiled with.
namespace std {
template <class T>
class modeled_ref {
 public:
  explicit modeled_ref(T& at) noexcept : at_(at) {}
  T load(memory_order order) const { return ::world::present->load(at_, order); }
  void store(T value, memory_order order) const { ::world::present->store(at_, value, order); }

 private:
  T& at_;
};
}  // namespace std

namespace {

long modeled_syscall(long, unsigned, io_uring_params* parameters) noexcept {
  const situation& in = world::present->in();
  parameters->sq_entries = in.submission_entries;
  parameters->cq_entries = in.completion_entries;
  parameters->features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_EXT_ARG;
  const auto offset = [](word of) { return static_cast<unsigned>(of * sizeof(unsigned)); };
  parameters->sq_off.head = offset(submission_head);
  parameters->sq_off.tail = offset(submission_tail);
  parameters->sq_off.flags = offset(submission_flags);
  parameters->cq_off.head = offset(completion_head);
  parameters->cq_off.tail = offset(completion_tail);
  parameters->cq_off.cqes = offsetof(shared_memory, room_for_completions);
  return ::eventfd(0, EFD_CLOEXEC);  // any descriptor, which is closed with the ring
}
long modeled_syscall(long, int, unsigned submitted, unsigned wanted, unsigned, const void*, std::size_t) noexcept {
  return world::present->enter(submitted, wanted);
}
long modeled_syscall(long, int, unsigned, void*, unsigned) noexcept {  // io_uring_register(2)
  errno = EINVAL;
  return -1;
}
void* modeled_mmap(void*, std::size_t, int, int, int, off_t what) noexcept {
  return what == IORING_OFF_SQES ? static_cast<void*>(world::shared.entries) : &world::shared;
}
int modeled_munmap(void*, std::size_t) noexcept { return 0; }
int modeled_madvise(void*, std::size_t, int) noexcept { return 0; }

}  // namespace

#define atomic_ref modeled_ref
#define syscall modeled_syscall
#define mmap modeled_mmap
#define munmap modeled_munmap
#define madvise modeled_madvise
#include <qio/system/linux/ring.hpp>
#undef atomic_ref
#undef syscall
#undef mmap
#undef munmap
#undef madvise

namespace {

using qio::detail::ring;

/// What a program does with a ring. It puts entries numbered 0, 1, 2 ... into it, until all have completed.
class program {
 public:
  program(ring& queues, world& in) : ring_(queues), world_(in) {}

  /// To be asked in front of each turn.
  bool has_all() noexcept {
    world_.come_to(put_ << 8 | taken_, std::as_bytes(std::span(&ring_, 1)));
    return taken_ == world_.in().operations || world_.is_violated();
  }

  /// As many as there is room for. False if there was none.
  bool put() {
    const unsigned before = put_;
    while (put_ != world_.in().operations) {
      io_uring_sqe* const entry = ring_.next_entry();
      if (entry == nullptr) break;
      entry->user_data = put_++;
      world_.has_written(*entry);
    }
    return put_ != before;
  }
  /// False if there was none.
  bool take() {
    const unsigned before = taken_;
    ring_.take_completions([&](const io_uring_cqe& completion) {
      world_.reads(completion);
      if (completion.user_data != taken_++) world_.violate("completions do not arrive once each, in order");
    });
    return taken_ != before;
  }
  void take_back() {
    unsigned first = 0, count = 0;
    ring_.take_back([&](const io_uring_sqe& entry) {
      if (count == 0) first = static_cast<unsigned>(entry.user_data);
      if (entry.user_data != first + count++) world_.violate("entries are not taken back in order");
    });
    if (count != 0 && first + count != put_) world_.violate("entries are not taken back once each");
    put_ -= count;
  }
  void look_again() {
    if (put_ == world_.in().operations) return world_.look_until_news({completion_tail});
    world_.look_until_news({completion_tail, submission_head});
  }

 private:
  ring& ring_;
  world& world_;
  unsigned put_ = 0, taken_ = 0;
};

using way = void (*)(ring&, world&);

/// Looks into the completion queue again and again.
void watch_queue(ring& queues, world& in) {
  program one(queues, in);
  while (!one.has_all()) {
    const bool has_put = one.put();
    if (has_put) queues.enter(0);
    if (!one.take() && !has_put) one.look_again();
  }
}

/// Waits in the kernel for each completion.
void wait_in_kernel(ring& queues, world& in) {
  program one(queues, in);
  while (!one.has_all()) {
    one.put();
    queues.enter(1);
    if (!one.take()) in.violate("a wait has ended without a completion");
  }
}

/// Counts what is in both queues before it takes anything.
void count_first(ring& queues, world& in) {
  program one(queues, in);
  while (!one.has_all()) {
    const bool has_put = one.put();
    if (has_put) queues.enter(0);
    if (queues.pending() > in.in().submission_entries) in.violate("more entries are pending than there are");
    if (queues.has_completions()) {
      if (queues.completions() == 0) in.violate("a completion that was there is gone");
      if (!one.take()) in.violate("a completion that was counted is not there");
    } else if (!has_put) {
      one.look_again();
    }
  }
}

/// Takes back what the kernel has not taken, and puts it into the ring again.
void take_back(ring& queues, world& in) {
  program one(queues, in);
  while (!one.has_all()) {
    const bool has_put = one.put();
    queues.enter(0);
    one.take_back();
    if (!one.take() && !has_put) one.look_again();
    if (queues.pending() != 0) in.violate("entries are pending that were taken back");
  }
}

/// Another event loop waits for the event, as it does for context::wake_handle(): the engine's prepare_to_wait().
void wait_for_event(ring& queues, world& in) {
  program one(queues, in);
  one.put();
  queues.enter(0);
  const auto look = [&] {
    if (queues.has_deferred()) queues.enter(0);
    return one.take();
  };
  while (!one.has_all()) {
    bool has_taken = in.in().looks_first && look();
    in.reset_event();
    if (!in.in().looks_first) has_taken = look();
    if (!has_taken) in.sleep_until_event();
  }
}

struct finding {
  std::string violation;
  std::size_t states = 0, runs = 0;
};

/// Explores all that may happen, up to the first violation.
finding explore(way how, const situation& in) {
  memory_model::exploration choices;
  finding found;
  do {
    world one(in, choices);
    ring queues;
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_NO_SQARRAY;
    if (queues.open(in.submission_entries, parameters) != 0) one.violate("no ring was opened");
    if (!one.is_violated()) how(queues, one);
    found.violation = one.violation();
  } while (found.violation.empty() && choices.advance());
  found.states = choices.states();
  found.runs = choices.runs();
  return found;
}

}  // namespace

namespace {

struct named_way {
  const char* name;
  way how;
};
constexpr named_way ways[] = {
    {"watch the queue", watch_queue}, {"wait in the kernel", wait_in_kernel}, {"count first", count_first}};

/// All sizes of both queues up to `most_entries`.
template <class Check>
void each_size(Check check) {
  for (const unsigned submissions : {1u, 2u, 4u})
    for (const unsigned completions : {1u, 2u, 4u})
      check(situation{.submission_entries = submissions, .completion_entries = completions});
}

/// Explores a correct program on a correct kernel in queues of all sizes, and prints how much that is (`-s`).
std::size_t check_all_sizes(situation like, unsigned most_operations, way how) {
  std::size_t states = 0, runs = 0;
  each_size([&](const situation& size) {
    like.submission_entries = size.submission_entries;
    like.completion_entries = size.completion_entries;
    // The entries of both queues are used again.
    like.operations = std::min(most_operations, std::max(size.submission_entries, size.completion_entries) + 2);
    const finding found = explore(how, like);
    INFO("queues of " << like.submission_entries << " and " << like.completion_entries);
    CHECK(found.violation == "");
    states += found.states;
    runs += found.runs;
  });
  INFO(states << " states, " << runs << " runs");
  CHECK(states > 0);
  return states;
}

std::string violation_if_relaxed(way how, situation in, const word_access& relaxed) {
  in.relaxed = relaxed;
  return explore(how, in).violation;
}

constexpr situation small{.submission_entries = 2, .completion_entries = 2, .operations = 4};

}  // namespace

TEST_CASE("nothing in a ring's queues is read before it is written, or overwritten before it is read") {
  std::size_t states = 0;
  for (const named_way& each : ways) {
    INFO(each.name);
    states += check_all_sizes({}, each.how == count_first ? 4 : 5, each.how);
  }
  CHECK(states > 100'000);
}

TEST_CASE("nothing in a ring's queues is read or overwritten too early, in more rounds", "[nightly]") {
  for (const named_way& each : ways) {
    INFO(each.name);
    check_all_sizes({}, 6, each.how);
  }
}

TEST_CASE("without any of the orders of qio and of the kernel, something in a ring's queues is used too early") {
  struct expectation {
    word_access relaxed;
    const char* violation;
  };
  constexpr bool load = false, store = true;
  const char* const entry_read = "an entry is taken that may not be written yet";
  const char* const entry_overwritten = "an entry is overwritten that the kernel may still read";
  const char* const completion_read = "a completion is read that may not be written yet";
  const char* const completion_overwritten = "a completion is overwritten that may still be read";
  const expectation all[] = {
      {{qio_thread, submission_tail, store}, entry_read},
      {{kernel_thread, submission_tail, load}, entry_read},
      {{kernel_thread, submission_head, store}, entry_overwritten},
      {{qio_thread, submission_head, load}, entry_overwritten},
      {{kernel_thread, completion_tail, store}, completion_read},
      {{qio_thread, completion_tail, load}, completion_read},
      {{qio_thread, completion_head, store}, completion_overwritten},
      {{kernel_thread, completion_head, load}, completion_overwritten},
  };
  for (const named_way& how : ways)
    for (const expectation& each : all) {
      INFO(how.name << ", " << (each.relaxed.who == qio_thread ? "qio" : "the kernel")
                    << (each.relaxed.is_store ? " writes " : " reads ") << word_names[each.relaxed.to]);
      CHECK(violation_if_relaxed(how.how, small, each.relaxed) == each.violation);
    }
}

TEST_CASE("where entries are taken within io_uring_enter, the orders of the completion queue are all that is needed") {
  situation within = small;
  within.takes_on_own_thread = false;
  for (const named_way& how : ways) {
    INFO(how.name);
    check_all_sizes(within, 6, how.how);
    for (const bool is_store : {false, true}) {
      CHECK(violation_if_relaxed(how.how, within, {qio_thread, submission_head, is_store}) == "");
      CHECK(violation_if_relaxed(how.how, within, {qio_thread, submission_tail, is_store}) == "");
    }
    CHECK(violation_if_relaxed(how.how, within, {qio_thread, completion_tail, false}) ==
          "a completion is read that may not be written yet");
    CHECK(violation_if_relaxed(how.how, within, {qio_thread, completion_head, true}) ==
          "a completion is overwritten that may still be read");
  }
}

TEST_CASE("entries that are taken back are in the ring once, however many the kernel has taken") {
  check_all_sizes({.takes_on_own_thread = false, .takes_some = true}, 6, take_back);
}

TEST_CASE("an event loop that waits for a ring's event misses no completion, written or deferred") {
  for (const bool defers : {false, true}) {
    CAPTURE(defers);
    situation in{.submission_entries = 4,
                 .completion_entries = 4,
                 .operations = 4,
                 .takes_on_own_thread = false,
                 .sets_event = true,
                 .defers = defers};
    const finding found = explore(wait_for_event, in);
    INFO(found.states << " states, " << found.runs << " runs");
    CHECK(found.violation == "");
    CHECK(found.states > 50);

    const char* const missed = "a thread waits for what has happened";
    // As the event of the engine would be without the lock of an eventfd.
    CHECK(violation_if_relaxed(wait_for_event, in, {qio_thread, event, false}) == missed);
    situation late = in;
    late.sets_event_first = true;
    CHECK(explore(wait_for_event, late).violation == missed);
    situation wrong = in;
    wrong.looks_first = true;
    CHECK(explore(wait_for_event, wrong).violation == missed);
  }
}

// --- the model itself ---

namespace {

constexpr auto relaxed = std::memory_order_relaxed, acquire = std::memory_order_acquire,
               release = std::memory_order_release;

/// One access of a litmus test. An increment is a read-modify-write.
struct instruction {
  enum { load, store, increment } what;
  std::size_t word;
  std::memory_order order;
};

/// Everything that the loads of two programs may return together. Stores store 1.
std::set<std::vector<unsigned>> results(const std::vector<instruction> (&programs)[2]) {
  memory_model::exploration choices;
  std::set<std::vector<unsigned>> all;
  std::uint64_t states = 0;
  const auto another = [&states] { return ++states; };  // so that nothing is taken for known
  do {
    memory_model::memory<2, 1> memory;
    std::vector<unsigned> loaded[2];
    std::size_t at[2] = {0, 0};
    while (at[0] != programs[0].size() || at[1] != programs[1].size()) {
      const bool may_choose = at[0] != programs[0].size() && at[1] != programs[1].size();
      const unsigned which = may_choose ? choices.choose(2, another) : at[0] == programs[0].size();
      const auto who = static_cast<party>(which);
      const instruction& next = programs[which][at[which]++];
      if (next.what == instruction::store) {
        memory.store(who, next.word, 1, next.order);
      } else if (next.what == instruction::increment) {
        memory.modify(who, next.word, next.order, [](unsigned old) { return old + 1; });
      } else {
        const unsigned age = choices.choose(memory.readable(who, next.word), another);
        loaded[which].push_back(memory.load(who, next.word, age, next.order));
      }
    }
    loaded[0].insert(loaded[0].end(), loaded[1].begin(), loaded[1].end());
    all.insert(loaded[0]);
  } while (choices.advance());
  return all;
}

}  // namespace

TEST_CASE("the model of memory returns what C++ allows, and nothing else") {
  constexpr std::size_t data = 0, ready = 1;
  const auto has = [](const auto& all, std::vector<unsigned> one) { return all.count(one) != 0; };
  const auto message = [&](std::memory_order store, std::memory_order load) {
    return results({{{instruction::store, data, relaxed}, {instruction::store, ready, store}},
                    {{instruction::load, ready, load}, {instruction::load, data, relaxed}}});
  };
  CHECK_FALSE(has(message(release, acquire), {1, 0}));
  CHECK(message(release, acquire).size() == 3);
  CHECK(has(message(relaxed, acquire), {1, 0}));
  CHECK(has(message(release, relaxed), {1, 0}));

  // Both threads may miss the other's store, whatever the order is.
  const auto stores_first = results({{{instruction::store, data, release}, {instruction::load, ready, acquire}},
                                     {{instruction::store, ready, release}, {instruction::load, data, acquire}}});
  CHECK(stores_first.size() == 4);

  // One location has one order.
  const auto coherent = results({{{instruction::store, data, relaxed}, {instruction::increment, data, relaxed}},
                                 {{instruction::load, data, relaxed}, {instruction::load, data, relaxed}}});
  CHECK(coherent == std::set<std::vector<unsigned>>{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}});

  // A read-modify-write continues a release sequence, also a relaxed one.
  const auto sequence = results({{{instruction::store, data, relaxed},
                                  {instruction::store, ready, release},
                                  {instruction::increment, ready, relaxed}},
                                 {{instruction::load, ready, acquire}, {instruction::load, data, relaxed}}});
  CHECK_FALSE(has(sequence, {2, 0}));
}
#endif
