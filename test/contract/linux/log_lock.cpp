// The lock of a log belongs to the open file description: which processes keep it, and until when.
#include "../world.hpp"
#include "child_process.hpp"
#include <qio/log_writer.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <utility>

namespace contract {

namespace {

constexpr qio::log_options locked_log{.extent = 64 * 1024, .largest_batch = 16 * 1024, .id = 7};

template <class World>
auto open_log(World& w) {
  const auto accept = [](const qio::log_record&) { return true; };
  auto file = w.open("log", access::read_write, creation::if_needed).value();
  return w.context->run(qio::open_log(std::move(file), accept, locked_log));
}

template <class World, class Log>
bool append(World& w, Log& log) {
  const std::array<std::byte, 100> record{};
  const auto one = [&]() -> qio::task<bool> {
    const auto number = co_await log.append(record);
    co_return number.has_value();
  };
  return w.context->run(one());
}

/// A process that does nothing until it is killed. Returns when its `prepare` has returned true; 0 if that failed.
template <class Prepare>
pid_t start_process(Prepare prepare) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const char ready = prepare() ? '1' : '0';
    static_cast<void>(!::write(ends[1], &ready, 1));
    for (;;) ::pause();
  }
  char ready = '0';
  ::close(ends[1]);
  const bool is_told = ::read(ends[0], &ready, 1) == 1;
  ::close(ends[0]);
  return is_told && ready == '1' ? child : 0;
}

void kill_process(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

PROMISE(log_other_process, of_the_system,
        "a log that another process appends to cannot be opened for appending, until that is killed") {
  const pid_t writer = start_process([&] {
    auto context = world<Where>::new_context().value();
    auto file =
        qio::basic_file<typename Where::mode>::open(context, w.where / "log", access::read_write, creation::if_needed);
    if (!file) return false;
    const auto accept = [](const qio::log_record&) { return true; };
    auto log = context.run(qio::open_log(std::move(file).value(), accept, locked_log));
    if (!log) return false;
    const std::array<std::byte, 100> record{};
    const auto some = [&]() -> qio::task<bool> {
      for (int i = 0; i < 100; ++i) {
        const auto number = co_await log.value().append(record);
        if (!number) co_return false;
      }
      co_return true;
    };
    const bool done = context.run(some());
    static std::optional<decltype(context)> kept_context(std::move(context));
    static auto kept_log = std::move(log).value();
    return done;
  });
  REQUIRE(writer != 0);
  CHECK(open_log(w).error() == errc::log_is_open);
  kill_process(writer);
  // The kernel closes the file when what it was carrying out for the process has ended, such as zeros in advance.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto open_later = [&] {
    for (;;) {
      auto opened = open_log(w);
      const bool is_open = !opened && opened.error() == errc::log_is_open;
      if (!is_open || std::chrono::steady_clock::now() > end) return opened;
    }
  };
  auto log = open_later();
  REQUIRE(log);
  CHECK(log.value().recovered().records == 100);
}

PROMISE(log_forked, of_the_system, "a log that was destroyed can be opened, although a child process has its handle") {
  std::optional log(open_log(w).value());
  REQUIRE(append(w, *log));
  const pid_t child = start_process([] { return true; });
  CHECK(open_log(w).error() == errc::log_is_open);
  log.reset();
  CHECK(open_log(w));
  kill_process(child);
}

PROMISE(log_destroyed_by_child, of_the_system, "a child process that destroys its parent's log does not unlock it") {
  std::optional log(open_log(w).value());
  REQUIRE(append(w, *log));
  const pid_t child = start_process([&] {
    log.reset();
    return true;
  });
  REQUIRE(child != 0);
  CHECK(open_log(w).error() == errc::log_is_open);
  kill_process(child);
  CHECK(open_log(w).error() == errc::log_is_open);
  CHECK(append(w, *log));
  log.reset();
  CHECK(open_log(w));
}

}  // namespace contract
