// Which thread continues: by random walks, or by random priorities that change at a few random places (Burckhardt et
// al., "A randomized scheduler with probabilistic guarantees of finding bugs", 2010).
#include "runtime.hpp"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace schedules {
namespace {

constexpr std::size_t most_threads = 64;
constexpr std::uint64_t most_points = 400'000;
constexpr unsigned longest_run = 300;  // of one thread, while others could continue
constexpr instant begin_of_time = 1'000'000'000'000;

struct thread {
  unsigned index = 0;
  sem_t turn;
  pthread_t handle{};
  void* (*start)(void*) = nullptr;
  void* argument = nullptr;
  bool has_ended = false, is_joined = false;
  const condition* waits = nullptr;
  instant until = never;
  const char* where = "start";
  unsigned depth_in_runtime = 0;
  std::int64_t priority = 0;

  thread() noexcept { ::sem_init(&turn, 0, 0); }
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;
  ~thread() { ::sem_destroy(&turn); }
  bool can_continue() const noexcept { return !has_ended && (waits == nullptr || waits->holds() || until <= now()); }
};

/// Two that act besides the threads.
constexpr unsigned kernel = most_threads, time = most_threads + 1;

/// The last choices, for the report.
struct step {
  unsigned who;
  const char* where;
};

enum class strategy { without_preemption, random_walk, priorities };

struct schedule {
  const char* name = "";
  std::uint64_t seed = 0, random = 0;
  strategy how = strategy::without_preemption;
  unsigned stays_one_in = 2;
  bool has_disturbances = false;
  std::vector<std::uint64_t> changes;  // of priorities: points, ascending
  std::size_t next_change = 0;
  std::int64_t lowest = 0;
  std::int64_t kernel_priority = 0;
  instant clock = begin_of_time;
  unsigned in_a_row = 0;
  outcome seen;
  std::vector<std::unique_ptr<thread>> threads;
  std::array<step, 64> last{};
  std::uint64_t steps = 0;

