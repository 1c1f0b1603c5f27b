// SPDX-License-Identifier: BSL-1.0
// The names of an enumeration's values, listed once: for reports, the command line and messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace qd1 {

/// To be specialized: `static constexpr std::string_view names[]`, one for each value, which count up from 0.
template <class Value>
struct enumerators;

template <class Value>
concept enumerated = requires { enumerators<Value>::names; };

template <enumerated Value>
constexpr std::string_view name(Value value) {
  return enumerators<Value>::names[static_cast<std::size_t>(value)];
}

/// All values, in the order of their declaration.
template <enumerated Value>
constexpr auto all_values() {
  std::array<Value, std::size(enumerators<Value>::names)> all{};
  for (std::size_t each = 0; each < all.size(); ++each) all[each] = static_cast<Value>(each);
  return all;
}

template <enumerated Value>
constexpr std::optional<Value> value_named(std::string_view wanted) {
  for (const Value each : all_values<Value>())
    if (name(each) == wanted) return each;
  return std::nullopt;
}

}  // namespace qd1
