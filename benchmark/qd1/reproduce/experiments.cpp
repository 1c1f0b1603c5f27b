// SPDX-License-Identifier: BSL-1.0
#include "failure.hpp"
#include "reproduce/experiment.hpp"

#include <fmt/format.h>

#include <array>

namespace qd1 {

std::span<const experiment* const> experiments() {
  static constexpr std::array all = {&afio_2017, &eleven_million_iops, &two_kernels, &twenty_million_iops,
                                     &buffered_memory};
  return all;
}

const experiment& experiment_named(std::string_view name) {
  std::string names;
  for (const experiment* each : experiments()) {
    if (each->about.name == name) return *each;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each->about.name);
  }
  throw usage_error(fmt::format("{}: no such experiment; there are {}", name, names));
}

}  // namespace qd1
