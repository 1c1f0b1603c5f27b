// Ends as a program must whose mapped file has lost its addresses to another thread, before Windows 10 1803.
#include <qio/qio.hpp>

#include <cstdio>

namespace {

void* coveted = nullptr;

/// Another thread that allocates memory between two calls of the library.
void allocate_there() {
  if (coveted != nullptr) ::VirtualAlloc(coveted, 65536, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

}  // namespace

int main() {
  auto file = qio::mapped_file::open("lost_addresses.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.resize(1 << 20).value();
  coveted = file.writable_view(0, 1 << 20).value().data();
  shim::now.after_unmapping = &allocate_there;
  static_cast<void>(file.resize(4096));
  std::puts("not reached");
}
