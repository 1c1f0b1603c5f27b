// For the tests of adopt().
#pragma once

#include "world.hpp"

#include <string>
#include <type_traits>

namespace contract {

/// What a handle must be for adopt() in this world.
template <class World>
os::raw_open suitable() {
  return {.direct = World::mode::is_direct, .asynchronous = World::is_async};
}

/// A handle of the file "data" that this mode and engine can adopt.
template <class World>
qio::platform::native_handle raw(World& w, const os::raw_open& how = suitable<World>()) {
  const auto handle = os::open_raw(w.where / "data", how);
  REQUIRE(handle != qio::platform::invalid_handle);
  return handle;
}

template <class World>
qio::result<typename World::file> adopt(World& w, qio::platform::native_handle handle,
                                        const qio::open_options& options = {}) {
  if constexpr (World::is_async)
    return qio::basic_file<typename World::mode>::adopt(*w.context, handle, options);
  else
    return World::file::adopt(handle, options);
}

/// The error of a refused handle, which stays open and has the flags that it had. Closes it.
template <class World>
qio::error refusal(World& w, qio::platform::native_handle handle, const qio::open_options& options = {}) {
  const auto flags = os::flags_of(handle);
  const auto refused = adopt(w, handle, options);
  REQUIRE(!refused);
  CHECK(os::is_open(handle));
  CHECK(os::flags_of(handle) == flags);
  os::close(handle);
  return refused.error();
}

}  // namespace contract
