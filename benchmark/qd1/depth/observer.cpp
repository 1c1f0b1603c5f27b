// SPDX-License-Identifier: BSL-1.0
#include "depth/observer.hpp"

#include "machine/find.hpp"
#include "measure/interruption.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace qd1 {
namespace {

// False if the window was closed before.
bool wait_until(std::uint64_t tick, window& window, const clock& clock) {
  constexpr double longest_sleep = 0.05;  // an interrupt is noticed so soon
  for (;;) {
    if (interrupted()) window.close();
    const std::uint64_t now = clock.after();
    if (now >= tick) return true;
    if (window.is_closed()) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(clock.seconds(tick - now), longest_sleep)));
  }
}

std::optional<std::uint64_t> dirty_bytes() {
  const memory_facts memory = find_memory();
  if (!memory.dirty_bytes) return std::nullopt;
  return *memory.dirty_bytes + memory.writeback_bytes.value_or(0);
}

glance look_around(const field& field, const std::vector<const target*>& targets) {
  glance seen{std::nullopt, field.dirty_bytes ? field.dirty_bytes() : dirty_bytes(), std::nullopt};
  for (const target* each : targets)
    if (const auto pages = platform::cached_pages(each->file.path(), each->file.bytes()))
      seen.cached_pages = seen.cached_pages.value_or(0) + *pages;
  for (const device_counters& device : count(field.machine).devices)
    seen.device_in_flight = seen.device_in_flight.value_or(0) + device.in_flight;
  return seen;
}

std::optional<std::uint64_t> cycles_so_far(const field& field) {
  return field.cycles == nullptr ? std::nullopt : field.cycles->counted();
}

}  // namespace

observation observe(window& window, const field& field, const std::vector<const target*>& targets) {
  const clock& clock = field.clock;
  observation seen;
  if (!wait_until(window.begin(), window, clock)) return seen;
  const double processor = platform::processor_seconds();
  const auto cycles = cycles_so_far(field);
  const std::uint64_t second = clock.ticks(1);
  for (std::uint64_t next = window.begin(); next < window.end() && !window.is_closed();) {
    next = std::min(next + second, window.end());
    wait_until(next, window, clock);
    seen.seconds.push_back(look_around(field, targets));
  }
  if (seen.seconds.empty()) seen.seconds.push_back(look_around(field, targets));  // it was over before one looked
  if (const auto now = cycles_so_far(field); now && cycles) seen.cycles = *now - *cycles;
  seen.processor = platform::processor_seconds() - processor;
  seen.measured = clock.seconds(std::min(clock.after(), window.end()) - window.begin());
  return seen;
}

}  // namespace qd1