  std::uint64_t draw() noexcept {
    random += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = (random ^ (random >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  unsigned below(unsigned alternatives) noexcept {
    return static_cast<unsigned>(((draw() >> 32) * alternatives) >> 32);
  }
  void note(unsigned who, const char* where) noexcept {
    std::uint64_t of_place = 0;
    for (const char* each = where; *each != 0; ++each) of_place = of_place * 31 + static_cast<unsigned char>(*each);
    seen.digest = ((seen.digest ^ who ^ (of_place << 8)) * 0x9e3779b97f4a7c15u);
    seen.digest ^= seen.digest >> 29;
    last[steps++ % last.size()] = {who, where};
  }
};

schedule* present = nullptr;
thread_local thread* self = nullptr;

void print_thread(unsigned who) {
  if (who == kernel)
    std::fprintf(stderr, "kernel");
  else if (who == time)
    std::fprintf(stderr, "clock");
  else
    std::fprintf(stderr, "thread %u", who);
}

void report(const char* why) noexcept {
  std::fflush(stdout);
  std::fprintf(stderr, "schedules: %s\n", why);
  if (present == nullptr) return;
  const schedule& of = *std::exchange(present, nullptr);
  std::fprintf(stderr, "  in \"%s\", with the seed %llu, after %llu points; QIO_SCHEDULE_SEED=%llu repeats it\n",
               of.name, static_cast<unsigned long long>(of.seed), static_cast<unsigned long long>(of.seen.points),
               static_cast<unsigned long long>(of.seed));
  for (const auto& each : of.threads)
    std::fprintf(stderr, "  thread %u: %s%s\n", each->index,
                 each->has_ended          ? "has ended"
                 : each->waits != nullptr ? "waits for "
                                          : "at ",
                 each->has_ended          ? ""
                 : each->waits != nullptr ? each->waits->what()
                                          : each->where);
  std::fprintf(stderr, "  who continued last:");
  const std::uint64_t first = of.steps < of.last.size() ? 0 : of.steps - of.last.size();
  for (std::uint64_t i = first; i != of.steps; ++i) {
    const step& each = of.last[i % of.last.size()];
    std::fprintf(stderr, "\n    ");
    print_thread(each.who);
    std::fprintf(stderr, ", %s", each.where);
  }
  std::fprintf(stderr, "\n");
}

void killed(int signal) noexcept {
  char why[64];
  std::snprintf(why, sizeof why, "the program was ended by signal %d", signal);
  if (self != nullptr) ++self->depth_in_runtime;
  report(why);
  std::_Exit(1);
}

instant next_deadline(const schedule& of) noexcept {
  instant earliest = never;
  for (const auto& each : of.threads)
    if (!each->has_ended && each->waits != nullptr) earliest = std::min(earliest, each->until);
  return earliest;
}

struct candidates {
  std::array<unsigned, most_threads + 2> who{};
  unsigned count = 0;
  void add(unsigned one) noexcept { who[count++] = one; }
  bool has(unsigned one) const noexcept {
    return std::find(who.begin(), who.begin() + count, one) != who.begin() + count;
  }
};

std::int64_t priority_of(const schedule& of, unsigned who) noexcept {
  if (who == time) return std::numeric_limits<std::int64_t>::max();  // it is a candidate rarely
  return who == kernel ? of.kernel_priority : of.threads[who]->priority;
}

unsigned pick(schedule& in, thread& me, const candidates& from, bool yields) noexcept {
  if (++in.in_a_row >= longest_run) yields = true;
  if (in.how == strategy::priorities) {
    if (yields) me.priority = --in.lowest;
    if (in.next_change != in.changes.size() && in.changes[in.next_change] <= in.seen.points) {
      ++in.next_change;
      (in.below(4) == 0 ? in.kernel_priority : me.priority) = --in.lowest;
    }
    return *std::max_element(from.who.begin(), from.who.begin() + from.count,
                             [&](unsigned a, unsigned b) { return priority_of(in, a) < priority_of(in, b); });
  }
  const bool may_stay = !yields && from.has(me.index);
  if (may_stay && (in.how == strategy::without_preemption || in.below(in.stays_one_in) != 0)) return me.index;
  unsigned chosen = from.who[in.how == strategy::without_preemption ? 0 : in.below(from.count)];
  if (yields && chosen == me.index && from.count > 1) {
    const auto* const at = std::find(from.who.begin(), from.who.begin() + from.count, chosen);
    chosen = at + 1 == from.who.begin() + from.count ? from.who[0] : *(at + 1);
  }
  return chosen;
}

/// The thread that continues. The kernel acts and time passes before, on this thread.
thread& next(schedule& in, thread& me, bool yields) noexcept {
  for (;;) {
    candidates from;
    for (const auto& each : in.threads)
      if (each->can_continue()) from.add(each->index);
    const unsigned threads = from.count;
    if (kernel_can_act()) from.add(kernel);
    const instant deadline = next_deadline(in);
    const bool may_pass = deadline != never && deadline > in.clock;
    if (may_pass && (from.count == 0 || (in.seed != 0 && in.below(threads == 0 ? 4 : 64) == 0))) from.add(time);
    if (from.count == 0) fail("no thread can continue");
    const unsigned chosen = pick(in, me, from, yields);
    in.note(chosen, chosen < most_threads ? in.threads[chosen]->where : "acts");
    if (chosen == kernel) {
      kernel_acts();
    } else if (chosen == time) {
      in.clock = deadline;
    } else {
      return *in.threads[chosen];
    }
  }
}

/// `me` may continue only when this returns.
void let_others_continue(thread& me, bool yields) noexcept {
  const int code = errno;
  ++me.depth_in_runtime;
  schedule& in = *present;
  if (++in.seen.points > most_points) fail("the threads do not end");
  in.clock += 50;
  thread& chosen = next(in, me, yields);
  if (&chosen != &me) {
    in.in_a_row = 0;
    ++in.seen.switches;
    ::sem_post(&chosen.turn);
    if (!me.has_ended)
      while (::sem_wait(&me.turn) != 0) {}
  }
  --me.depth_in_runtime;
  errno = code;
}

thread& add_thread(schedule& to) {
  if (to.threads.size() == most_threads) fail("there are too many threads");
  to.threads.push_back(std::make_unique<thread>());
  thread& added = *to.threads.back();
  added.index = static_cast<unsigned>(to.threads.size() - 1);
  added.priority = static_cast<std::int64_t>(to.draw() >> 2);
  return added;
}

void* run_thread(void* given) {
  thread& me = *static_cast<thread*>(given);
  while (::sem_wait(&me.turn) != 0) {}
  self = &me;
  void* const returned = me.start(me.argument);
  me.has_ended = true;
  me.where = "end";
  let_others_continue(me, false);
  self = nullptr;
  return returned;
}

void choose_strategy(schedule& of) {
  of.random = of.seed * 0xd1342543de82ef95u + 1;
  of.draw();
  if (of.seed == 0) return;
  of.has_disturbances = of.below(3) == 0;
  of.how = of.below(2) == 0 ? strategy::random_walk : strategy::priorities;
  of.stays_one_in = 2u << of.below(6);
  of.kernel_priority = static_cast<std::int64_t>(of.draw() >> 2);
  if (of.how != strategy::priorities) return;
  const unsigned length = 32u << of.below(6);
  for (unsigned count = of.below(6); count != 0; --count) of.changes.push_back(of.below(length));
  std::sort(of.changes.begin(), of.changes.end());
}

/// Once for the process: one processor, so that threads hand over quickly; and a thread, so that the standard library
/// counts references atomically from the first schedule on.
void prepare_process() {
  static bool is_prepared = false;
  if (std::exchange(is_prepared, true)) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(std::max(::sched_getcpu(), 0)), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  pthread_t made;
  const auto nothing = [](void* same) -> void* { return same; };
  if (::pthread_create(&made, nullptr, nothing, nullptr) == 0) ::pthread_join(made, nullptr);
}

}  // namespace

outcome run(const char* name, std::uint64_t seed, const std::function<void()>& scenario) {
  prepare_process();
  for (const int each : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) ::signal(each, killed);
  schedule made;
  made.name = name;
  made.seed = seed;
  choose_strategy(made);
  reset_kernel();
  reset_threads();
  thread& first = add_thread(made);
  present = &made;
  self = &first;
  scenario();
  ++first.depth_in_runtime;
  for (const auto& each : made.threads)
    if (each.get() != &first && !each->is_joined) fail("a thread was not joined");
  self = nullptr;
  present = nullptr;
  return made.seen;
}

void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

unsigned choose(unsigned alternatives) noexcept { return present == nullptr ? 0 : present->below(alternatives); }

bool is_scheduled() noexcept { return self != nullptr && self->depth_in_runtime == 0; }

void point(const char* where) noexcept {
  if (!is_scheduled()) return;
  self->where = where;
  let_others_continue(*self, false);
}

void yield(const char* where) noexcept {
  if (!is_scheduled()) return;
  self->where = where;
  let_others_continue(*self, true);
}

bool wait_for(const condition& what, instant until) noexcept {
  thread& me = *self;
  me.waits = &what;
  me.until = until;
  me.where = what.what();
  let_others_continue(me, false);
  me.waits = nullptr;
  me.until = never;
  return what.holds();
}

instant now() noexcept { return present->clock; }

instant read_clock() noexcept {
  schedule& in = *present;
  in.clock += 200;
  if (in.seed != 0 && in.below(64) == 0) in.clock += static_cast<instant>(in.draw() % (1u << (10 + in.below(12))));
  return in.clock;
}

bool has_disturbances() noexcept { return present->has_disturbances; }
unsigned thread_index() noexcept { return self->index; }

void fail(const char* why) noexcept {
  if (self != nullptr) ++self->depth_in_runtime;
  report(why);
  std::_Exit(1);
}

in_runtime::in_runtime() noexcept {
  if (self != nullptr) ++self->depth_in_runtime;
}
in_runtime::~in_runtime() {
  if (self != nullptr) --self->depth_in_runtime;
}

}  // namespace schedules

// --- threads ---

using namespace schedules;

extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
  static auto* const create = original("pthread_create", &::pthread_create);
  if (!is_scheduled()) return create(made, attributes, start, argument);
  thread* added = nullptr;
  {
    const in_runtime here;
    added = &add_thread(*present);
    added->start = start;
    added->argument = argument;
    if (create(&added->handle, attributes, run_thread, added) != 0) fail("a thread could not be started");
    *made = added->handle;
  }
  point("pthread_create");
  return 0;
}

extern "C" int pthread_join(pthread_t joined, void** returned) {
  static auto* const join = original("pthread_join", &::pthread_join);
  if (!is_scheduled()) return join(joined, returned);
  thread* found = nullptr;
  for (const auto& each : present->threads)
    if (!each->is_joined && each->index != 0 && ::pthread_equal(each->handle, joined) != 0) found = each.get();
  if (found == nullptr) fail("a thread was joined that is unknown");
  struct end_of final : condition {
    explicit end_of(const thread& which) noexcept : condition("the end of a thread"), of(which) {}
    bool holds() const noexcept override { return of.has_ended; }
    const thread& of;
  };
  wait_for(end_of(*found));
  found->is_joined = true;
  const in_runtime here;
  return join(joined, returned);
}
