// SPDX-License-Identifier: BSL-1.0
#include "measure/service.hpp"

#include <string>
#include <string_view>

namespace qd1 {

service service_by(const qio::explanation& facts) {
  constexpr std::string_view from = "from ";
  service found;
  found.engine = facts.find("engine")->value;
  for (const qio::fact& each : facts.facts()) {
    if (each.name != "fallback") continue;
    if (!found.reason.empty()) found.reason += "; not " + each.value.substr(from.size()) + ": ";
    found.reason += each.reason;
  }
  return found;
}

}  // namespace qd1
