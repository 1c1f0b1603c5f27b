// SPDX-License-Identifier: BSL-1.0
// A repeated experiment, for people in a terminal and for programs.
#pragma once

#include "reproduce/reproduction.hpp"

#include <string>

namespace qd1 {

/// Published figures and this machine's, what repeated and what did not.
std::string text(const reproduction& of);

/// One object under the key "qio_experiment" (docs/experiment.schema.json); each part's report is as json(report)
/// writes it.
std::string json(const reproduction& of);

}  // namespace qd1
