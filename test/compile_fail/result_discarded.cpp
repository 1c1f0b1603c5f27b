// The result of a transfer must not be ignored.
// expect: nodiscard
#include <qio/qio.hpp>

void write(qio::cached_file& to, std::span<const std::byte> bytes) {
#ifdef QIO_CONTROL
  static_cast<void>(to.write_at(0, bytes));
#else
  to.write_at(0, bytes);
#endif
}
