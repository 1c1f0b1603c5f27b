// SPDX-License-Identifier: BSL-1.0
// The lesser and the greater of two values. Nothing else is needed from <algorithm>, which would take a tenth of the
// compile time of the whole library.
#pragma once

#include <qio/configuration.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

template <class T>
constexpr T lesser_of(T a, T b) noexcept {
  return b < a ? b : a;
}

template <class T>
constexpr T greater_of(T a, T b) noexcept {
  return a < b ? b : a;
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
