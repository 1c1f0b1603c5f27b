// An operation that is neither awaited nor started does nothing.
// expect: nodiscard
#include <qio/qio.hpp>

void read(qio::async_cached_file& from, std::span<std::byte> buffer) {
#ifdef QIO_CONTROL
  auto reading =
#endif
      from.async_read_at(0, buffer);
#ifdef QIO_CONTROL
  reading.start([](auto) {});
#endif
}
