// SPDX-License-Identifier: BSL-1.0
// The figures, and what they are based on, as tables. On a narrow screen each row becomes a card.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

/// Percentiles with their intervals, maximum, mean, operations per second. Unknown figures show how many samples they
/// need, invalid series show the reason.
node figures_table(const panel& from);

/// The figures of each of several runs; nothing where no series was repeated.
node runs_table(const panel& from);

/// How each series was measured: what served it, whether direct was direct, and all remarks.
node evidence_table(const panel& from);

}  // namespace qd1::html
