// A read cannot fill a buffer of const bytes.
// expect: readable_into
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using buffer = std::span<std::byte>;
#else
using buffer = std::span<const std::byte>;
#endif

auto read(const qio::cached_file& from, buffer into) { return from.read_at(0, into); }
