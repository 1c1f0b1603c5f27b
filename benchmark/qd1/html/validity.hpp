// SPDX-License-Identifier: BSL-1.0
// Whether a run may be believed: what a reader has to see before any figure.
#pragma once

#include "html.hpp"
#include "markup.hpp"

#include <span>

namespace qd1::html {

enum class standing { sound, incomplete, invalid };

standing standing_of(const report& run);
standing worst_of(std::span<const named_report> runs);

/// Whether the machines of the runs are alike enough for their figures to be compared.
bool comparable(std::span<const named_report> runs);

/// A banner for each thing that is wrong. Nothing if all is well.
nodes banners(std::span<const named_report> runs);

/// Validity, verified direct, noise, clock: each a word or two.
node assurances(const report& run);

}  // namespace qd1::html
