// SPDX-License-Identifier: BSL-1.0
#include "measure/progress.hpp"

#include "platform/process.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace qd1::progress {

void show(std::string_view what) {
  static const bool seen = platform::progress_is_seen();
  if (!seen) return;
  fmt::print(stderr, "\r\033[K{}", what);
  std::fflush(stderr);
}

void clear() { show(""); }

}  // namespace qd1::progress
