// A direct file without a context: every transfer is one system call that bypasses the page cache.
#include <qio/qio.hpp>

#include <cstdio>
#include <cstring>

int main() {
  auto file = qio::direct_file::open("blocking.tmp", qio::access::read_write, qio::creation::always_new);
  if (!file) {
    std::printf("no direct file: %s\n", file.error().message().c_str());
    return file.error() == std::errc::operation_not_supported ? 0 : 1;
  }

  auto block = qio::aligned_buffer::allocate(4096).value();
  std::memcpy(block.data(), "sixteen bytes...", 16);
  file.value().write_at(0, block).value();  // value() throws std::system_error on failure
  file.value().sync(qio::sync_kind::data_and_size).value();

  const std::size_t bytes = file.value().read_at(0, block).value();
  std::printf("read %zu bytes: %.16s\n", bytes, reinterpret_cast<const char*>(block.data()));

  const auto refused = file.value().read_at(1000, block);
  std::printf("%s\n", refused.error().message().c_str());
  std::remove("blocking.tmp");
}
