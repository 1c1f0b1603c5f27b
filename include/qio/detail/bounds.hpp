// SPDX-License-Identifier: BSL-1.0
// The lesser and the greater of two. Of <algorithm> nothing else is needed, and it costs a tenth of what this whole
// library takes to compile.
#pragma once

namespace qio::detail {

template <class T>
constexpr T lesser_of(T a, T b) noexcept {
  return b < a ? b : a;
}

template <class T>
constexpr T greater_of(T a, T b) noexcept {
  return a < b ? b : a;
}

}  // namespace qio::detail
