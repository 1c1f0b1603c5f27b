// The C library's functions by which threads wait for each other, and for time: replaced while a schedule runs.
#include "runtime.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <vector>

using namespace schedules;

namespace {

constexpr instant second = 1'000'000'000;

instant since_begin(const timespec& time) noexcept {
  if (time.tv_sec > never / second / 2) return never;
  return static_cast<instant>(time.tv_sec) * second + time.tv_nsec;
}

/// Mutexes that are held. There are few.
struct held {
  const void* mutex;
  unsigned by;
  unsigned times;
};
std::vector<held> all_held;

held* find_held(const void* mutex) noexcept {
  const auto found =
      std::find_if(all_held.begin(), all_held.end(), [&](const held& each) { return each.mutex == mutex; });
  return found == all_held.end() ? nullptr : &*found;
}

struct is_free final : condition {
  explicit is_free(const void* which) noexcept : condition("a mutex"), mutex(which) {}
  bool holds() const noexcept override { return find_held(mutex) == nullptr; }
  const void* mutex;
};

void take(pthread_mutex_t* mutex) noexcept {
  if (held* const found = find_held(mutex); found != nullptr && found->by == thread_index()) {
    if ((mutex->__data.__kind & 3) != PTHREAD_MUTEX_RECURSIVE_NP) fail("a thread locked a mutex that it holds");
    ++found->times;
    return;
  }
  if (find_held(mutex) != nullptr) wait_for(is_free(mutex));
  const in_runtime here;
  all_held.push_back({mutex, thread_index(), 1});
}

void give_up(const pthread_mutex_t* mutex) noexcept {
  held* const found = find_held(mutex);
  if (found == nullptr || found->by != thread_index()) fail("a thread unlocked a mutex that it does not hold");
  if (--found->times != 0) return;
  *found = all_held.back();
  all_held.pop_back();
}

/// Threads that wait for a condition variable, or for a word of memory to change.
struct waiter final : condition {
  waiter(const void* waited_for, const char* what) noexcept : condition(what), object(waited_for) {}
  bool holds() const noexcept override { return is_woken; }
  const void* object;
  bool is_woken = false;
};
std::vector<waiter*> waiters;

void add(waiter& one) {
  const in_runtime here;
  waiters.push_back(&one);
}

/// Wakes up to `count` of those that wait for `object`, any of them. Returns how many.
unsigned wake(const void* object, unsigned count) noexcept {
  unsigned woken = 0;
  while (woken != count) {
    const auto waits = [&](const waiter* each) { return each->object == object && !each->is_woken; };
    const auto waiting = static_cast<unsigned>(std::count_if(waiters.begin(), waiters.end(), waits));
    if (waiting == 0) break;
    unsigned left = choose(waiting);
    for (waiter* const each : waiters)
      if (waits(each) && left-- == 0) {
        each->is_woken = true;
        break;
      }
    ++woken;
  }
  return woken;
}

/// False if `until` passed.
bool wait_as(waiter& one, instant until) noexcept {
  const bool is_woken = wait_for(one, until);
  waiters.erase(std::find(waiters.begin(), waiters.end(), &one));
  return is_woken;
}

int wait_for_condition(pthread_cond_t* changed, pthread_mutex_t* mutex, instant until) noexcept {
  point("pthread_cond_wait");
  waiter one(changed, "a condition variable");
  if (has_disturbances() && choose(16) == 0) one.is_woken = true;
  add(one);
  give_up(mutex);
  const bool is_woken = wait_as(one, until);
  take(mutex);
  return is_woken ? 0 : ETIMEDOUT;
}

void sleep_until(instant time) noexcept {
  struct nothing final : condition {
    nothing() noexcept : condition("a time") {}
    bool holds() const noexcept override { return false; }
  };
  wait_for(nothing(), time);
}

}  // namespace

