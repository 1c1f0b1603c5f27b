// One file, four threads: each has a context of its own, and reads every fourth block.
#include <qio/qio.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

constexpr std::size_t block = 4096, blocks = 400, threads = 4;

/// What one thread needs. It is made before the threads start, and belongs to its thread from then on.
struct worker {
  explicit worker(qio::cached_file& shared)
      : context(qio::context::create().value()), file(shared.share_with(context).value()) {}

  qio::context context;
  qio::async_cached_file file;  // the same open file as the others
  std::size_t right = 0;
};

qio::task<> read_block(worker& self, std::size_t number) {
  std::array<std::byte, block> buffer{};
  const auto bytes = co_await self.file.async_read_at(number * block, buffer);
  if (bytes && bytes.value() == block && buffer[0] == std::byte(number)) ++self.right;
}

qio::task<> read_every_fourth(worker& self, std::size_t first) {
  qio::task_scope reads(self.context);
  for (std::size_t number = first; number < blocks; number += threads) {
    while (reads.size() >= 16) co_await reads.join_one();  // 16 in flight
    reads.spawn(read_block(self, number));
  }
  co_await reads.join();
}

int main() {
  auto file = qio::cached_file::open("threads.tmp", qio::access::read_write, qio::creation::always_new).value();
  for (std::size_t number = 0; number < blocks; ++number)
    file.write_at(number * block, std::vector<std::byte>(block, std::byte(number))).value();

  std::vector<worker> workers;
  workers.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(file);
  std::vector<std::jthread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&self = workers[i], i] { self.context.run(read_every_fourth(self, i)); });
  running.clear();  // joins them

  std::size_t right = 0;
  for (const worker& each : workers) right += each.right;
  std::printf("%zu blocks read by %zu threads\n", right, threads);
  std::remove("threads.tmp");
  return right == blocks ? 0 : 1;
}
