// A program with an Asio event loop, which waits for a qio context beside its own timers and sockets.
#include <qio/qio.hpp>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>

class context_in_asio {
 public:
  context_in_asio(asio::io_context& loop, qio::context& context)
      : context_(context), wake_(loop, context.wake_handle().value()), deadline_(loop) {}
  ~context_in_asio() { wake_.release(); }  // the handle belongs to the context: Asio must not close it

  void run_soon() {  // call it after starting operations outside the context's callbacks
    asio::post(wake_.get_executor(), [this] {
      wake_.cancel();  // what it waits for since the last time
      deadline_.cancel();
      context_.poll();
      if (is_stopped_) return;
      if (!context_.prepare_to_wait()) return run_soon();  // after what else the loop has to do
      const auto go_on = [this](const asio::error_code& failure) { failure ? void() : run_soon(); };
      wake_.async_wait(asio::posix::stream_descriptor::wait_read, go_on);
      deadline_.expires_at(context_.next_deadline().when());  // as late as possible if there is none
      deadline_.async_wait(go_on);
    });
  }

  void stop() { is_stopped_ = true; }  // from a callback of the context: lets the loop end

 private:
  qio::context& context_;
  asio::posix::stream_descriptor wake_;
  asio::steady_timer deadline_;
  bool is_stopped_ = false;
};

int main() {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "asio.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::as_bytes(std::span("forty-two", 9))).value();
  asio::io_context loop;
  context_in_asio inside(loop, context);
  std::array<char, 16> text{};
  auto read = file.async_read_at(0, std::as_writable_bytes(std::span(text)), {.deadline = std::chrono::minutes(1)});
  asio::post(loop, [&] {  // an event of Asio starts an operation
    read.start([&](const qio::result<std::size_t>&) { inside.stop(); });
    inside.run_soon();
  });
  loop.run();
  std::remove("asio.tmp");
  return std::strcmp(text.data(), "forty-two");
}
