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
  std::optional<std::uint64_t> steal;  ///< absent where the system does not report it
  std::uint64_t idle = 0;              ///< waiting for devices included

  /// Absent where the system does not report it, and while no time has passed.
  std::optional<double> steal_percent() const {
    if (total == 0 || !steal) return std::nullopt;
    return 100.0 * static_cast<double>(*steal) / static_cast<double>(total);
  }
};

struct machine_counters {
  std::optional<processor_time> processors;
  std::optional<std::uint64_t> waited_ns;      ///< by the calling thread, ready, for a processor
  std::optional<std::uint64_t> throttled;      ///< how often heat throttled processors, each core counted by itself
  std::optional<std::uint64_t> frequency_mhz;  ///< now, of the CPU in machine_facts; a difference keeps the later one
  std::vector<device_counters> devices;        ///< those of machine_facts that the system counts for

  const device_counters* find(const std::string& device) const;
};

/// What happened from `before` to `after`. Devices that are not in both are left out.
machine_counters operator-(const machine_counters& after, const machine_counters& before);

/// What is counted now for the calling thread, the processors, and the devices under the file.
machine_counters count(const machine_facts& machine);

}  // namespace qd1
