// A file opened without a context has no asynchronous writes that are synced.
// expect: deleted.*needs_a_file_opened_on_a_context
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file_type = qio::async_cached_file;
#else
using file_type = qio::cached_file;
#endif

qio::task<bool> store(file_type& from, std::span<const std::byte> bytes) {
  const auto done = co_await from.async_write_and_sync(0, bytes);
  co_return done.synced.has_value();
}
