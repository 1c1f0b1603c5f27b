// SPDX-License-Identifier: BSL-1.0
#include "measure/verification.hpp"

#include "platform/file.hpp"
#include "platform/process.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace qd1 {
namespace {

// The device nearest to the file that the system counts for; none if its statistics are off.
const device_counters* nearest(const machine_facts& machine, const machine_counters& counted) {
  for (const device_facts& device : machine.devices)
    if (const device_counters* found = counted.find(device.name))
      return device.counts_operations == false ? nullptr : found;
  return nullptr;
}

// Where the device is a loop device that does not read its file directly: the one that the file lies on.
std::optional<device_below> operations_below(const machine_facts& machine, const machine_counters& counted,
                                             operation what) {
  const device_facts* const loop = caching_loop(machine);
  if (loop == nullptr) return std::nullopt;
  for (const std::string& lower : loop->over)
    if (const device_counters* found = counted.find(lower))
      return device_below{
          loop->name, lower,
          what == operation::read ? found->reads + found->read_merges : found->writes + found->write_merges};
  return std::nullopt;
}

std::string number(const std::optional<std::uint64_t>& value) { return value ? grouped(*value, ',') : "unknown"; }

// Nearly all: what a device does is counted when it is done, which may be later.
bool is_enough(std::uint64_t found, std::uint64_t wanted) { return found >= wanted - wanted / 100; }

// More than metadata and what is counted late explain.
bool is_more(std::uint64_t found, std::uint64_t wanted, std::uint64_t percent) {
  constexpr std::uint64_t little = 256 * 1024;
  return found > wanted + wanted * percent / 100 + little;
}

// Pages of the file came into the page cache, more than chance explains.
bool has_gained_pages(const verification& facts) {
  return facts.cached_pages_before && facts.cached_pages_after &&
         *facts.cached_pages_after > *facts.cached_pages_before + facts.application_operations / 100;
}

// How many of the device's come of each of the application's, where that is not one.
std::string factor(const verification& facts, std::uint64_t bytes, bool reads, const evidence& found) {
  if (!facts.device_operations || facts.application_operations == 0) return {};
  const double each = static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations);
  if (each > 1.05)
    return fmt::format(" ({:.3g} for each: {})", each,
                       !found.device_bytes                      ? "split, or others' operations"
                       : is_more(*found.device_bytes, bytes, 5) ? "including others' operations"
                       : reads                                  ? "split"
                                                                : "split, or flushed");
  return each < 0.95 ? fmt::format(" ({:.3g} for each: read ahead, merged, or from memory)", each) : "";
}

// Before Linux 5.12 what io_uring hands to workers is read by kernel threads, which are not of this process.
bool may_be_of_kernel_threads(const verification& facts, const work& of) {
  return of.form == form::asynchronous && facts.device_operations &&
         is_enough(*facts.device_operations + facts.merged_operations, facts.application_operations);
}

// The reason why direct was not direct; empty if none is seen.
std::string refutation(const verification& facts, std::uint64_t bytes, const work& of, const evidence& found) {
  const bool reads = of.operation == operation::read;
  if (reads && facts.fetched_bytes) {
    if (!is_enough(*facts.fetched_bytes, bytes) && !may_be_of_kernel_threads(facts, of))
      return fmt::format("{} bytes were read from devices for this process, of {} requested",
                         grouped(*facts.fetched_bytes, ','), grouped(bytes, ','));
  } else if (facts.device_operations &&
             !is_enough(*facts.device_operations + facts.merged_operations, facts.application_operations)) {
    return "most transfers did not reach the device";
  }
  if (found.below && !is_enough(found.below->operations, facts.application_operations))
    return fmt::format(
        "{} keeps its file in the page cache (losetup --direct-io=on changes that): {} under it had {} operations",
        found.below->upper, found.below->lower, grouped(found.below->operations, ','));
  return has_gained_pages(facts) && !found.is_shared ? "transfers have filled the page cache" : "";
}

