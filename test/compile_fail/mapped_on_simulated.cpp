// A simulated disk has no mapped files.
// expect: files of this engine cannot be mapped
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using mode = qio::cached;
#else
using mode = qio::mapped;
#endif

auto open(const qio::basic_context<qio::simulated>& on) { return qio::basic_file<mode>::open(on, "data"); }
