// SPDX-License-Identifier: BSL-1.0
#include "pressure/pressure.hpp"

#include "failure.hpp"
#include "machine/find.hpp"
#include "measure/progress.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace qd1 {
namespace {

constexpr std::uint64_t least_for_a_machine = std::uint64_t(256) << 20;

std::optional<std::uint64_t> available_now() { return find_memory().available_bytes; }

// Whether the machine as a whole may be made short. `refused`: why no group can be.
void require_machine(std::uint64_t bytes, std::string_view refused) {
  const machine_facts machine = find_machine(".");
  const auto limit = machine.host.limits.memory_bytes;
  // A process with a limit of its own would be killed if it touched memory beyond that.
  if (limit && *limit < machine.host.memory.available_bytes.value_or(0))
    throw usage_error(
        fmt::format("memory cannot be made short: a control group limits this process to {}, and no group "
                    "below it is available ({})",
                    size_text(*limit), refused));
  if (bytes < least_for_a_machine)
    throw usage_error(fmt::format(
        "memory cannot be made short: no control group can limit it to {} ({}), and touching memory until only "
        "that much is left for the whole machine might kill other programs; this needs root, a control group of "
        "this user, or at least {}",
        size_text(bytes), refused, size_text(least_for_a_machine)));
}

std::uint64_t part_of(std::uint64_t whole, double part) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(whole) * part));
}

}  // namespace

memory_pressure::memory_pressure(std::uint64_t bytes) : bytes_(bytes) {
  try {
    group_.emplace(bytes);
    how_ = fmt::format("control group limit of {}", size_text(bytes));
  } catch (const usage_error& refused) {
    require_machine(bytes, refused.what());
    progress::show("touching memory");
    platform::end_this_process_first();
    ballast_.emplace(bytes, available_now);
    how_ = fmt::format("{} of touched memory", size_text(ballast_->bytes()));
  }
}

void memory_pressure::require(std::uint64_t bytes) {
  try {
    const platform::memory_group possible(bytes);
  } catch (const usage_error& refused) {
    require_machine(bytes, refused.what());
  }
}

std::optional<std::uint64_t> memory_pressure::dirty_bytes() const {
  if (group_ && group_->limits_dirty_memory())
    if (const auto own = group_->dirty_bytes()) return own;
  const memory_facts memory = find_memory();
  if (!memory.dirty_bytes) return std::nullopt;
  return *memory.dirty_bytes + memory.writeback_bytes.value_or(0);
}

void memory_pressure::describe(shortage& to) const {
  to.how = how_;
  const memory_facts memory = find_memory();
  if (!memory.dirty_limit_bytes || !memory.dirty_background_limit_bytes) return;
  to.dirty_limit = memory.dirty_limit_bytes;
  to.dirty_background_limit = memory.dirty_background_limit_bytes;
  to.dirty_limit_source = fmt::format("{} of the machine's available memory", memory.dirty_setting.value_or("a part"));
  if (!group_ || !group_->limits_dirty_memory() || memory.available_bytes.value_or(0) == 0) return;
  // mm/page-writeback.c, domain_dirty_limits(): the same part of the group's memory as of the machine's.
  const auto part = [&](std::uint64_t limit) {
    return part_of(bytes_, static_cast<double>(limit) / static_cast<double>(*memory.available_bytes));
  };
  to.dirty_limit = part(*memory.dirty_limit_bytes);
  to.dirty_background_limit = part(*memory.dirty_background_limit_bytes);
  to.dirty_limit_source = "the control group's part of the machine's";
}

}  // namespace qd1
