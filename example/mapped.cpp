// A mapped file: no copies, no system calls, and views that stay valid while the file grows.
#include <qio/qio.hpp>

#include <cstdio>
#include <cstring>

int main() {
  auto map = qio::mapped_file::open("mapped.tmp", qio::access::read_write, qio::creation::always_new).value();
  map.resize(4096).value();

  std::span<std::byte> header = map.writable_view(0, 16).value();
  std::memcpy(header.data(), "header", 7);

  map.write_at(1 << 20, std::as_bytes(std::span("far away"))).value();  // grows the file; `header` stays valid
  std::printf("%s, and %s\n", reinterpret_cast<const char*>(header.data()),
              reinterpret_cast<const char*>(map.view(1 << 20, 9).value().data()));

  const auto past_the_end = map.view(1 << 20, 4096);
  std::printf("%s\n", past_the_end.error().message().c_str());
  map.sync().value();
  std::remove("mapped.tmp");
}
