// The contents would be destroyed before the task runs.
// expect: these contents are a temporary
#include <qio/names.hpp>
#include <qio/qio.hpp>

#include <cstddef>
#include <vector>

std::vector<std::byte> contents();

auto replace(const qio::context& on) {
#ifdef QIO_CONTROL
  static const std::vector<std::byte> named = contents();
  return qio::async_replace_file(on, "data", named);
#else
  return qio::async_replace_file(on, "data", contents());
#endif
}
