// SPDX-License-Identifier: BSL-1.0
// Who wins, seen at a glance: the series in order of their medians.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

namespace qd1::html {

node overview(const panel& from);

}  // namespace qd1::html
