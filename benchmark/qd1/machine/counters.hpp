// SPDX-License-Identifier: BSL-1.0
// What the system counts while a run goes on. Taken before and after; only the difference means something.
#pragma once

#include <qd1/machine/facts.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

/// What a block device has completed. Operations are those the device got: after the kernel split and merged them.
struct device_counters {
  std::string name;
  std::uint64_t reads = 0, writes = 0, discards = 0, flushes = 0;
  std::uint64_t read_merges = 0, write_merges = 0;
  std::uint64_t read_bytes = 0, write_bytes = 0;
  std::uint64_t in_flight = 0;  ///< now; a difference keeps the later one
};

/// Time of all CPUs together, in units that only compare with each other.
struct processor_time {
  std::uint64_t total = 0;
  std::uint64_t steal = 0;

  /// Absent while no time has passed.
  std::optional<double> steal_percent() const {
    if (total == 0) return std::nullopt;
    return 100.0 * static_cast<double>(steal) / static_cast<double>(total);
  }
};

struct machine_counters {
  std::optional<processor_time> processors;
  std::vector<device_counters> devices;  ///< those of machine_facts that the system counts for

  const device_counters* find(const std::string& device) const;
};

/// What happened from `before` to `after`. Devices that are not in both are left out.
machine_counters operator-(const machine_counters& after, const machine_counters& before);

/// What is counted now for the processors, and for the devices under the file.
machine_counters count(const machine_facts& machine);

/// In words, where the processor's frequency is managed, and was another one afterwards.
std::optional<std::string> frequency_change(const cpu_facts& before, const cpu_facts& after);

}  // namespace qd1
