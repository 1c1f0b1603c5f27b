// SPDX-License-Identifier: BSL-1.0
// What the device, the page cache, the process and the processors report about a round.
#pragma once

#include "machine/medium.hpp"
#include "measure/loops.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

/// A device under one that is itself a file, and may read that through the page cache.
struct device_below {
  std::string upper;
  std::string lower;
  std::uint64_t operations = 0;
};

/// The flushes of the lowest device with a volatile cache that completed the fewest, for whomever.
struct flush_count {
  std::string device;
  std::uint64_t flushes = 0;
};

/// What the verdict on direct is based on, besides the counts of the report.
struct evidence {
  storage_bottom bottom = {};
  std::vector<std::string> devices = {};           ///< those whose operations were counted
  std::optional<std::uint64_t> device_bytes = {};  ///< that these read or wrote, for whomever
  std::optional<device_below> below = {};
  /// Why a loop device under the file leaves open whether the device below was reached; empty if nothing is seen.
  std::string loop_doubt = {};
  std::optional<flush_count> flushes = {};  ///< none where no device with a volatile cache is known
  bool is_shared = false;  ///< another process had the file open while pages of it came into the page cache

  /// That of a later round, or of another device.
  void add(const evidence& more);
  /// That of another file on a device that has been counted.
  void add_file(const evidence& more);
};

struct testimony {
  qd1::verification verification;  ///< the counts; the verdict is left to judge()
  qd1::evidence evidence;
  qd1::disturbance disturbance;
};

/// Made before a round, asked after it.
class witness {
 public:
  witness(const machine_facts& machine, std::string path, std::uint64_t bytes);

  /// What happened meanwhile, in these seconds, of which this process computed for `processor_seconds`.
  testimony testify(const work& work, std::uint64_t application_operations, double seconds,
                    double processor_seconds) const;

 private:
  const machine_facts& machine_;
  std::string path_;
  std::uint64_t bytes_;
  std::optional<std::uint64_t> pages_before_;
  std::optional<std::uint64_t> fetched_before_;
  std::optional<std::uint64_t> stops_before_;
  loop_findings loops_before_;
  machine_counters before_;
};

/// Why flushed writes are not known to be durable; empty if they are, or for other work. What is known goes into the
/// line that judge() has written.
std::string judge_flushes(verification& facts, const work& work, const evidence& evidence);

/// The verdict on a direct series, given the facts; and the line that states it.
void judge(verification& facts, const work& work, const evidence& evidence = {});

/// `counted` was counted in `seconds`, during which this process used `processor_seconds` on `processors` processors.
disturbance disturbance_of(const machine_counters& counted, double seconds, double processor_seconds,
                           std::uint64_t processors);

}  // namespace qd1
