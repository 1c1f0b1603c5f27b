// SPDX-License-Identifier: BSL-1.0
// JSON output, input and schema of whatever fields<T> describes. Included by the few sources that do one of these.
#pragma once

#include "../enumerators.hpp"
#include "../failure.hpp"
#include "fields.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace qd1::json_of {

template <class T>
struct optional_of : std::false_type {};
template <class T>
struct optional_of<std::optional<T>> : std::true_type {
  using type = T;
};

template <class T>
constexpr bool is_optional = optional_of<T>::value;

template <class T>
struct vector_of : std::false_type {};
template <class T>
struct vector_of<std::vector<T>> : std::true_type {
  using type = T;
};

template <class Struct>
bool is_measured(const Struct& object) {
  if constexpr (requires { fields<Struct>::is_measured(object); })
    return fields<Struct>::is_measured(object);
  else
    return true;
}

constexpr bool only_if_measured(presence value) {
  return value == presence::measured || value == presence::measured_later;
}

// --- output ---

template <class Json, class T>
Json written(const T& value);

template <class Json, class Struct>
void put_members(const Struct& object, Json& out);

template <class Json, class Struct, class Type>
void put(const member<Struct, Type>& each, const Struct& object, Json& out) {
  if (only_if_measured(each.presence) && !is_measured(object)) return;
  const Type& value = object.*each.pointer;
  if constexpr (is_optional<Type> && fields<Struct>::shape == layout::sparse) {
    if (value) out[each.name] = written<Json>(*value);
  } else {
    out[each.name] = written<Json>(value);
  }
}

template <class Json, class Struct, class Type>
void put(const computed<Struct, Type>& each, const Struct& object, Json& out) {
  if (only_if_measured(each.presence) && !is_measured(object)) return;
  out[each.name] = written<Json>(each.value(object));
}

template <class Json, class Struct, class Type>
void put(const flattened<Struct, Type>& each, const Struct& object, Json& out) {
  put_members(object.*each.pointer, out);
}

template <class Json, class Struct>
void put_members(const Struct& object, Json& out) {
  std::apply([&](const auto&... each) { (put(each, object, out), ...); }, fields<Struct>::list);
}

template <class Json, class T>
Json written_object(const T& value) {
  if constexpr (fields<T>::shape == layout::array) {
    Json array = Json::array();
    std::apply([&](const auto&... each) { (array.push_back(written<Json>(value.*each.pointer)), ...); },
               fields<T>::list);
    return array;
  } else {
    Json object = Json::object();
    put_members(value, object);
    return object;
  }
}

template <class Json, class T>
Json written(const T& value) {
  if constexpr (described<T>) {
    return written_object<Json>(value);
  } else if constexpr (enumerated<T>) {
    return name(value);
  } else if constexpr (is_optional<T>) {
    return value ? written<Json>(*value) : Json(nullptr);
  } else if constexpr (vector_of<T>::value) {
    Json array = Json::array();
    for (const auto& each : value) array.push_back(written<Json>(each));
    return array;
  } else {
    return value;
  }
}

// --- input ---

template <class Json, class T>
void read(const Json& in, T& value);

template <class Json, class Struct, class Type>
void get(const member<Struct, Type>& each, const Json& in, bool measured, Struct& object) {
  if (each.presence == presence::derived || (only_if_measured(each.presence) && !measured)) return;
  const auto found = in.find(each.name);
  Type& value = object.*each.pointer;
  if (found == in.end()) {
    const bool may_be_missing = each.presence == presence::later || each.presence == presence::measured_later;
    if (may_be_missing || fields<Struct>::shape == layout::sparse) return;
    throw usage_error(std::string(fields<Struct>::name) + ": '" + each.name + "' is missing");
  }
  if constexpr (is_optional<Type> && fields<Struct>::shape == layout::sparse)
    read(*found, value.emplace());
  else
    read(*found, value);
  if constexpr (std::is_same_v<Type, std::uint64_t>)
    if (value < each.least)
      throw usage_error(std::string(each.name) + ": " + std::to_string(value) + "; at least " +
                        std::to_string(each.least) + " is needed");
}

template <class Json, class Struct, class Type>
void get(const computed<Struct, Type>&, const Json&, bool, Struct&) {}

template <class Struct>
bool is_known(std::string_view name) {
  return std::apply([&](const auto&... each) { return ((name == each.name) || ...); }, fields<Struct>::list);
}

template <class Json, class Struct>
void require_known_members(const Json& in) {
  // Nearly always all are known, and then it is enough to count those that are there.
  const std::size_t known = std::apply([&](const auto&... each) { return (std::size_t(in.contains(each.name)) + ...); },
                                       fields<Struct>::list);
  if (known == in.size()) return;
  for (const auto& [key, value] : in.items())
    if (!is_known<Struct>(key)) throw usage_error(std::string(fields<Struct>::name) + ": '" + key + "' is not known");
}

template <class Json, class Struct>
void read_object(const Json& in, Struct& object) {
  if (!in.is_object()) throw usage_error(std::string(fields<Struct>::name) + ": is not an object");
  require_known_members<Json, Struct>(in);
  bool measured = true;
  if constexpr (requires { fields<Struct>::measured_by; }) measured = in.contains(fields<Struct>::measured_by);
  std::apply([&](const auto&... each) { (get(each, in, measured, object), ...); }, fields<Struct>::list);
}

template <class Json, class Struct>
void read_array(const Json& in, Struct& object) {
  if (in.size() != std::tuple_size_v<decltype(fields<Struct>::list)>)
    throw usage_error(std::string(fields<Struct>::name) + ": has " + std::to_string(in.size()) + " values");
  std::size_t index = 0;
  std::apply([&](const auto&... each) { (read(in.at(index++), object.*each.pointer), ...); }, fields<Struct>::list);
}

// A number that is not negative and has no fraction; what has would not fit.
template <class Json>
std::uint64_t count(const Json& in) {
  return in.template get_ref<const typename Json::number_unsigned_t&>();
}

template <class Json, class T>
void read(const Json& in, T& value) {
  if constexpr (described<T>) {
    if constexpr (fields<T>::shape == layout::array)
      read_array(in, value);
    else
      read_object(in, value);
    if constexpr (requires { fields<T>::check(value); }) fields<T>::check(value);
  } else if constexpr (enumerated<T>) {
    const auto wanted = in.template get<std::string>();
    const auto found = value_named<T>(wanted);
    if (!found) throw usage_error("'" + wanted + "' is not known");
    value = *found;
  } else if constexpr (is_optional<T>) {
    in.is_null() ? value.reset() : read(in, value.emplace());
  } else if constexpr (vector_of<T>::value) {
    value.clear();
    for (const Json& each : in) read(each, value.emplace_back());
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    value = static_cast<T>(count(in));
  } else {
    in.get_to(value);
  }
}

}  // namespace qd1::json_of
