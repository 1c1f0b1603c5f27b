// A file opened without a context has blocking batches only.
// expect: no_engine. does not satisfy .engine.|engine<Engine>
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file = qio::async_cached_file;
#else
using file = qio::cached_file;
#endif

void read(file& from, std::span<qio::read_request> requests) {
  from.async_read_many(requests).start([](auto) {});
}
