// A file opened without a context has blocking operations only.
// expect: deleted.*needs_a_file_opened_on_a_context
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file = qio::async_cached_file;
#else
using file = qio::cached_file;
#endif

void read(file& from, std::span<std::byte> buffer) {
  from.async_read_at(0, buffer).start([](auto) {});
}
