// SPDX-License-Identifier: BSL-1.0
#include "measure/verification.hpp"

#include "platform/file.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace qd1 {
namespace {

// The device nearest to the file that the system counts for.
const device_counters* nearest(const machine_facts& machine, const machine_counters& counted) {
  for (const device_facts& device : machine.devices)
    if (const device_counters* found = counted.find(device.name)) return found;
  return nullptr;
}

// Where the device is a loop device that does not read its file directly: the one that the file lies on.
std::optional<device_below> operations_below(const machine_facts& machine, const machine_counters& counted,
                                             operation what) {
  for (const device_facts& device : machine.devices) {
    if (device.loop_direct != false) continue;
    for (const std::string& lower : device.over)
      if (const device_counters* found = counted.find(lower))
        return device_below{
            device.name, lower,
            what == operation::read ? found->reads + found->read_merges : found->writes + found->write_merges};
  }
  return std::nullopt;
}

std::string number(const std::optional<std::uint64_t>& value) { return value ? grouped(*value, ',') : "unknown"; }

// How many of the device's come of each of the application's, where that is not one.
std::string factor(const verification& facts) {
  if (!facts.device_operations || facts.application_operations == 0) return {};
  const double each = static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations);
  if (each > 1.05) return fmt::format(" ({:.3g} for each: split, or of others)", each);
  return each < 0.95 ? fmt::format(" ({:.3g} for each: read ahead, merged, or from memory)", each) : "";
}

}  // namespace

witness::witness(const machine_facts& machine, std::string path, std::uint64_t bytes)
    : machine_(machine),
      path_(std::move(path)),
      bytes_(bytes),
      pages_before_(platform::cached_pages(path_, bytes)),
      before_(count(machine)) {}

testimony witness::testify(const work& work, std::uint64_t application_operations, double seconds,
                           double processor_seconds) const {
  const machine_counters counted = count(machine_) - before_;
  testimony found;
  found.verification.application_operations = application_operations;
  if (const device_counters* device = nearest(machine_, counted)) {
    found.device = device->name;
    const bool reads = work.operation == operation::read;
    found.verification.device_operations = reads ? device->reads : device->writes;
    found.verification.merged_operations = reads ? device->read_merges : device->write_merges;
  }
  found.below = operations_below(machine_, counted, work.operation);
  found.verification.cached_pages_before = pages_before_;
  found.verification.cached_pages_after = platform::cached_pages(path_, bytes_);
  found.disturbance = disturbance_of(counted, seconds, processor_seconds, machine_.host.cpu.threads.value_or(1));
  return found;
}

disturbance disturbance_of(const machine_counters& counted, double seconds, double processor_seconds,
                           std::uint64_t processors) {
  disturbance found;
  found.throttled = counted.throttled;
  found.frequency_mhz = counted.frequency_mhz;
  if (counted.waited_ns && seconds > 0) found.waited = static_cast<double>(*counted.waited_ns) * 1e-9 / seconds;
  if (!counted.processors || counted.processors->total == 0 || seconds <= 0) return found;
  const auto total = static_cast<double>(counted.processors->total);
  const auto unused = static_cast<double>(counted.processors->idle + counted.processors->steal.value_or(0));
  const double busy = std::max(0., 1 - unused / total) * static_cast<double>(processors);
  found.others = std::max(0., busy - processor_seconds / seconds);
  if (counted.processors->steal) found.stolen = static_cast<double>(*counted.processors->steal) / total;
  return found;
}

void judge(verification& facts, const work& work, const std::optional<device_below>& below) {
  using verdict = verification::verdict;
  const std::string merged =
      facts.merged_operations == 0 ? "" : fmt::format(" + {} merged", grouped(facts.merged_operations, ','));
  const std::string counts =
      fmt::format("device ops {}{} / app {}{}; pages cached {} -> {}", number(facts.device_operations), merged,
                  grouped(facts.application_operations, ','), factor(facts), number(facts.cached_pages_before),
                  number(facts.cached_pages_after));
  if (!traits(work.mode).is_direct) {
    facts.result = verdict::not_applicable;
    facts.text = counts;
    return;
  }
  // One in a hundred may be missing: what the device does is counted when it is done, which may be later.
  const std::uint64_t enough = facts.application_operations - facts.application_operations / 100;
  if (!facts.device_operations) {
    facts.result = verdict::unknown;
    facts.text =
        "direct could not be verified: the system counts no operations of the device under this file; " + counts;
  } else if (*facts.device_operations + facts.merged_operations < enough) {
    facts.result = verdict::refuted;
    facts.text = "NOT direct: most transfers did not reach the device; " + counts;
  } else if (below && below->operations < enough) {
    facts.result = verdict::refuted;
    facts.text = fmt::format(
                     "NOT direct: {} keeps its file in the page cache (losetup --direct-io=on changes that): {} under "
                     "it was asked "
                     "{} times; ",
                     below->upper, below->lower, grouped(below->operations, ',')) +
                 counts;
  } else if (facts.cached_pages_before && facts.cached_pages_after &&
             *facts.cached_pages_after > *facts.cached_pages_before + facts.application_operations / 100) {
    facts.result = verdict::refuted;
    facts.text = "NOT direct: transfers have filled the page cache; " + counts;
  } else {
    facts.result = verdict::verified;
    facts.text = "VERIFIED direct: " + counts;
  }
}

}  // namespace qd1
