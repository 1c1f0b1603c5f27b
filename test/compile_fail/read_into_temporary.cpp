// An asynchronous read does not take an array of buffers that is destroyed before it ends, with a deadline or without.
// expect: this buffer is a temporary
#include <qio/qio.hpp>

#include <array>

#ifdef QIO_CONTROL
using parts = std::span<const qio::mutable_buffer, 1>;
#else
using parts = std::array<qio::mutable_buffer, 1>;
#endif

auto read(qio::async_cached_file& from, std::array<qio::mutable_buffer, 1>& memory) {
  return from.async_read_at(0, parts(memory), qio::operation_options());
}
