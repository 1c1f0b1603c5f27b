// SPDX-License-Identifier: BSL-1.0
// The fastest series at a glance: all series in order of their medians.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

/// `names_fastest`: the bars of series that certainly differ from the fastest say by how much. Without it they are
/// drawn in order and claim nothing, for pages whose sentence above them compares by other means, or not at all.
node overview(const panel& from, bool names_fastest = true);

}  // namespace qd1::html
