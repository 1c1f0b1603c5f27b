// An operation that has a name, but is neither awaited nor started, does nothing.
// expect: unused variable
#include <qio/qio.hpp>

void read(qio::async_cached_file& from, std::span<std::byte> buffer) {
  auto reading = from.async_read_at(0, buffer);
#ifdef QIO_CONTROL
  reading.start([](auto) {});
#endif
}
