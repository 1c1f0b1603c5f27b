// SPDX-License-Identifier: BSL-1.0
// The facts and counters as JSON: one key per member, absent where the fact is unknown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>

namespace qd1 {

void to_json(nlohmann::json& out, const machine_facts& machine);
/// A missing key leaves the fact absent. Throws usage_error for an unknown key, nlohmann::json::exception for a value
/// of another type.
void from_json(const nlohmann::json& in, machine_facts& machine);

void to_json(nlohmann::json& out, const machine_counters& counters);
void from_json(const nlohmann::json& in, machine_counters& counters);

/// For readers of the report; it follows from the facts.
void to_json(nlohmann::json& out, const recommendation& advice);

}  // namespace qd1
