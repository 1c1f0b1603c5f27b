// A task that is neither awaited nor run does nothing.
// expect: nodiscard
#include <qio/qio.hpp>

qio::task<> save();

qio::task<> finish() {
#ifdef QIO_CONTROL
  co_await
#endif
      save();
  co_return;
}
