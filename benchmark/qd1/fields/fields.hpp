// SPDX-License-Identifier: BSL-1.0
// The members of a struct by name, since C++20 cannot list them. JSON output, JSON input and the published schema all
// come from this one description.
#pragma once

#include <cstdint>
#include <tuple>

namespace qd1 {

/// When a member is in the JSON object.
enum class presence : std::uint8_t {
  always,    ///< written and required
  later,     ///< written; reports of earlier versions lack it, and keep the default
  measured,  ///< as `always`, but only of an object for which `fields<T>::is_measured()` holds
  measured_later,
  derived,  ///< written, and skipped when it is read, since it follows from the rest
};

template <class Struct, class Type>
struct member {
  const char* name;
  Type Struct::*pointer;
  const char* about = "";  ///< for the schema
  qd1::presence presence = presence::always;
  std::uint64_t least = 0;  ///< of a count
};

// For clang 16, which does not deduce for aggregates yet.
template <class Struct, class Type>
member(const char*, Type Struct::*) -> member<Struct, Type>;
template <class Struct, class Type>
member(const char*, Type Struct::*, const char*) -> member<Struct, Type>;
template <class Struct, class Type>
member(const char*, Type Struct::*, const char*, presence) -> member<Struct, Type>;
template <class Struct, class Type>
member(const char*, Type Struct::*, const char*, presence, std::uint64_t) -> member<Struct, Type>;

/// A value that is computed when it is written, and skipped when it is read.
template <class Struct, class Type>
struct computed {
  const char* name;
  Type (*value)(const Struct&);
  const char* about = "";
  qd1::presence presence = presence::always;
};

template <class Struct, class Type>
computed(const char*, Type (*)(const Struct&)) -> computed<Struct, Type>;
template <class Struct, class Type>
computed(const char*, Type (*)(const Struct&), const char*) -> computed<Struct, Type>;
template <class Struct, class Type>
computed(const char*, Type (*)(const Struct&), const char*, presence) -> computed<Struct, Type>;

/// A member whose own members are written in its place.
template <class Struct, class Type>
struct flattened {
  Type Struct::*pointer;
};

template <class Struct, class Type>
flattened(Type Struct::*) -> flattened<Struct, Type>;

/// What an object looks like in JSON.
enum class layout : std::uint8_t {
  complete,  ///< an object with all members; null where there is none
  sparse,    ///< an object without those that are not known, each of which may be missing
  array      ///< the members' values, in their order
};

/// To be specialized:
///   name    of the type, for messages and the schema
///   about   one sentence for the schema; may be missing
///   shape   a layout
///   list    a tuple with a member, computed or flattened for each of the struct's members, in their order
///   is_measured(object), measured_by: of types with members that are `measured`: whether there are any, and the
///           member whose presence shows that when it is read
///   check(object): throws usage_error if its values contradict each other; may be missing
template <class Struct>
struct fields {};

template <class T>
concept described = requires { fields<T>::list; };

}  // namespace qd1
