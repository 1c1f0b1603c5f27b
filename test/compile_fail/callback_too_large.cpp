// An operation stores a callback of at most four pointers.
// expect: at most four pointers in size
#include <qio/qio.hpp>

#include <array>

#ifdef QIO_CONTROL
constexpr std::size_t pointers = 4;
#else
constexpr std::size_t pointers = 5;
#endif

void start(qio::async_cached_file& from, std::span<std::byte> buffer, std::array<void*, pointers> captured) {
  from.async_read_at(0, buffer).start([captured](auto) { static_cast<void>(captured); });
}
