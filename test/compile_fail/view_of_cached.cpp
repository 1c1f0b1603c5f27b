// Only a mapped file has views.
// expect: is_mapped
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file = qio::mapped_file;
#else
using file = qio::cached_file;
#endif

auto view(const file& from) { return from.view(0, 4096); }
