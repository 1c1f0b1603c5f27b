// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/advice.hpp>

#include <algorithm>
#include <functional>

namespace qd1 {

std::vector<recommendation> advise(const machine_facts& machine) {
  std::vector<recommendation> all;
  advise_on_storage(machine, all);
  advise_on_host(machine.host, all);
  std::ranges::stable_sort(all, std::greater<>(), &recommendation::severity);
  return all;
}

}  // namespace qd1
