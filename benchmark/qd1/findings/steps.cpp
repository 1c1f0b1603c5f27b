// SPDX-License-Identifier: BSL-1.0
#include "findings/steps.hpp"

#include <algorithm>

namespace qd1 {

std::uint64_t memory_without_ballast(const report& run) {
  std::uint64_t most = 0;
  for (const series& each : run.series) most = std::max(most, each.work.memory.value_or(0));
  return most;
}

std::string circumstances(const work& work, const report& run) {
  std::string text;
  if (work.operation == operation::read) text += work.temperature == temperature::cold ? ", cold" : ", again";
  if (work.memory.value_or(0) < memory_without_ballast(run)) text += ", with ballast";
  return text;
}

}  // namespace qd1
