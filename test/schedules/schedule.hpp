// Runs a scenario of several threads in one schedule after another. One thread runs at a time. Wherever threads may
// interact, a choice by a seed determines which one continues, so a seed repeats its schedule.
#pragma once

#include <cstdint>
#include <functional>

namespace schedules {

/// What a schedule was. Two runs of the same one have the same digest.
struct outcome {
  std::uint64_t digest = 0;    ///< of all choices, and where they were made
  std::uint64_t points = 0;    ///< places where another thread might have continued
  std::uint64_t switches = 0;  ///< how often one did
};

/// Runs `scenario`, which joins the threads that it starts. Ends the program with a report if no thread can continue,
/// if they do not end, or if expect() fails. `seed` 0 is the schedule in which a thread runs until it waits.
outcome run(const char* name, std::uint64_t seed, const std::function<void()>& scenario);

// --- within a scenario ---

/// Ends the program with a report that repeats the schedule, unless `holds`.
void expect(bool holds, const char* what);

/// A number below `alternatives`, by the seed.
unsigned choose(unsigned alternatives) noexcept;

}  // namespace schedules
