// SPDX-License-Identifier: BSL-1.0
// Whether a run may be believed: what a reader has to see before any figure.
#pragma once

#include "html.hpp"
#include "markup.hpp"

#include <span>
#include <string>

namespace qd1::html {

enum class standing { sound, incomplete, invalid };

standing standing_of(const report& run);
standing worst_of(std::span<const named_report> runs);

/// Whether the machines of the runs are alike enough for their figures to be compared.
bool comparable(std::span<const named_report> runs);

/// A banner for each thing that is wrong. Nothing if all is well.
nodes banners(std::span<const named_report> runs);

/// Up to which percentile the host's noise cannot explain the figures: "p99.2", or "p99.2 to p99.93, by series".
std::string trust_in_words(const report& run);

/// Validity, verified direct, noise, clock: each a word or two.
node assurances(const report& run);

}  // namespace qd1::html