// The reason why direct is left open; empty if there is none. What counts of reads is what this process had read; a
// device's counters are of whoever uses it.
std::string doubt(const verification& facts, std::uint64_t bytes, const work& of, const evidence& found) {
  const bool reads = of.operation == operation::read;
  if (found.bottom.medium != medium::device) return found.bottom.why;
  if (!found.loop_doubt.empty()) return found.loop_doubt;
  if (found.is_shared && has_gained_pages(facts))
    return "another process has the file open, and pages of it came into the page cache";
  if (reads && facts.fetched_bytes) {
    if (!is_enough(*facts.fetched_bytes, bytes))
      return fmt::format(
          "{} bytes were read from devices for this process, of {}: the rest were read for other processes, "
          "or by kernel threads (io_uring before Linux 5.12)",
          grouped(*facts.fetched_bytes, ','), grouped(bytes, ','));
    if (is_more(*facts.fetched_bytes, bytes, 1))
      return fmt::format("{} bytes were read from devices for this process, more than the {} requested",
                         grouped(*facts.fetched_bytes, ','), grouped(bytes, ','));
    return {};
  }
  if (!facts.device_operations) return "the system counts no operations of the device under this file";
  if (found.device_bytes && is_more(*found.device_bytes, bytes, 5))
    return fmt::format("other I/O on {}, or the file system's own: {} {} bytes for {} of this process",
                       fmt::join(found.devices, ", "), reads ? "read" : "written", grouped(*found.device_bytes, ','),
                       grouped(bytes, ','));
  return {};
}

// Devices without a volatile cache need no flush, and count none.
std::optional<flush_count> flushes_of(const machine_facts& machine, const machine_counters& counted) {
  std::optional<flush_count> least;
  for (const device_facts& device : machine.devices) {
    const device_counters* const found = counted.find(device.name);
    if (!is_lowest(device) || found == nullptr || device.write_cache != "write back") continue;
    if (!least || found->flushes < least->flushes) least = {device.name, found->flushes};
  }
  return least;
}

// What is doubtful of the loop devices under the file, by what was seen before and after.
std::string loop_doubt(const loop_findings& before, const loop_findings& after, const work& of) {
  if (!before.doubt.empty()) return before.doubt;
  if (!after.doubt.empty()) return after.doubt;
  constexpr std::uint64_t few = 64;  // of who looks at its first blocks, as udev does
  if (of.operation == operation::write || after.cached_pages <= before.cached_pages + few) return {};
  return fmt::format("{} pages of the file behind {} came into the page cache",
                     grouped(after.cached_pages - before.cached_pages, ','), after.device);
}

// The reason why reads are not known to be cold, where only the device can show that they were.
std::string why_not_cold(const verification& facts, std::uint64_t bytes, const work& of, const evidence& found) {
  const bool is_cold = of.operation == operation::read && of.temperature == temperature::cold;
  if (!is_cold || facts.cached_pages_before) return {};
  if (!found.device_bytes) return "the system counts no operations of the device under this file";
  if (is_enough(*found.device_bytes, bytes)) return {};
  return fmt::format("{} bytes were read from the device, of {}: the rest were in memory",
                     grouped(*found.device_bytes, ','), grouped(bytes, ','));
}

}  // namespace

void evidence::add(const evidence& more) {
  for (const std::string& each : more.devices)
    if (std::ranges::find(devices, each) == devices.end()) devices.push_back(each);
  device_bytes = device_bytes && more.device_bytes ? std::optional(*device_bytes + *more.device_bytes) : std::nullopt;
  if (below && more.below)
    below->operations += more.below->operations;
  else if (!below)
    below = more.below;
  if (flushes && more.flushes)
    flushes->flushes += more.flushes->flushes;
  else
    flushes.reset();
  add_file(more);
}

void evidence::add_file(const evidence& more) {
  if (!more.bottom.why.empty()) bottom = more.bottom;
  if (loop_doubt.empty()) loop_doubt = more.loop_doubt;
  is_shared = is_shared || more.is_shared;
}

witness::witness(const machine_facts& machine, std::string path, std::uint64_t bytes)
    : machine_(machine),
      path_(std::move(path)),
      bytes_(bytes),
      pages_before_(platform::cached_pages(path_, bytes)),
      fetched_before_(platform::bytes_fetched()),
      stops_before_(platform::times_stopped()),
      loops_before_(look_at_loops(machine, path_, bytes)),
      before_(count(machine)) {}

