// SPDX-License-Identifier: BSL-1.0
#include "memory/binding.hpp"

#include "figures.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qd1 {
namespace {

constexpr double nearly_none = 0.01;  // operations of the device for each transfer

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{:.3g} MiB", static_cast<double>(bytes) / 0x1p20); }

// Mean latency times throughput: 1 if the worker did nothing but wait for one transfer after the other.
double in_flight(const series& of) { return mean_of_all(of) * 1e-9 * of.iops; }

// Part of the time that is beyond what the transfers would have taken if each had taken the median.
double beyond_median(const series& of) {
  const auto median = median_of(of);
  return median ? std::max(0., in_flight(of) - median->value * 1e-9 * of.iops) : 0;
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
            fmt::format("{}; the control group was full {} times: pages had to be written and thrown out before others "
                        "could be had",
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
  std::string counts = fmt::format("{} operations of the device for {} {}", grouped(*facts.device_operations, ','),
                                   grouped(facts.application_operations, ','), reads ? "reads" : "writes");
  if (reads && fetched) counts += fmt::format(", {} of this process's own", mebibytes(*fetched));
  const bool waited = !reads && of.shortage && beyond_median(of) > much;
  if (waited)
    if (binding found = binding_of_waits(of); found.bound != bound::unknown) return found;
  // What is written back meanwhile is not waited for.
  if (reads ? each < nearly_none : !waited) return {bound::by_nothing, counts};
  const std::string product = fmt::format("mean latency x IOPS = {:.2f}; {}", in_flight(of), counts);
  const bool is_one = std::abs(in_flight(of) - 1) < 0.1;
  return {is_one && each >= nearly_none ? bound::by_latency : bound::unknown, product};
}

}  // namespace qd1
