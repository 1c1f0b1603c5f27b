// The function of async_call() owns nothing: GCC 12 would destroy twice what a lambda within co_await has captured.
// expect: must be trivially destructible
#include <qio/call.hpp>
#include <qio/qio.hpp>

#include <memory>

#ifdef QIO_CONTROL
using owner = int*;
#else
using owner = std::shared_ptr<int>;
#endif

qio::task<void> call(qio::context& context, owner captured) {
  co_await qio::async_call(context, [captured] { ++*captured; });
}
