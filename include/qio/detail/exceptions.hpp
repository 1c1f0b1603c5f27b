// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

namespace qio::detail {

/// Calls `action`, which the standard library may make throw. True if it did not. Where exceptions are switched off,
/// the standard library ends the program instead.
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

}  // namespace qio::detail
