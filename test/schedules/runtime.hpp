// What the parts of the runtime share: the scheduler, the functions that it replaces, and the model of the kernel.
#pragma once

#include "schedule.hpp"

#include <dlfcn.h>
#include <sys/types.h>

#include <cstdint>
#include <limits>

namespace schedules {

/// Nanoseconds of a schedule's own clock, which passes only by choice and when all threads wait.
using instant = std::int64_t;
inline constexpr instant never = std::numeric_limits<instant>::max();

/// What a thread waits for.
class condition {
 public:
  explicit constexpr condition(const char* what) noexcept : what_(what) {}
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  virtual bool holds() const noexcept = 0;
  const char* what() const noexcept { return what_; }

 protected:
  ~condition() = default;

 private:
  const char* what_;
};

/// Whether the calling thread belongs to a schedule, and is not in the runtime itself.
bool is_scheduled() noexcept;

/// Another thread may continue here. Preserves errno, like all functions below.
void point(const char* where) noexcept;
/// Others continue, if they can. For a thread that waits for them in a loop.
void yield(const char* where) noexcept;
/// Returns once `what` holds, or at `until`, and then false.
bool wait_for(const condition& what, instant until = never) noexcept;

instant now() noexcept;
/// Some time passes, by choice, because the clock is read.
instant read_clock() noexcept;

/// Whether this schedule has what a system may do but rarely does: calls that are interrupted, wake-ups without a
/// cause, short transfers.
bool has_disturbances() noexcept;

/// A number of the calling thread within the schedule.
unsigned thread_index() noexcept;

[[noreturn]] void fail(const char* why) noexcept;

/// While it exists, the calling thread is in the runtime: nothing that it calls is scheduled.
class in_runtime {
 public:
  in_runtime() noexcept;
  in_runtime(const in_runtime&) = delete;
  in_runtime& operator=(const in_runtime&) = delete;
  ~in_runtime();
};

/// The function that the program would call without the runtime. `replacement` has its type.
template <class Returned, class... Arguments>
auto* original(const char* name, Returned (*)(Arguments...)) noexcept {
  return reinterpret_cast<Returned (*)(Arguments...)>(::dlsym(RTLD_NEXT, name));
}
template <class Returned>
auto* original(const char* name, Returned (*)(long, ...)) noexcept {
  return reinterpret_cast<Returned (*)(long, ...)>(::dlsym(RTLD_NEXT, name));
}

// --- the kernel, which acts by itself (kernel.cpp) ---

bool kernel_can_act() noexcept;
void kernel_acts() noexcept;
void reset_kernel() noexcept;
long ring_setup(unsigned entries, void* parameters) noexcept;
long ring_enter(int ring, unsigned submitted, unsigned wanted, unsigned flags, const void* argument,
                std::size_t bytes) noexcept;
long ring_register(int ring, unsigned operation, void* argument, unsigned count) noexcept;
long futex(std::uint32_t* word, int operation, std::uint32_t value, const void* timeout) noexcept;
void reset_threads() noexcept;

}  // namespace schedules
