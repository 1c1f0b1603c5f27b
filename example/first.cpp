// The program of the README: copies up to 64 KiB from one file to another, past the page cache and with a deadline.
#include <qio/qio.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

qio::task<qio::result<std::size_t>> copy_start(qio::async_direct_file& from, qio::async_cached_file& to) {
  auto block = qio::aligned_buffer::allocate(64 * 1024).value();
  const auto bytes = co_await from.async_read_at(0, block, {.deadline = 5s});
  if (!bytes) co_return bytes.error();  // late, misaligned, unreadable: the error says which, with the numbers
  co_return co_await to.async_write_at(0, block.view(0, bytes.value()));
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  auto context = qio::context::create().value();  // io_uring; or worker threads, and context.explain() says why
  auto from = qio::direct_file::open(context, arguments[1]);
  if (!from) {
    std::puts(from.error().message().c_str());
    return 1;
  }
  auto to = qio::cached_file::open(context, arguments[2], qio::access::write, qio::creation::always_new).value();
  std::printf("copied %zu bytes\n", context.run(copy_start(from.value(), to)).value());
}
