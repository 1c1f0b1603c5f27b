// A file opened without a context has no asynchronous writes, with options or without.
// expect: deleted.*needs_a_file_opened_on_a_context
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file = qio::async_cached_file;
#else
using file = qio::cached_file;
#endif

void write_durably(file& from, std::span<const std::byte> bytes) {
  from.async_write_at(0, bytes, {.durable = true}).start([](auto) {});
}
