// A callback must take its operation's result.
// expect: the callback must take the operation's result
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using answer = qio::result<std::size_t>;
#else
using answer = std::size_t;
#endif

void start(qio::async_cached_file& from, std::span<std::byte> buffer) {
  from.async_read_at(0, buffer).start([](answer) {});
}
