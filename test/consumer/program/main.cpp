// A minimal program: writes a file through the page cache and reads it back.
#include <qio/qio.hpp>

#include <array>
#include <cstdio>
#include <span>

int main() {
  constexpr char path[] = "consumer.tmp";
  auto opened = qio::cached_file::open(path, qio::access::read_write, qio::creation::always_new);
  if (!opened) {
    std::fprintf(stderr, "open: %s\n", opened.error().message().c_str());
    return 1;
  }
  auto& file = opened.value();
  constexpr std::array<char, 4> written{'q', 'i', 'o', '\n'};
  std::array<char, 4> read{};
  const auto out = file.write_at(0, std::as_bytes(std::span(written)));
  const auto in = file.read_at(0, std::as_writable_bytes(std::span(read)));
  std::remove(path);
  return out && in && in.value() == read.size() && read == written ? 0 : 1;
}
