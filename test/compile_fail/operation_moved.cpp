// An operation cannot be moved, because the system holds its address.
// expect: deleted
#include <qio/qio.hpp>

#include <utility>

void start(qio::async_cached_file& from, std::span<std::byte> buffer) {
  auto reading = from.async_read_at(0, buffer);
#ifdef QIO_CONTROL
  auto& moved = reading;
#else
  auto moved = std::move(reading);
#endif
  moved.start([](auto) {});
}
