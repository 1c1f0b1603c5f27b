// Reads a whole file by many coroutines with little memory: each takes a buffer from a pool, and waits if all are in
// use.
#include <qio/buffer_pool.hpp>
#include <qio/qio.hpp>

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

constexpr std::uint64_t block = 64 * 1024, blocks = 256;

qio::task<qio::result<std::uint64_t>> sum_of_block(qio::context& context, qio::buffer_pool& pool,
                                                   qio::async_direct_file& file, std::uint64_t number) {
  auto buffer = co_await pool.async_take(context);
  if (!buffer) co_return buffer.error();
  const auto bytes = co_await file.async_read_at(number * block, buffer.value());
  if (!bytes) co_return bytes.error();
  std::uint64_t sum = 0;
  for (const std::byte each : buffer.value().view(0, bytes.value())) sum += std::to_integer<std::uint64_t>(each);
  co_return sum;  // the buffer goes back to the pool, and to the coroutine that has waited longest
}

int main() {
  auto context = qio::context::create().value();
  auto pool = qio::buffer_pool::allocate({.buffers = 8, .buffer_bytes = block}).value();
  const qio::open_options options{.fallback = qio::if_unavailable::use_cache};
  auto file =
      qio::direct_file::open(context, "buffers.tmp", qio::access::read_write, qio::creation::always_new, options)
          .value();
  {
    auto buffer = pool.take().value();  // without waiting; an error if all are in use
    for (std::byte& each : buffer) each = std::byte{1};
    for (std::uint64_t i = 0; i < blocks; ++i) file.write_at(i * block, buffer).value();
  }

  std::vector<qio::task<qio::result<std::uint64_t>>> sums;
  for (std::uint64_t i = 0; i < blocks; ++i) sums.push_back(sum_of_block(context, pool, file, i));
  std::uint64_t total = 0;
  for (auto& sum : context.run(qio::when_all(std::move(sums)))) total += sum.value();

  std::printf("%llu blocks with %zu buffers: the sum of all bytes is %llu\n", static_cast<unsigned long long>(blocks),
              pool.buffers(), static_cast<unsigned long long>(total));
  file.close().value();
  std::remove("buffers.tmp");
  return total == blocks * block ? 0 : 1;
}
