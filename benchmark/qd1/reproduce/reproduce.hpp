// SPDX-License-Identifier: BSL-1.0
// Repeats a published experiment on this machine.
#pragma once

#include "failure.hpp"
#include "reproduce/reproduction.hpp"
#include "reproduce/resources.hpp"

#include <string>
#include <vector>

namespace qd1 {

/// What would be done, without doing it: how long it takes, what is written where. Throws usage_error.
reproduction planned_reproduction(const reproduce_request& request);

/// Says on standard error what will be done, does it, and holds it against what was published. A part that cannot be
/// measured says why, and does not keep the others from it. Throws usage_error.
reproduction reproduce(const reproduce_request& request);

/// exit_pass where all that was measured may be believed, whether shapes held or not: that is the answer, no failure.
exit_status verdict(const reproduction& of);

}  // namespace qd1
