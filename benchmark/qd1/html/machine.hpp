// SPDX-License-Identifier: BSL-1.0
// On what and how it was measured.
#pragma once

#include "html.hpp"
#include "markup.hpp"

#include <span>
#include <string>

namespace qd1::html {

/// "Samsung SSD 980 PRO, nvme · ext4 · 13th Gen Intel(R) Core(TM) i5-13500 · Linux 6.8.9": what the figures are of.
std::string machine_summary(const machine_facts& machine);

/// What about the machine spoils a measurement, and the commands that would change it. Empty if nothing does.
node advice_block(std::span<const named_report> runs);

/// Settings, clock, noise and machine, side by side if there are several runs, with what differs
/// marked.
node machine_block(std::span<const named_report> runs);

}  // namespace qd1::html
