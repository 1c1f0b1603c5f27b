// Reads records of any length from a direct file: through a pool, neighbors by one transfer.
#include <qio/bounced.hpp>
#include <qio/qio.hpp>

#include <array>
#include <cstdio>
#include <span>
#include <vector>

constexpr std::size_t record_bytes = 100, records = 1000;
using record = std::array<std::byte, record_bytes>;

qio::task<bool> look_up(qio::context& context, qio::async_direct_file& file) {
  std::vector<record> found(8);
  std::vector<qio::read_request> batch;
  for (std::size_t i = 0; i < found.size(); ++i)
    batch.push_back({.offset = (i < 4 ? i : i * 100) * record_bytes, .buffer = found[i]});

  auto pool = qio::bounce_pool::in(context.registered_memory(), 64 * 1024).value();
  auto failures = co_await qio::bounced(file, pool, {.gap = 4096}).async_read_many(batch);
  std::printf("%llu reads by %llu transfers\n", static_cast<unsigned long long>(pool.statistics().requests),
              static_cast<unsigned long long>(pool.statistics().transfers));

  // An append, in the last block of the file. The rest of that block is read before.
  const record last{std::byte{9}};
  auto written = co_await qio::bounced(file, pool).async_write_at(records * record_bytes, last);
  co_return failures&& failures.value() == 0 && written&& file.size().value() == (records + 1) * record_bytes;
}

int main() {
  auto context = qio::context::create({.registered_bytes = 256 * 1024}).value();
  {
    const std::vector<std::byte> contents(records * record_bytes, std::byte{7});
    auto made = qio::cached_file::open("bounced.tmp", qio::access::write, qio::creation::always_new).value();
    made.write_at(0, contents).value();
  }
  // Where the file system has no direct I/O, the cache serves the same calls.
  auto file = qio::direct_file::open(context, "bounced.tmp", qio::access::read_write, qio::creation::open_existing,
                                     {.fallback = qio::if_unavailable::use_cache})
                  .value();
  const bool is_right = context.run(look_up(context, file));
  std::remove("bounced.tmp");
  return is_right ? 0 : 1;
}
