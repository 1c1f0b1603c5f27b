// SPDX-License-Identifier: BSL-1.0
// The facts as lines for a person: what `qd1 env` prints, and what two machines are compared by.
#pragma once

#include <qd1/machine/facts.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

/// What a fact implies for a later run on the same machine.
enum class nature : bool {
  setting,    ///< changes only if a person changes it: another value is another machine
  momentary,  ///< free memory, temperature …, or only a name
};

struct line {
  std::string label;
  std::string text;
  qd1::nature nature;
};

struct section {
  std::string title;
  std::vector<line> lines;

  /// The text under that label, or null.
  const std::string* find(std::string_view label) const;
};

/// One section for each topic, in the same order for every machine; the devices, top down, come last. Absent facts
/// have no line.
std::vector<section> present(const machine_facts& machine);

}  // namespace qd1
