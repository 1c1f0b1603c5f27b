// SPDX-License-Identifier: BSL-1.0
#include <qd1/fields/json.hpp>
#include <qd1/machine/fields.hpp>
#include <qd1/machine/json.hpp>

namespace qd1 {

using nlohmann::json;

void to_json(json& out, const machine_facts& machine) { out = json_of::written<json>(machine); }

void from_json(const json& in, machine_facts& machine) {
  machine = {};
  json_of::read(in, machine);
}

void to_json(json& out, const machine_counters& counters) { out = json_of::written<json>(counters); }

void from_json(const json& in, machine_counters& counters) {
  counters = {};
  json_of::read(in, counters);
}

void to_json(json& out, const recommendation& advice) { out = json_of::written<json>(advice); }

}  // namespace qd1
