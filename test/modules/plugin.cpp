// A shared library, or a DLL, that uses qio by itself. Compiled with hidden visibility, as plugins are.
#include "plugin.hpp"

#include <qio/qio.hpp>

#include <array>
#include <cstddef>

#if defined(_WIN32)
#define EXPORTED extern "C" __declspec(dllexport)
#else
#define EXPORTED extern "C" [[gnu::visibility("default")]]
#endif

EXPORTED void make_errors(qio::error* own, qio::error* of_system, qio::error* of_deadline) {
  *own = qio::error(qio::errc::beyond_end, 8192, 4096);
  *of_system = qio::cached_file::open("no such file, nor a directory").error();
  *of_deadline = std::make_error_code(std::errc::timed_out);
}

EXPORTED void make_code(std::error_code* code) { *code = qio::errc::beyond_end; }

EXPORTED const void* address_of_category() { return &qio::qio_category(); }

EXPORTED int keep_context() {
  static const auto context = qio::context::create();
  return context ? 0 : __LINE__;
}

EXPORTED int copy_from_file(const char* path) {
  auto file = qio::mapped_file::open(path);
  if (!file) return __LINE__;
  std::array<std::byte, 4> copied{};
  const auto read = file.value().read_at(0, copied);
  return read && read.value() == copied.size() && qio::platform::guard_holds() ? 0 : __LINE__;
}
