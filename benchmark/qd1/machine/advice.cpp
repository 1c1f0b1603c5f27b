// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/advice.hpp>

#include <algorithm>
#include <array>
#include <functional>

namespace qd1 {

std::string_view name(severity value) {
  constexpr std::array<std::string_view, 3> names = {"note", "warning", "severe"};
  return names[static_cast<std::size_t>(value)];
}

std::vector<recommendation> advise(const machine_facts& machine) {
  std::vector<recommendation> all;
  advise_on_storage(machine, all);
  advise_on_host(machine.host, all);
  std::ranges::stable_sort(all, std::greater<>(), &recommendation::severity);
  return all;
}

}  // namespace qd1