namespace schedules {

void reset_threads() noexcept {
  all_held.clear();
  waiters.clear();
}

long futex(std::uint32_t* word, int operation, std::uint32_t value, const void* timeout) noexcept {
  const int what = operation & FUTEX_CMD_MASK;
  if (what == FUTEX_WAKE || what == FUTEX_WAKE_BITSET) {
    point("futex wake");
    return wake(word, value);
  }
  if (what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET) fail("a futex was used in a way that the runtime does not know");
  point("futex wait");
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
    errno = EAGAIN;
    return -1;
  }
  instant until = never;
  if (timeout != nullptr) until = since_begin(*static_cast<const timespec*>(timeout));
  if (timeout != nullptr && what == FUTEX_WAIT) until += now();
  waiter one(word, "a futex");
  if (has_disturbances() && choose(16) == 0) one.is_woken = true;
  add(one);
  if (wait_as(one, until)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

}  // namespace schedules

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const lock = original("pthread_mutex_lock", &::pthread_mutex_lock);
  if (!is_scheduled()) return lock(mutex);
  point("pthread_mutex_lock");
  take(mutex);
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static auto* const lock = original("pthread_mutex_trylock", &::pthread_mutex_trylock);
  if (!is_scheduled()) return lock(mutex);
  point("pthread_mutex_trylock");
  if (find_held(mutex) != nullptr) return EBUSY;
  take(mutex);
  return 0;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static auto* const unlock = original("pthread_mutex_unlock", &::pthread_mutex_unlock);
  if (!is_scheduled()) return unlock(mutex);
  give_up(mutex);
  point("pthread_mutex_unlock");
  return 0;
}

int pthread_cond_wait(pthread_cond_t* changed, pthread_mutex_t* mutex) {
  static auto* const wait = original("pthread_cond_wait", &::pthread_cond_wait);
  return is_scheduled() ? wait_for_condition(changed, mutex, never) : wait(changed, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* changed, pthread_mutex_t* mutex, const timespec* until) {
  static auto* const wait = original("pthread_cond_timedwait", &::pthread_cond_timedwait);
  return is_scheduled() ? wait_for_condition(changed, mutex, since_begin(*until)) : wait(changed, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t* changed, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static auto* const wait = original("pthread_cond_clockwait", &::pthread_cond_clockwait);
  return is_scheduled() ? wait_for_condition(changed, mutex, since_begin(*until)) : wait(changed, mutex, clock, until);
}

int pthread_cond_signal(pthread_cond_t* changed) noexcept {
  static auto* const signal = original("pthread_cond_signal", &::pthread_cond_signal);
  if (!is_scheduled()) return signal(changed);
  point("pthread_cond_signal");
  wake(changed, 1);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* changed) noexcept {
  static auto* const broadcast = original("pthread_cond_broadcast", &::pthread_cond_broadcast);
  if (!is_scheduled()) return broadcast(changed);
  point("pthread_cond_broadcast");
  wake(changed, ~0u);
  return 0;
}

int sched_yield() noexcept {
  static auto* const give_way = original("sched_yield", &::sched_yield);
  if (!is_scheduled()) return give_way();
  yield("sched_yield");
  return 0;
}

// All clocks of a schedule are one.
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const get = original("clock_gettime", &::clock_gettime);
  if (!is_scheduled()) return get(clock, time);
  const instant present = read_clock();
  *time = {static_cast<time_t>(present / second), static_cast<long>(present % second)};
  return 0;
}

int nanosleep(const timespec* time, timespec* left) {
  static auto* const sleep = original("nanosleep", &::nanosleep);
  if (!is_scheduled()) return sleep(time, left);
  sleep_until(now() + since_begin(*time));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  static auto* const sleep = original("clock_nanosleep", &::clock_nanosleep);
  if (!is_scheduled()) return sleep(clock, flags, time, left);
  sleep_until(since_begin(*time) + ((flags & TIMER_ABSTIME) != 0 ? 0 : now()));
  return 0;
}

// Only for how often the thread has waited: now and then, it seems to have.
int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  static auto* const get = original("getrusage", &::getrusage);
  if (!is_scheduled()) return get(who, usage);
  static long waits = 0;
  waits += choose(4) == 0;
  *usage = rusage{};
  usage->ru_nvcsw = waits;
  return 0;
}

long syscall(long number, ...) noexcept {
  static auto* const call = original("syscall", &::syscall);
  std::va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& each : arguments) each = va_arg(list, long);
  va_end(list);
  const auto pointer = [&](std::size_t which) { return reinterpret_cast<void*>(arguments[which]); };
  const auto integer = [&](std::size_t which) { return static_cast<unsigned>(arguments[which]); };
  if (is_scheduled()) {
    if (number == SYS_futex)
      return futex(static_cast<std::uint32_t*>(pointer(0)), static_cast<int>(arguments[1]), integer(2), pointer(3));
    if (number == SYS_io_uring_setup) return ring_setup(integer(0), pointer(1));
    if (number == SYS_io_uring_enter)
      return ring_enter(static_cast<int>(arguments[0]), integer(1), integer(2), integer(3), pointer(4),
                        static_cast<std::size_t>(arguments[5]));
    if (number == SYS_io_uring_register)
      return ring_register(static_cast<int>(arguments[0]), integer(1), pointer(2), integer(3));
  }
  return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

}  // extern "C"
