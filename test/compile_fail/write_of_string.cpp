// The diagnostic for a buffer that does not consist of bytes says what to pass instead.
// expect: pass std::as_bytes.std::span.x.. instead of x
#include <qio/qio.hpp>

#include <string>

#ifdef QIO_CONTROL
auto write(qio::cached_file& to, const std::string& x) { return to.write_at(0, std::as_bytes(std::span(x))); }
#else
auto write(qio::cached_file& to, const std::string& x) { return to.write_at(0, x); }
#endif
