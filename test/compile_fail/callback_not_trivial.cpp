// An operation does not store a callback that owns something.
// expect: must be trivially copyable
#include <qio/qio.hpp>

#include <memory>

#ifdef QIO_CONTROL
using owner = int*;
#else
using owner = std::shared_ptr<int>;
#endif

void start(qio::async_cached_file& from, std::span<std::byte> buffer, owner captured) {
  from.async_read_at(0, buffer).start([captured](auto) { static_cast<void>(captured); });
}
