// The same with a name.
// expect: unused variable
#include <qio/qio.hpp>

qio::task<> save();

qio::task<> finish() {
  auto saving = save();
#ifdef QIO_CONTROL
  co_await std::move(saving);
#endif
  co_return;
}
