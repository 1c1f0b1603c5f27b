// SPDX-License-Identifier: BSL-1.0
// The JSON schema of whatever fields<T> describes. It admits no member that is not listed.
#pragma once

#include "json.hpp"

#include <string>
#include <type_traits>
#include <utility>

namespace qd1::json_of {

/// Collects the schemas of the types that it meets, each under its name.
template <class Json>
class schemas {
 public:
  explicit schemas(Json& definitions) : definitions_(definitions) {}

  /// A reference to the schema of T, or the schema itself where it is short.
  template <class T>
  Json of() {
    if constexpr (is_optional<T>) {
      Json inner = of<typename optional_of<T>::type>();
      if (!inner.contains("type")) return {{"anyOf", {std::move(inner), {{"type", "null"}}}}};
      inner["type"] = {inner["type"], "null"};
      return inner;
    } else if constexpr (vector_of<T>::value) {
      return {{"type", "array"}, {"items", of<typename vector_of<T>::type>()}};
    } else if constexpr (described<T>) {
      define<T>();
      return {{"$ref", std::string("#/$defs/") + fields<T>::name}};
    } else if constexpr (enumerated<T>) {
      Json names = Json::array();
      for (const T each : all_values<T>()) names.push_back(name(each));
      return {{"enum", std::move(names)}};
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T>) {
      return {{"type", "integer"}, {"minimum", 0}};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {{"type", "number"}};
    } else {
      return {{"type", "string"}};
    }
  }

 private:
  template <class T>
  void define() {
    Json& schema = definitions_[fields<T>::name];
    if (!schema.is_null()) return;
    schema = Json::object();  // met: a type may refer to itself
    Json made = Json::object();
    if constexpr (requires { fields<T>::about; }) made["description"] = fields<T>::about;
    if constexpr (fields<T>::shape == layout::array)
      describe_array<T>(made);
    else
      describe_object<T>(made);
    definitions_[fields<T>::name] = std::move(made);
  }

  template <class T>
  void describe_array(Json& schema) {
    schema["type"] = "array";
    schema["minItems"] = schema["maxItems"] = std::tuple_size_v<decltype(fields<T>::list)>;
    schema["items"] = {{"type", "number"}};
  }

  template <class T>
  void describe_object(Json& schema) {
    schema["type"] = "object";
    schema["additionalProperties"] = false;
    schema["properties"] = Json::object();
    schema["required"] = Json::array();
    std::apply([&](const auto&... each) { (add(each, schema), ...); }, fields<T>::list);
  }

  template <class Struct, class Type>
  void add(const member<Struct, Type>& each, Json& to) {
    constexpr bool sparse = fields<Struct>::shape == layout::sparse;
    if constexpr (sparse && is_optional<Type>)
      add_property<typename optional_of<Type>::type>(each.name, each.about, to);
    else
      add_property<Type>(each.name, each.about, to);
    if (each.least != 0) to["properties"][each.name]["minimum"] = each.least;
    if (!sparse && (each.presence == presence::always || each.presence == presence::derived))
      to["required"].push_back(each.name);
  }

  template <class Struct, class Type>
  void add(const computed<Struct, Type>& each, Json& to) {
    add_property<Type>(each.name, each.about, to);
    if (each.presence == presence::always) to["required"].push_back(each.name);
  }

  template <class Struct, class Type>
  void add(const flattened<Struct, Type>&, Json& to) {
    std::apply([&](const auto&... each) { (add(each, to), ...); }, fields<Type>::list);
  }

  template <class T>
  void add_property(const char* name, const char* about, Json& to) {
    Json schema = of<T>();
    if (*about != '\0') schema["description"] = about;
    to["properties"][name] = std::move(schema);
  }

  Json& definitions_;
};

}  // namespace qd1::json_of
