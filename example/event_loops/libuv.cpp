// A program on libuv's loop that reads a file by a context: the loop waits for both. All on one thread.
#include <qio/qio.hpp>

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace std::chrono_literals;

// What libuv calls in each turn of its loop. The context must outlive it.
class driver {
 public:
  driver(uv_loop_t& loop, qio::context& context) : context_(context) {
    uv_poll_init(&loop, &wake_, context.wake_handle().value());
    uv_poll_start(&wake_, UV_READABLE, [](uv_poll_t*, int, int) {});
    uv_timer_init(&loop, &deadline_);
    uv_idle_init(&loop, &busy_);
    uv_prepare_init(&loop, &before_waiting_);
    uv_check_init(&loop, &after_waiting_);
    before_waiting_.data = after_waiting_.data = this;
    uv_prepare_start(&before_waiting_, [](uv_prepare_t* self) { static_cast<driver*>(self->data)->prepare(); });
    uv_check_start(&after_waiting_, [](uv_check_t* self) { static_cast<driver*>(self->data)->context_.poll(); });
  }
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  // Then the loop forgets the context, and ends if it has nothing else to do.
  void close() {
    for (void* const each : {static_cast<void*>(&wake_), static_cast<void*>(&deadline_), static_cast<void*>(&busy_),
                             static_cast<void*>(&before_waiting_), static_cast<void*>(&after_waiting_)})
      uv_close(static_cast<uv_handle_t*>(each), nullptr);
  }

 private:
  void prepare() {
    uv_timer_stop(&deadline_);
    uv_idle_stop(&busy_);
    if (!context_.prepare_to_wait()) {  // it has work now: the loop must not wait
      uv_idle_start(&busy_, [](uv_idle_t*) {});
    } else if (const qio::deadline until = context_.next_deadline(); until.exists()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until.when() - std::chrono::steady_clock::now());
      uv_update_time(deadline_.loop);
      uv_timer_start(
          &deadline_, [](uv_timer_t*) {}, left > 0ms ? static_cast<std::uint64_t>(left.count()) : 0, 0);
    }
  }

  qio::context& context_;
  uv_poll_t wake_{};
  uv_timer_t deadline_{};
  uv_idle_t busy_{};
  uv_prepare_t before_waiting_{};
  uv_check_t after_waiting_{};
};

qio::task<> read(qio::context& context, qio::async_cached_file& file, std::size_t& bytes, driver& drive) {
  std::vector<std::byte> block(64 * 1024);
  for (auto read = co_await file.async_read_at(0, block, {.deadline = 5s}); read && read.value() != 0;
       read = co_await file.async_read_at(bytes, block, {.deadline = 5s}))
    bytes += read.value();
  static_cast<void>(co_await context.sleep_for(5ms));
  drive.close();
}

int main() {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "libuv.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::vector<std::byte>(1'000'000, std::byte{7})).value();

  uv_loop_t loop{};
  uv_loop_init(&loop);
  uv_timer_t other{};  // something else that the loop does
  int ticks = 0;
  uv_timer_init(&loop, &other);
  other.data = &ticks;
  uv_timer_start(
      &other, [](uv_timer_t* self) { ++*static_cast<int*>(self->data); }, 1, 1);
  uv_unref(static_cast<uv_handle_t*>(static_cast<void*>(&other)));

  std::size_t bytes = 0;
  driver drive(loop, context);
  qio::task_scope tasks(context);
  tasks.spawn(read(context, file, bytes, drive));
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_close(static_cast<uv_handle_t*>(static_cast<void*>(&other)), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  std::printf("read %zu bytes, and the loop's own timer went off %s\n", bytes, ticks != 0 ? "meanwhile" : "never");
  std::remove("libuv.tmp");
  return bytes == 1'000'000 && ticks != 0 ? 0 : 1;
}
