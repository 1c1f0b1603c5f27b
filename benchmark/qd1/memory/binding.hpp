// SPDX-License-Identifier: BSL-1.0
// What bound transfers while memory was short, by the figures.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

struct binding {
  qd1::bound bound = bound::unknown;
  std::string evidence;  ///< the figures that show it
};

/// `of` is a measured series whose shortage is known except for its bound. One worker, one transfer at a time.
binding binding_of(const series& of);

}  // namespace qd1
