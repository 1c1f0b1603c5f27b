// The requests of a batch belong to the caller: a temporary would be destroyed before the answers are read.
// expect: no matching (member )?function|cannot convert|could not convert|no known conversion|no viable conversion
#include <qio/qio.hpp>

#include <vector>

void read(qio::async_cached_file& file) {
#ifdef QIO_CONTROL
  std::vector<qio::read_request> requests(3);
  file.async_read_many(requests).start([](auto) {});
#else
  file.async_read_many(std::vector<qio::read_request>(3)).start([](auto) {});
#endif
}
