// A batch writes the answers into its requests.
// expect: no matching (member )?function|cannot convert|could not convert|no known conversion|no viable conversion
#include <qio/qio.hpp>

#ifdef QIO_CONTROL
using request = qio::write_request;
#else
using request = const qio::write_request;
#endif

std::size_t write(qio::cached_file& file, std::span<request> requests) { return file.write_many(requests).value(); }
