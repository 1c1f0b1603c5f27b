// A sender is made of a function that returns an operation.
// expect: returns an operation
#include <qio/execution.hpp>
#include <qio/qio.hpp>

void describe(qio::async_cached_file& file, std::span<std::byte> buffer) {
#ifdef QIO_CONTROL
  const auto make = [&file, buffer] { return file.async_read_at(0, buffer); };
#else
  const auto make = [&file, buffer] { return file.read_at(0, buffer); };
#endif
  static_cast<void>(qio::as_sender(file, make));
}
