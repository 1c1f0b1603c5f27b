// SPDX-License-Identifier: BSL-1.0
// What a publication claims, beside what was found here: each as a ratio of two figures, so that machines of any speed
// compare.
#pragma once

#include "markup.hpp"

#include <qd1/reproduce/reproduction.hpp>

namespace qd1::html {

/// A row for each claim that is a factor. Empty if none was found here.
node factors_chart(const reproduction& of);

}  // namespace qd1::html
