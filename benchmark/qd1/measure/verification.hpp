// SPDX-License-Identifier: BSL-1.0
// What the device and the page cache say about a series.
#pragma once

#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace qd1 {

/// Made before the series, asked after it.
class witness {
 public:
  witness(const machine_facts& machine, std::string path, std::uint64_t bytes);

  verification testify(const work& work, std::uint64_t application_operations) const;

 private:
  const machine_facts& machine_;
  std::string path_;
  std::uint64_t bytes_;
  machine_counters before_;
  std::optional<std::uint64_t> pages_before_;
};

/// The verdict on a direct series, given the facts; and the line that says so.
void judge(verification& facts, const work& work);

}  // namespace qd1
