// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/counters.hpp>

#include <algorithm>

namespace qd1 {
namespace {

// A counter may start again (a loop device that is set up again) or, of idle and waiting time, go back a little
// (proc(5)): nothing is what is known to have passed then.
std::uint64_t passed(std::uint64_t after, std::uint64_t before) { return after > before ? after - before : 0; }

std::optional<std::uint64_t> passed(std::optional<std::uint64_t> after, std::optional<std::uint64_t> before) {
  return after && before ? std::optional(passed(*after, *before)) : std::nullopt;
}

device_counters passed(const device_counters& after, const device_counters& before) {
  return {.name = after.name,
          .reads = passed(after.reads, before.reads),
          .writes = passed(after.writes, before.writes),
          .discards = passed(after.discards, before.discards),
          .flushes = passed(after.flushes, before.flushes),
          .read_merges = passed(after.read_merges, before.read_merges),
          .write_merges = passed(after.write_merges, before.write_merges),
          .read_bytes = passed(after.read_bytes, before.read_bytes),
          .write_bytes = passed(after.write_bytes, before.write_bytes),
          .in_flight = after.in_flight};
}

}  // namespace

const device_counters* machine_counters::find(const std::string& device) const {
  const auto found = std::ranges::find(devices, device, &device_counters::name);
  return found == devices.end() ? nullptr : &*found;
}

machine_counters operator-(const machine_counters& after, const machine_counters& before) {
  machine_counters between;
  if (after.processors && before.processors)
    between.processors = processor_time{.total = passed(after.processors->total, before.processors->total),
                                        .steal = passed(after.processors->steal, before.processors->steal),
                                        .idle = passed(after.processors->idle, before.processors->idle)};
  between.waited_ns = passed(after.waited_ns, before.waited_ns);
  between.throttled = passed(after.throttled, before.throttled);
  between.frequency_mhz = after.frequency_mhz;
  for (const device_counters& device : after.devices)
    if (const device_counters* const earlier = before.find(device.name))
      between.devices.push_back(passed(device, *earlier));
  return between;
}

}  // namespace qd1
