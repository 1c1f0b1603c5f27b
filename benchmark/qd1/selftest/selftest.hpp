// SPDX-License-Identifier: BSL-1.0
// qd1 attacked on purpose, on this machine.
#pragma once

#include "failure.hpp"
#include "selftest/attack.hpp"

#include <functional>
#include <string>
#include <vector>

namespace qd1 {

struct attack_outcome {
  std::string name;
  std::string expected;
  qd1::finding finding;
};

struct selftest {
  finding unattacked;  ///< missed: a run that nobody attacked was refused
  std::vector<attack_outcome> attacks;
};

/// Makes one run that nobody attacks, then carries out one attack after the other, until an interrupt. Calls `tell`
/// with a line for each: "noticed: reads of a sparse file (expected: INVALID): 4 194 304 of 4 194 304 bytes are …".
selftest carry_out(const attack& none, const std::vector<attack>& attacks, const std::string& directory,
                   const std::function<void(const std::string& line)>& tell = {});

/// "17 of 18 attacks were noticed; 1 could not be tried here."
std::string closing(const selftest& of);
std::string json(const selftest& of);

/// exit_fail if an attack was not noticed, or a run refused that nobody attacked; exit_usage if none could be tried.
exit_status verdict(const selftest& of);

}  // namespace qd1
