// The names on a simulated disk are synced by a function of the disk.
// expect: for a simulated disk, call disk.sync_directory\(\)
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using engine = qio::default_engine;
#else
using engine = qio::simulated;
#endif

auto sync(const qio::basic_context<engine>& on) { return qio::async_sync_directory(on, "."); }
