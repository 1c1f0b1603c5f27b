// Makes what cannot be moved in its place.
#pragma once

#include <type_traits>
#include <utility>

namespace qio_test {

/// optional.emplace(made_by([&] { return file.async_read_at(…); }))
template <class Make>
struct made_by {
  explicit made_by(Make how) : make(std::move(how)) {}
  operator std::invoke_result_t<Make&>() { return make(); }
  Make make;
};

}  // namespace qio_test
