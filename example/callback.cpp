// Callbacks instead of coroutines: an operation lives where you put it, here in a struct of a connection's own.
#include <qio/qio.hpp>

#include <array>
#include <cstdio>

struct reader {
  using operation = qio::operation<qio::automatic, std::size_t>;

  explicit reader(qio::async_cached_file& file) : read(file.async_read_at(0, buffer)) {}

  void start() {
    read.start([this](qio::result<std::size_t> answer) { bytes = answer ? answer.value() : 0; });
  }

  std::array<std::byte, 64> buffer{};
  operation read;
  std::size_t bytes = 0;
};

int main() {
  auto context = qio::context::create().value();
  auto file =
      qio::cached_file::open(context, "callback.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::as_bytes(std::span("forty-two"))).value();

  reader one(file);
  one.start();
  context.run();  // until nothing is in flight

  std::printf("read %zu bytes: %s\n", one.bytes, reinterpret_cast<const char*>(one.buffer.data()));
  std::remove("callback.tmp");
  return one.bytes == sizeof "forty-two" ? 0 : 1;
}
