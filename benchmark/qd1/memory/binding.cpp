// SPDX-License-Identifier: BSL-1.0
#include "memory/binding.hpp"

#include "figures.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace qd1 {
namespace {

constexpr double nearly_none = 0.01;  // operations of the device for each transfer

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{:.3g} MiB", static_cast<double>(bytes) / 0x1p20); }

// Part of the time that is beyond what the transfers would have taken if each had taken the median.
double beyond_median(const series& of) {
  const auto median = median_of(of);
  return median ? std::max(0., mean_of_all(of) * 1e-9 * of.iops - median->value * 1e-9 * of.iops) : 0;
}

// How the time of one worker was spent. That a transfer was always in flight shows nothing: it is so in each closed
// loop.
struct time_shares {
  double computing = 0;
  double ready = 0;  // waiting for a CPU
  double asleep() const { return std::max(0., 1 - computing - ready); }
};

std::optional<time_shares> shares_of(const series& of) {
  if (!of.cpu_ns) return std::nullopt;
  time_shares found{*of.cpu_ns * 1e-9 * of.iops, 0};
  double seconds = 0;
  for (const round& each : of.rounds) {
    found.ready += each.disturbance.waited.value_or(0) * each.seconds;
    seconds += each.seconds;
  }
  if (seconds > 0) found.ready /= seconds;
  return found;
}

// Half way between the two limits the kernel begins to make writers wait (mm/page-writeback.c,
// dirty_freerun_ceiling()); nearly, since it is looked at once a second.
bool is_dirty_enough(const shortage& memory) {
  constexpr double nearly = 0.9;
  if (!memory.dirty_most || !memory.dirty_limit || !memory.dirty_background_limit) return false;
  const auto middle = static_cast<double>(*memory.dirty_limit + *memory.dirty_background_limit) / 2;
  return static_cast<double>(*memory.dirty_most) >= nearly * middle;
}

// The part of the time from which on writers are said to have been made to wait.
constexpr double much = 0.5;

binding binding_of_waits(const series& of) {
  const shortage& memory = *of.shortage;
  const std::string waits =
      fmt::format("{:.0f} % of the time went to writes beyond the median", beyond_median(of) * 100);
  if (is_dirty_enough(memory))
    return {bound::by_dirty_limit, fmt::format("{}; {} were dirty, waits begin between {} and {} ({})", waits,
                                               mebibytes(*memory.dirty_most), mebibytes(*memory.dirty_background_limit),
                                               mebibytes(*memory.dirty_limit), memory.dirty_limit_source)};
  if (memory.limit_hits.value_or(0) != 0)
    return {bound::by_reclaim,
            fmt::format("{}; the control group was full {} times: pages had to be written and evicted before "
                        "others became available",
                        waits, grouped(*memory.limit_hits, ','))};
  return {};
}

}  // namespace

binding binding_of(const series& of) {
  const verification& facts = of.verification;
  if (!facts.device_operations || facts.application_operations == 0)
    return {bound::unknown, "the system counts no operations of the device under this file"};
  const bool reads = of.work.operation == operation::read;
  const auto operations = static_cast<double>(facts.application_operations);
  const auto& fetched = facts.fetched_bytes;  // the device counts what others do, too
  const double each = reads && fetched ? static_cast<double>(*fetched) / static_cast<double>(of.work.block) / operations
                                       : static_cast<double>(*facts.device_operations) / operations;
  std::string counts = fmt::format("{} device operations for {} {}", grouped(*facts.device_operations, ','),
                                   grouped(facts.application_operations, ','), reads ? "reads" : "writes");
  if (reads && fetched) counts += fmt::format(", {} of this process's own", mebibytes(*fetched));
  const bool waited = !reads && of.shortage && beyond_median(of) > much;
  if (waited)
    if (binding found = binding_of_waits(of); found.bound != bound::unknown) return found;
  // What is written back meanwhile is not waited for.
  if (reads ? each < nearly_none : !waited) return {bound::by_nothing, counts};
  const auto shares = shares_of(of);
  if (!shares) return {bound::unknown, "CPU time is unknown; " + counts};
  const std::string text =
      fmt::format("{:.0f} % of the time asleep, {:.0f} % computing, {:.0f} % waiting for a CPU; {}",
                  shares->asleep() * 100, shares->computing * 100, shares->ready * 100, counts);
  const double largest = std::max({shares->asleep(), shares->computing, shares->ready});
  if (each >= nearly_none && shares->asleep() == largest) return {bound::by_latency, text};
  return {shares->computing == largest ? bound::by_processor : bound::unknown, text};
}

}  // namespace qd1
