// The program of the README: copies a file and reads it past the page cache, with 16 transfers in flight.
#include <qio/qio.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

// Copies one piece after another. All tasks run on one thread, so they share `next` without a lock.
qio::task<qio::result<void>> copy_pieces(qio::async_direct_file& from, qio::async_cached_file& to,
                                         std::uint64_t& next) {
  auto block = qio::aligned_buffer::allocate(256 * 1024).value();
  for (;;) {
    const std::uint64_t offset = std::exchange(next, next + block.size());
    const auto bytes = co_await from.async_read_at(offset, block, {.deadline = 5s});
    if (!bytes) co_return bytes.error();               // late, unreadable, misaligned: message() says which
    if (bytes.value() == 0) co_return qio::success();  // the end of the file
    const auto written = co_await to.async_write_at(offset, block.view(0, bytes.value()));
    if (!written) co_return written.error();
  }
}

qio::result<void> copy(const char* source, const char* target) {
  auto context = qio::context::create().value();  // io_uring, AIO or threads: context.explain() says which, and why
  auto from = qio::direct_file::open(context, source, qio::access::read, qio::creation::open_existing,
                                     {.fallback = qio::if_unavailable::use_cache});  // on tmpfs, for example
  if (!from) return from.error();
  auto to = qio::cached_file::open(context, target, qio::access::write, qio::creation::always_new);
  if (!to) return to.error();

  std::uint64_t next = 0;
  std::vector<qio::task<qio::result<void>>> tasks;
  for (int i = 0; i < 16; ++i) tasks.push_back(copy_pieces(from.value(), to.value(), next));
  for (const auto& each : context.run(qio::when_all(std::move(tasks))))
    if (!each) return each.error();
  return to.value().sync();  // the contents survive a power failure; the new name needs sync_directory(), too
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto copied = copy(arguments[1], arguments[2]);
  if (copied) return 0;
  std::fprintf(stderr, "%s\n", copied.error().message().c_str());
  return 1;
}
