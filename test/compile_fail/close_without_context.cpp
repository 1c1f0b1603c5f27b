// A file opened without a context closes by blocking.
// expect: deleted.*needs_a_file_opened_on_a_context
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file_type = qio::async_cached_file;
#else
using file_type = qio::cached_file;
#endif

qio::task<bool> close(file_type& from) {
  const auto done = co_await from.async_close();
  co_return done.has_value();
}
