// SPDX-License-Identifier: BSL-1.0
#include <nlohmann/json.hpp>
#include <qd1/machine/json.hpp>
#include <qd1/machine/json_members.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace qd1 {
namespace {

using nlohmann::json;

template <class T>
concept listed = requires { members<T>::list; };

template <class T>
void put(json& object, const char* name, const T& value);
template <class T>
void get(const json& object, const char* name, T& value);

template <class T>
json written(const T& value) {
  if constexpr (listed<T>) {
    json object = json::object();
    std::apply([&](const auto&... each) { (put(object, each.name, value.*each.pointer), ...); }, members<T>::list);
    return object;
  } else {
    return value;
  }
}

template <class T>
json written(const std::vector<T>& values) {
  json array = json::array();
  for (const T& each : values) array.push_back(written(each));
  return array;
}

template <class T>
struct optional_of {};
template <class T>
struct optional_of<std::optional<T>> {
  using type = T;
};
template <class T>
concept optional_value = requires { typename optional_of<T>::type; };

template <class T>
void put(json& object, const char* name, const T& value) {
  if constexpr (optional_value<T>) {
    if (value) object[name] = written(*value);
  } else {
    object[name] = written(value);
  }
}

template <class T>
void read(const json& in, T& value) {
  if constexpr (listed<T>)
    std::apply([&](const auto&... each) { (get(in, each.name, value.*each.pointer), ...); }, members<T>::list);
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    value = in.get_ref<const json::number_unsigned_t&>();  // get() would take one that does not fit
  else
    in.get_to(value);
}

template <class T>
void read(const json& in, std::vector<T>& values) {
  values.clear();
  for (const json& each : in) read(each, values.emplace_back());
}

template <class T>
void get(const json& object, const char* name, T& value) {
  const auto found = object.find(name);
  if (found == object.end()) return;
  if constexpr (optional_value<T>)
    read(*found, value.emplace());
  else
    read(*found, value);
}

}  // namespace

void to_json(json& out, const machine_facts& machine) { out = written(machine); }

void from_json(const json& in, machine_facts& machine) {
  machine = {};
  read(in, machine);
}

void to_json(json& out, const machine_counters& counters) { out = written(counters); }

void from_json(const json& in, machine_counters& counters) {
  counters = {};
  read(in, counters);
}

void to_json(json& out, const recommendation& advice) {
  out = {{"severity", name(advice.severity)}, {"finding", advice.finding}, {"why", advice.why}};
  if (advice.command) out["command"] = *advice.command;
}

}  // namespace qd1
