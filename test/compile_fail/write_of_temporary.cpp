// An asynchronous write does not take a buffer that is destroyed before it ends.
// expect: this buffer is a temporary
#include <qio/qio.hpp>

#include <vector>

std::vector<std::byte> record();

#ifdef QIO_CONTROL
void write(qio::async_cached_file& to, const std::vector<std::byte>& named) {
  static_cast<void>(to.async_write_at(0, named));
  static_cast<void>(to.async_write_at(0, std::span<const std::byte>(named)));
}
auto write(qio::cached_file& to) { return to.write_at(0, record()); }  // complete when the call returns
#else
auto write(qio::async_cached_file& to) { return to.async_write_at(0, record()); }
#endif
