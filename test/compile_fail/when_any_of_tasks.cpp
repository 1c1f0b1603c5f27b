// A task that exists already cannot receive the stop token of when_any.
// expect: deleted
#include <qio/qio.hpp>
#include <qio/when_any.hpp>

#include <stop_token>

qio::task<int> work(std::stop_token stop);

qio::task<int> first(std::stop_token stop) {
#ifdef QIO_CONTROL
  const auto answer = co_await qio::when_any(stop, work, work);
#else
  const auto answer = co_await qio::when_any(work(stop), work(stop));
#endif
  co_return answer.index() == 0 ? std::get<0>(answer) : std::get<1>(answer);
}
