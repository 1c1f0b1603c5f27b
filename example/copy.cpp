// Copies a file past the page cache, with 16 transfers in flight, and prints the progress.
#include <qio/qio.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr std::uint64_t piece = 256 * 1024, depth = 16;

struct copy {
  qio::async_direct_file& from;
  qio::async_direct_file& to;
  std::uint64_t size;
  std::uint64_t next = 0, done = 0;  // bytes
};

// Takes the next piece until none is left. All tasks run on the context's thread, and share the state without a lock.
qio::task<qio::result<void>> copy_pieces(copy& all) {
  auto buffer = qio::aligned_buffer::allocate(piece).value();
  while (all.next < all.size) {
    const std::uint64_t offset = all.next;
    all.next += piece;
    const auto bytes = co_await all.from.async_read_at(offset, buffer);
    if (!bytes) co_return bytes.error();
    // The last piece may be short. Direct writes are multiples of the block, so what is too much is cut off later.
    const auto written = co_await all.to.async_write_at(offset, buffer);
    if (!written) co_return written.error();
    all.done += bytes.value();
    std::printf("\r%3d %%", static_cast<int>(100 * all.done / all.size));
  }
  co_return qio::success();
}

qio::result<void> copy_file(qio::context& context, const char* from, const char* to) {
  const qio::open_options options{.fallback = qio::if_unavailable::use_cache};
  auto source = qio::direct_file::open(context, from, qio::access::read, qio::creation::open_existing, options);
  if (!source) return source.error();
  auto target = qio::direct_file::open(context, to, qio::access::read_write, qio::creation::always_new, options);
  if (!target) return target.error();
  copy all{source.value(), target.value(), source.value().size().value()};
  std::vector<qio::task<qio::result<void>>> tasks;
  for (std::uint64_t i = 0; i < depth; ++i) tasks.push_back(copy_pieces(all));
  for (const auto& each : context.run(qio::when_all(std::move(tasks))))
    if (!each) return each.error();
  if (auto cut = target.value().resize(all.size); !cut) return cut.error();
  return target.value().sync();
}

int main() {
  auto context = qio::context::create().value();
  auto made = qio::cached_file::open("copy.tmp", qio::access::write, qio::creation::always_new).value();
  made.resize(10'000'000).value();
  const auto copied = copy_file(context, "copy.tmp", "copy2.tmp");
  std::printf("%s\n", copied ? "" : copied.error().message().c_str());
  const bool is_complete = copied && qio::cached_file::open("copy2.tmp").value().size().value() == 10'000'000;
  std::remove("copy.tmp");
  std::remove("copy2.tmp");
  return is_complete ? 0 : 1;
}
