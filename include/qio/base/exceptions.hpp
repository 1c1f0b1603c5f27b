// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Calls `action`, in which the standard library may throw. False if it threw. Where exceptions are disabled, the
/// standard library ends the program instead.
template <class Action>
bool succeeds(Action&& action) noexcept {
#if defined(__cpp_exceptions)
  try {
    std::forward<Action>(action)();
    return true;
  } catch (...) {
    return false;
  }
#else
  std::forward<Action>(action)();
  return true;
#endif
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
