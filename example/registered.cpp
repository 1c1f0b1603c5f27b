// Direct reads into registered memory, which io_uring need not pin for each transfer, on a device that may be polled.
#include <qio/qio.hpp>

#include <cstdio>
#include <cstring>
#include <vector>

constexpr std::size_t block = 4096, blocks = 32;

qio::task<std::size_t> read_block(qio::async_direct_file& file, std::size_t number, std::span<std::byte> buffer) {
  const auto bytes = co_await file.async_read_at(number * block, buffer);
  co_return bytes ? bytes.value() : 0;
}

int main() {
  // Where the kernel refuses to register memory or the device cannot be polled, the same program runs without that.
  auto context = qio::context::create({.polling = qio::polling::hybrid, .registered_bytes = blocks * block}).value();
  const qio::open_options options{.fallback = qio::if_unavailable::use_cache};
  auto file =
      qio::direct_file::open(context, "registered.tmp", qio::access::read_write, qio::creation::always_new, options)
          .value();
  const std::span<std::byte> memory = context.registered_memory();  // whole pages, which suit every device
  std::memset(memory.data(), 7, memory.size());
  file.write_at(0, memory.first(blocks * block)).value();

  std::vector<qio::task<std::size_t>> reads;
  for (std::size_t i = 0; i < blocks; ++i) reads.push_back(read_block(file, i, memory.subspan(i * block, block)));
  std::size_t total = 0;
  for (const std::size_t bytes : context.run(qio::when_all(std::move(reads)))) total += bytes;

  std::printf("%s%sread %zu bytes\n", context.explain().text().c_str(), file.explain().text().c_str(), total);
  std::remove("registered.tmp");
  return total == blocks * block ? 0 : 1;
}
