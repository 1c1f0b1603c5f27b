// SPDX-License-Identifier: BSL-1.0
// From a mode, as a value, to qio's type of it.
#pragma once

#include "modes.hpp"
#include <qio/mode.hpp>

#include <cstddef>
#include <tuple>
#include <utility>

namespace qd1 {

/// In the order of the enumeration.
using mode_types = std::tuple<qio::direct, qio::cached, qio::mapped, qio::uncached>;

/// Calls `function.operator()<Mode>()` with qio's type of `value`.
template <class Function>
void with_mode(mode value, Function&& function) {
  [&]<std::size_t... index>(std::index_sequence<index...>) {
    static_assert(((std::tuple_element_t<index, mode_types>::name == name(static_cast<mode>(index))) && ...));
    static_cast<void>(((static_cast<std::size_t>(value) == index &&
                        (function.template operator()<std::tuple_element_t<index, mode_types>>(), true)) ||
                       ...));
  }(std::make_index_sequence<all_values<mode>().size()>());
}

}  // namespace qd1
