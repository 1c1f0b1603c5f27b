// SPDX-License-Identifier: BSL-1.0
// The figures, and what they rest on, as tables. On a narrow screen each row becomes a card.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

/// Percentiles with their intervals, maximum, mean, operations a second. What is not known says how many samples it
/// would take, what must not be believed says why.
node figures_table(const panel& from);

/// The figures of each of several runs; nothing where no series was repeated.
node runs_table(const panel& from);

/// How each series was measured: who served it, whether direct was direct, what else there is to know.
node evidence_table(const panel& from);

}  // namespace qd1::html
