// A simulated disk has names of its own, and syncs them itself.
// expect: of a simulated disk, disk.sync_directory\(\) is meant
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using engine = qio::pool;
#else
using engine = qio::simulated;
#endif

auto sync(const qio::basic_context<engine>& on) { return qio::async_sync_directory(on, "."); }
