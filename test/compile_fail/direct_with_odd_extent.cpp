// No device supports a direct transfer of 1000 bytes.
// expect: a direct transfer must be a multiple of the device's block
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
constexpr std::size_t bytes = 1024;
#else
constexpr std::size_t bytes = 1000;
#endif

auto read(const qio::direct_file& from, std::span<std::byte, bytes> buffer) { return from.read_at(0, buffer); }
