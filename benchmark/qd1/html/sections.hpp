// SPDX-License-Identifier: BSL-1.0
// The sections of a page: first the answers, then the evidence for them.
#pragma once

#include "html.hpp"
#include "markup.hpp"
#include "panel.hpp"

#include <span>
#include <vector>

namespace qd1::html {

/// A sentence and a picture for each kind of work.
node answers(const std::vector<panel>& panels, std::span<const named_report> runs);

/// All figures of a kind of work, and how they were measured.
node details(const panel& from, std::span<const named_report> runs);

/// What else is worth knowing. Empty if nothing is.
node notes(std::span<const named_report> runs);

/// What is shown side by side of a single run.
std::vector<panel> panels_to_show(const report& run);

}  // namespace qd1::html
