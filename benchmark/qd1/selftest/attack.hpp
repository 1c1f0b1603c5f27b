// SPDX-License-Identifier: BSL-1.0
// Known attacks on a measurement: what each does, and what qd1 must notice of it.
#pragma once

#include "enumerators.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

enum class attack_result : std::uint8_t { noticed, missed, untried };
template <>
struct enumerators<attack_result> {
  static constexpr std::string_view names[] = {"noticed", "NOT noticed", "could not be tried here"};
};

/// What came of an attack.
struct finding {
  attack_result result = attack_result::missed;
  std::string text;  ///< what qd1 reported; or why the attack could not be tried
};

struct attack {
  std::string name;      ///< "reads of a sparse file"
  std::string expected;  ///< of qd1: "INVALID"
  /// Carries it out on files in a directory. Throws usage_error where that is impossible.
  std::function<finding(const std::string& directory)> attempt;
};

/// Files, devices and caches that are not what they are taken for.
std::vector<attack> attacks_on_files();
/// Clocks, stalls and neighbors.
std::vector<attack> attacks_on_time();
/// Reports that were changed.
std::vector<attack> attacks_on_reports();

std::vector<attack> known_attacks();

/// A run that nobody attacks: whoever refuses everything would notice every attack. A missed one was refused.
attack no_attack();

}  // namespace qd1
