// operation_options stores a reference to the stop token, so a temporary one would dangle.
// expect: deleted|cannot convert initializer list argument to 'const operation_options'
#include <qio/qio.hpp>

void read(qio::async_cached_file& from, std::span<std::byte> buffer, const std::stop_source& source) {
#ifdef QIO_CONTROL
  const auto token = source.get_token();
  from.async_read_at(0, buffer, {.stop = token}).start([](auto) {});
#else
  from.async_read_at(0, buffer, {.stop = source.get_token()}).start([](auto) {});
#endif
}
