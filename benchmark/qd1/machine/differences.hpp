// SPDX-License-Identifier: BSL-1.0
// How two machines differ, or one machine at two times, which comes before any comparison of figures.
#pragma once

#include <qd1/machine/facts.hpp>

#include <string>
#include <vector>

namespace qd1 {

struct machine_difference {
  std::string subject;   ///< "Processor, governor"
  std::string a, b;      ///< "not known" where one of them lacks it
  bool forbids = false;  ///< their figures measure different things, so ratios of them are meaningless

  /// One line: "Processor, governor: powersave against performance".
  std::string in_words() const;
  friend bool operator==(const machine_difference&, const machine_difference&) = default;
};

/// Those that forbid a comparison first. What changes from moment to moment (free memory, temperature) and names are
/// left out. Devices are paired by their place under the file.
std::vector<machine_difference> differences(const machine_facts& a, const machine_facts& b);

}  // namespace qd1
