// SPDX-License-Identifier: BSL-1.0
// Which is fastest, by how much, and how certain that is: in a sentence.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

#include <optional>
#include <vector>

namespace qd1::html {

/// By how much `slower` is slower than `faster`. The interval has at least the confidence of those it comes from.
estimate ratio(const estimate& slower, const estimate& faster);

/// Its interval contains 1.
bool may_be_one(const estimate& ratio);

/// "mapped is 2.1× faster than cached at the median (0.38 vs 0.81 µs; …)". The modes of one run, the best form of each.
nodes verdict_of_modes(const panel& modes);

/// "base.json, blocking: …" for each form: how the other runs compare with the first.
nodes verdict_of_runs(const panel& runs);

}  // namespace qd1::html