testimony witness::testify(const work& work, std::uint64_t application_operations, double seconds,
                           double processor_seconds) const {
  const machine_counters counted = count(machine_) - before_;
  testimony found;
  verification& facts = found.verification;
  facts.application_operations = application_operations;
  if (const auto now = platform::bytes_fetched(); now && fetched_before_) facts.fetched_bytes = *now - *fetched_before_;
  if (const device_counters* device = nearest(machine_, counted)) {
    const bool reads = work.operation == operation::read;
    found.evidence.devices = {device->name};
    found.evidence.device_bytes = reads ? device->read_bytes : device->write_bytes;
    facts.device_operations = reads ? device->reads : device->writes;
    facts.merged_operations = reads ? device->read_merges : device->write_merges;
  }
  found.evidence.bottom = bottom_of(machine_);
  found.evidence.below = operations_below(machine_, counted, work.operation);
  found.evidence.flushes = flushes_of(machine_, counted);
  if (traits(work.mode).is_direct)
    found.evidence.loop_doubt = loop_doubt(loops_before_, look_at_loops(machine_, path_, bytes_), work);
  facts.cached_pages_before = pages_before_;
  facts.cached_pages_after = platform::cached_pages(path_, bytes_);
  if (traits(work.mode).is_direct && facts.cached_pages_after.value_or(0) > pages_before_.value_or(0))
    found.evidence.is_shared = platform::is_open_elsewhere(path_);
  found.disturbance = disturbance_of(counted, seconds, processor_seconds, machine_.host.cpu.threads.value_or(1));
  if (const auto now = platform::times_stopped()) found.disturbance.stops = *now - stops_before_.value_or(0);
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

void judge(verification& facts, const work& work, const evidence& evidence) {
  using verdict = verification::verdict;
  const std::uint64_t bytes = facts.application_operations * work.block;
  const bool reads = work.operation == operation::read;
  const std::string merged =
      facts.merged_operations == 0 ? "" : fmt::format(" + {} merged", grouped(facts.merged_operations, ','));
  const std::string counts =
      fmt::format("device ops {}{} / app {}{}; pages cached {} -> {}", number(facts.device_operations), merged,
                  grouped(facts.application_operations, ','), factor(facts, bytes, reads, evidence),
                  number(facts.cached_pages_before), number(facts.cached_pages_after));
  if (!traits(work.mode).is_direct) {
    const std::string why = why_not_cold(facts, bytes, work, evidence);
    facts.result = why.empty() ? verdict::not_applicable : verdict::refuted;
    facts.text = why.empty() ? counts : fmt::format("NOT cold: {}; {}", why, counts);
    return;
  }
  const bool may_be_refuted = evidence.bottom.medium == medium::device || evidence.bottom.medium == medium::memory;
  if (const std::string why = may_be_refuted ? refutation(facts, bytes, work, evidence) : ""; !why.empty()) {
    facts.result = verdict::refuted;
    facts.text = fmt::format("NOT direct: {}; {}", why, counts);
  } else if (const std::string unsure = doubt(facts, bytes, work, evidence); !unsure.empty()) {
    facts.result = verdict::unknown;
    facts.text = fmt::format("direct could not be verified: {}; {}", unsure, counts);
  } else {
    facts.result = verdict::verified;
    facts.text = "VERIFIED direct: " + counts;
  }
}

std::string judge_flushes(verification& facts, const work& work, const evidence& evidence) {
  if (work.operation != operation::write || work.durability != durability::flushed) return {};
  if (evidence.bottom.medium != medium::device) return "durable could not be verified: " + evidence.bottom.why;
  if (!evidence.flushes)
    return "durable could not be verified: no device with a volatile cache is known, so no flushes are counted";
  const auto& [device, flushes] = *evidence.flushes;
  const std::string counts = fmt::format("{} completed {} flushes for {} flushed writes", device, grouped(flushes, ','),
                                         grouped(facts.application_operations, ','));
  if (!is_enough(flushes, facts.application_operations)) return "durable could not be verified: " + counts;
  facts.text += "; VERIFIED durable: " + counts;
  return {};
}

}  // namespace qd1
