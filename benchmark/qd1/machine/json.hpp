// SPDX-License-Identifier: BSL-1.0
// The facts and counters as JSON: one key a member, absent where the fact is.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>

namespace qd1 {

void to_json(nlohmann::json& out, const machine_facts& machine);
/// Keys that are not known are skipped, those that are missing leave the fact absent; a value of another type throws
/// nlohmann::json::exception.
void from_json(const nlohmann::json& in, machine_facts& machine);

void to_json(nlohmann::json& out, const machine_counters& counters);
void from_json(const nlohmann::json& in, machine_counters& counters);

/// For readers of the report; it follows from the facts.
void to_json(nlohmann::json& out, const recommendation& advice);

}  // namespace qd1
