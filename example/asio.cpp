// A program of Asio, whose coroutines read and write files beside its own timers and sockets.
#include <qio/asio.hpp>
#include <qio/qio.hpp>

#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>

asio::awaitable<void> serve(qio::asio_context& files, bool& is_right) {
  auto file =
      qio::cached_file::open(files.context(), "asio.tmp", qio::access::read_write, qio::creation::always_new).value();
  co_await files.async_write_at(file, 0, asio::buffer("forty-two", 9), asio::use_awaitable);

  std::array<char, 16> text{};
  const std::size_t bytes = co_await files.async_read_at(file, 0, asio::buffer(text),
                                                         {.deadline = std::chrono::minutes(1)}, asio::use_awaitable);
  is_right = std::string_view(text.data(), bytes) == "forty-two";

  // Any operation of qio, with any of its options.
  co_await files.async_start([&] { return file.async_sync(qio::sync_kind::data); }, asio::use_awaitable);
}

int main() {
  asio::io_context loop;
  auto files = qio::asio_context::create(loop).value();
  bool is_right = false;
  asio::co_spawn(loop, serve(files, is_right), asio::detached);
  loop.run();  // returns when no operation is in flight
  std::remove("asio.tmp");
  return is_right ? 0 : 1;
}
