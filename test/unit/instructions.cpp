// instructions WORKLOAD OPERATIONS FILE: carries out that number of operations. The script beside it counts the
// instructions.
#include <qio/latencies.hpp>
#include <qio/qio.hpp>

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t block = 4096, blocks = 16;

[[noreturn]] void skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  std::exit(77);
}

[[noreturn]] void fail() {
  std::puts("an operation failed");
  std::exit(1);
}

template <class T>
T had(qio::result<T> answer) {
  if (!answer) skip(answer.error().message());
  return std::move(answer).value();
}

// Each reader has its own memory.
struct memory {
  qio::aligned_buffer buffer = qio::aligned_buffer::allocate(block).value();
};

// Not inlined: what else a function does decides which registers are left for the loop.
template <class File>
[[gnu::noinline]] void read_blocks(const File& file, std::span<std::byte> into, std::size_t operations) {
  for (std::size_t i = 0; i < operations; ++i) {
    const auto bytes = file.read_at(i % blocks * block, into);
    if (!bytes || bytes.value() != block) fail();
  }
}

template <class File>
void read_blocking(const std::string& path, std::size_t operations) {
  const auto file = had(File::open(path));
  memory into;
  read_blocks(file, into.buffer.view(0, block), operations);
}

template <class File>
qio::task<> read_asynchronously(std::vector<File>& files, std::size_t operations) {
  memory into;
  for (std::size_t i = 0; i < operations; ++i) {
    const auto bytes = co_await files[i % files.size()].async_read_at(i % blocks * block, into.buffer);
    if (!bytes || bytes.value() != block) fail();
  }
}

struct shape {
  std::size_t depth = 1, files = 1, contexts = 1;
  bool is_observed = false;
};

template <class Engine, class Mode>
void read(const std::string& path, std::size_t operations, shape of = {}) {
  using file = qio::async_file<Mode, Engine>;
  static qio::latency_recorder latencies;
  std::vector<qio::basic_context<Engine>> contexts;
  std::vector<std::vector<file>> files(of.contexts);
  for (auto& opened : files) {
    contexts.push_back(had(
        qio::basic_context<Engine>::create({.queue_depth = 1024, .observer = of.is_observed ? &latencies : nullptr})));
    for (std::size_t i = 0; i < of.files; ++i)
      opened.push_back(had(qio::basic_file<Mode>::open(contexts.back(), path)));
  }
  for (std::size_t index = 0; index < of.contexts; ++index) {
    std::vector<qio::task<>> readers;
    for (std::size_t i = 0; i < of.depth; ++i)
      readers.push_back(read_asynchronously(files[index], operations / of.depth / of.contexts));
    contexts[index].run(qio::when_all(std::move(readers)));
  }
}

qio::task<> read_batches(auto& file, std::span<qio::read_request> batch, std::size_t batches) {
  for (; batches != 0; --batches) {
    const auto failures = co_await file.async_read_many(batch);
    if (!failures || failures.value() != 0) fail();
  }
}

// The file is in the page cache, so no read waits.
template <class Engine, class Mode>
void read_many(const std::string& path, std::size_t operations, std::size_t size) {
  auto context = had(qio::basic_context<Engine>::create());
  auto file = had(qio::basic_file<Mode>::open(context, path));
  auto memory = had(qio::aligned_buffer::allocate(size * block));
  std::vector<qio::read_request> batch;
  for (std::size_t i = 0; i < size; ++i)
    batch.push_back({.offset = i % blocks * block, .buffer = memory.view(i * block, block)});
  context.run(read_batches(file, batch, operations / size));
}

void write_file(const std::string& path) {
  auto file = had(qio::cached_file::open(path, qio::access::read_write, qio::creation::always_new));
  const std::vector<std::byte> contents(block * blocks, std::byte{7});
  if (!file.write_at(0, contents) || !file.sync()) fail();
}

#if QIO_HAS_URING
void allow_open_files(rlim_t needed) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < needed) skip("so many open files are not allowed here");
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string_view workload = argv[1];
  const auto operations = static_cast<std::size_t>(std::atoll(argv[2]));
  const std::string path = argv[3];
  write_file(path);
  if (workload == "blocking")
    read_blocking<qio::cached_file>(path, operations);
  else if (workload == "blocking_direct")
    read_blocking<qio::direct_file>(path, operations);
  else if (workload == "inline")
    read<qio::default_engine, qio::cached>(path, operations);
  else if (workload == "inline_observed")
    read<qio::default_engine, qio::cached>(path, operations, {.is_observed = true});
#if QIO_HAS_URING
  else if (workload == "batch_of_32")
    read_many<qio::default_engine, qio::cached>(path, operations, 32);
  else if (workload == "batch_of_32_direct")
    read_many<qio::default_engine, qio::direct>(path, operations, 32);
  else if (workload == "ring")
    read<qio::default_engine, qio::direct>(path, operations);
  else if (workload == "ring_observed")
    read<qio::default_engine, qio::direct>(path, operations, {.is_observed = true});
  else if (workload == "ring_depth_32")
    read<qio::default_engine, qio::direct>(path, operations, {.depth = 32});
  else if (workload == "ring_depth_1024")
    read<qio::default_engine, qio::direct>(path, operations, {.depth = 1024});
  else if (workload == "ring_8_contexts")
    read<qio::default_engine, qio::direct>(path, operations, {.contexts = 8});
  else if (workload == "ring_10000_files") {
    allow_open_files(10100);
    read<qio::default_engine, qio::direct>(path, operations, {.files = 10000});
  }
#endif
  else
    skip("no io_uring in this build");
}
