// SPDX-License-Identifier: BSL-1.0
#include "depth/sharing.hpp"

#include "findings/ladders.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>

namespace qd1 {
namespace {

// By the words for what they need, in the order of the alphabet.
using users = std::map<std::string, std::vector<std::size_t>>;

void add(users& to, const std::string& what, std::size_t number) {
  std::vector<std::size_t>& by = to[what];
  if (by.empty() || by.back() != number) by.push_back(number);
}

users users_of(const std::vector<target>& targets) {
  users found;
  for (std::size_t each = 0; each < targets.size(); ++each)
    for (const device_facts& device : targets[each].machine.devices) {
      add(found, "lie on " + device.name, each + 1);
      if (!device.pcie) continue;
      if (!device.pcie->root_complex.empty())
        add(found, "hang off the root complex " + device.pcie->root_complex, each + 1);
      if (device.pcie->numa_node) add(found, fmt::format("belong to NUMA node {}", *device.pcie->numa_node), each + 1);
    }
  return found;
}

}  // namespace

std::vector<std::string> shared_by(const std::vector<target>& targets) {
  std::vector<std::string> found;
  for (const auto& [what, by] : users_of(targets))
    if (by.size() > 1)
      found.push_back(fmt::format("targets {} and {} {}", fmt::join(by.begin(), by.end() - 1, ", "), by.back(), what));
  return found;
}

void note_scaling(report& run, const std::vector<target>& targets) {
  for (series& each : run.series) {
    const auto efficiency = scaling_efficiency(run, each);
    if (!efficiency) continue;
    std::string text = fmt::format(
        "scaling efficiency {:.0f} %: all together, as a fraction of the sum of each target alone", *efficiency * 100);
    if (const auto shared = shared_by(targets); *efficiency < nearly_all && !shared.empty())
      text += fmt::format("; {}", fmt::join(shared, "; "));
    each.notes.push_back(text);
  }
}

}  // namespace qd1
