// The same for reads.
// expect: pass std::as_writable_bytes.std::span.x.. instead of x
#include <qio/qio.hpp>

#include <vector>

#ifdef QIO_CONTROL
auto read(qio::async_cached_file& from, std::vector<char>& x) {
  return from.async_read_at(0, std::as_writable_bytes(std::span(x)));
}
#else
auto read(qio::async_cached_file& from, std::vector<char>& x) { return from.async_read_at(0, x); }
#endif
