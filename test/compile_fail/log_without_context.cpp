// A log needs a file that was opened on a context.
// expect: deleted.*needs_a_file_opened_on_a_context
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using file_type = qio::async_cached_file;
#else
using file_type = qio::cached_file;
#endif

qio::task<bool> open(file_type from) {
  const auto visit = [](const qio::log_record&) { return true; };
  const auto opened = co_await qio::open_log(std::move(from), visit);
  co_return opened.has_value();
}
