// A program on GLib's main loop that reads a file by a context: the loop waits for both. All on one thread.
#include <qio/qio.hpp>

#include <glib-unix.h>
#include <glib.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace std::chrono_literals;

// A source of GLib's, which begins with GLib's own part of it. The context must outlive it.
struct source : GSource {
  qio::context* context;
  gpointer wake;

  // Whether the context has work now, and otherwise how many milliseconds the loop may wait; -1 is forever.
  static gboolean prepare(GSource* self, int* timeout) {
    qio::context& context = *static_cast<source*>(self)->context;
    *timeout = -1;
    if (!context.prepare_to_wait()) return TRUE;
    if (const qio::deadline until = context.next_deadline(); until.exists()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until.when() - std::chrono::steady_clock::now());
      *timeout = left > 0ms ? static_cast<int>(left.count()) : 0;
    }
    return FALSE;
  }
  // After the wait: whether that was for the context.
  static gboolean check(GSource* self) {
    const source& waited = *static_cast<source*>(self);
    const bool is_ready = g_source_query_unix_fd(self, waited.wake) != 0;
    const qio::deadline until = waited.context->next_deadline();
    return is_ready || (until.exists() && until.when() <= std::chrono::steady_clock::now()) ? TRUE : FALSE;
  }
  static gboolean dispatch(GSource* self, GSourceFunc, gpointer) {
    static_cast<source*>(self)->context->poll();
    return G_SOURCE_CONTINUE;
  }
};

qio::task<> read(qio::context& context, qio::async_cached_file& file, std::size_t& bytes, GMainLoop* loop) {
  std::vector<std::byte> block(64 * 1024);
  for (auto read = co_await file.async_read_at(0, block, {.deadline = 5s}); read && read.value() != 0;
       read = co_await file.async_read_at(bytes, block, {.deadline = 5s}))
    bytes += read.value();
  static_cast<void>(co_await context.sleep_for(5ms));
  g_main_loop_quit(loop);
}

int main() {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "glib.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::vector<std::byte>(1'000'000, std::byte{7})).value();

  static GSourceFuncs functions{source::prepare, source::check, source::dispatch, nullptr, nullptr, nullptr};
  auto* const waits = static_cast<source*>(g_source_new(&functions, sizeof(source)));
  waits->context = &context;
  waits->wake = g_source_add_unix_fd(waits, context.wake_handle().value(), G_IO_IN);
  g_source_attach(waits, nullptr);
  int ticks = 0;  // something else that the loop does
  const auto tick = [](gpointer count) -> gboolean { return ++*static_cast<int*>(count), G_SOURCE_CONTINUE; };
  g_timeout_add(1, tick, &ticks);

  std::size_t bytes = 0;
  GMainLoop* const loop = g_main_loop_new(nullptr, FALSE);
  qio::task_scope tasks(context);
  tasks.spawn(read(context, file, bytes, loop));
  g_main_loop_run(loop);
  g_source_destroy(waits);
  g_source_unref(waits);
  g_main_loop_unref(loop);
  std::printf("read %zu bytes, and the loop's own timer went off %s\n", bytes, ticks != 0 ? "meanwhile" : "never");
  std::remove("glib.tmp");
  return bytes == 1'000'000 && ticks != 0 ? 0 : 1;
}
