// SPDX-License-Identifier: BSL-1.0
#include "fields/json.hpp"
#include "output/json.hpp"
#include "output/reproduction.hpp"
#include "reproduce/reproduction_fields.hpp"

namespace qd1 {

// Found by the argument's type when JSON is made of it.
void to_json(nlohmann::ordered_json& out, const embedded_report& of) {
  out = nlohmann::ordered_json::parse(json(*of.found));
}

std::string json(const reproduction& of) {
  using nlohmann::ordered_json;
  ordered_json out;
  out["qio_experiment"] = json_of::written<ordered_json>(of);
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace qd1
