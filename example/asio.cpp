// A program with an Asio event loop, which waits for a qio context beside its own timers and sockets.
#include <qio/qio.hpp>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

/// Runs a context on the thread of an Asio loop. Call run_soon() after starting operations outside their callbacks. It
/// must exist until the loop has ended.
class context_in_asio {
 public:
  context_in_asio(asio::io_context& loop, qio::context& context)
      : context_(context), wake_(loop, context.wake_handle().value()), deadline_(loop) {}
  context_in_asio(const context_in_asio&) = delete;
  context_in_asio& operator=(const context_in_asio&) = delete;
  ~context_in_asio() { wake_.release(); }  // the handle belongs to the context: Asio must not close it

  void run_soon() {
    if (std::exchange(is_soon_, true)) return;
    asio::post(wake_.get_executor(), [this] {
      is_soon_ = false;
      if (is_stopped_) return;
      wake_.cancel();  // what it waits for since the last time
      deadline_.cancel();
      if (!context_.prepare_to_wait()) {
        context_.poll();
        run_soon();  // after what else the loop has to do
      } else {
        wait();
      }
    });
  }

  /// Lets the loop end.
  void stop() {
    is_stopped_ = true;
    wake_.cancel();
    deadline_.cancel();
  }

 private:
  void wait() {
    const auto go_on = [this](const asio::error_code& failure) {
      if (!failure) run_soon();
    };
    wake_.async_wait(asio::posix::stream_descriptor::wait_read, go_on);
    if (const qio::deadline next = context_.next_deadline(); next.exists()) {
      deadline_.expires_at(next.when());
      deadline_.async_wait(go_on);
    }
  }

  qio::context& context_;
  asio::posix::stream_descriptor wake_;
  asio::steady_timer deadline_;
  bool is_soon_ = false;
  bool is_stopped_ = false;
};

int main() {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "asio.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::as_bytes(std::span("forty-two", 9))).value();

  asio::io_context loop;
  context_in_asio inside(loop, context);
  std::array<std::byte, 16> block{};
  std::string text;
  auto read = file.async_read_at(0, block, {.deadline = std::chrono::minutes(1)});
  asio::steady_timer timer(loop, std::chrono::milliseconds(1));
  timer.async_wait([&](const asio::error_code&) {  // Asio's own events start operations …
    read.start([&](qio::result<std::size_t> bytes) {
      text.assign(reinterpret_cast<const char*>(block.data()), bytes.value());
      inside.stop();  // … and callbacks of operations may use Asio.
    });
    inside.run_soon();
  });
  loop.run();

  std::printf("read %zu bytes: %s\n", text.size(), text.c_str());
  std::remove("asio.tmp");
  return text == "forty-two" ? 0 : 1;
}
