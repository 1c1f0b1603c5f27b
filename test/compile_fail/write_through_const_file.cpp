// A const file cannot be written.
// expect: discards qualifiers|method is not marked const
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file = qio::cached_file;
#else
using file = const qio::cached_file;
#endif

auto write(file& to, std::span<const std::byte> bytes) { return to.write_at(0, bytes); }
