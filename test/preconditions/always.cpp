// Mistakes that are noticed without checks, too.
#include "mistake.hpp"
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>
#include <qio/task_scope.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace {

static_assert(QIO_CHECKS == 0);

using context = qio::basic_context<qio::simulated>;

qio::task<> nothing() { co_return; }

struct world {
  context on = context::create().value();
  qio::async_file<qio::cached, qio::simulated> data =
      qio::cached_file::open(on, "data", qio::access::read_write, qio::creation::always_new).value();
  std::array<std::byte, 16> buffer{};

  auto read() { return data.async_read_at(0, buffer); }
};

constexpr auto ignore = [](qio::result<std::size_t>) {};

// NOLINTBEGIN(bugprone-use-after-move): the mistakes
MISTAKE("a task is awaited twice, without checks", "a task was awaited or run twice: it runs once") {
  world w;
  w.on.run([]() -> qio::task<> {
    auto once = nothing();
    co_await std::move(once);
    co_await std::move(once);
  }());
}

MISTAKE("a moved-from task is awaited, without checks", "an empty task was awaited or run: it has been moved from") {
  world w;
  w.on.run([]() -> qio::task<> {
    auto from = nothing();
    [[maybe_unused]] auto to = std::move(from);
    co_await std::move(from);
  }());
}

MISTAKE("a moved-from task is run, without checks", "an empty task was awaited or run: it has been moved from") {
  world w;
  auto from = nothing();
  [[maybe_unused]] auto to = std::move(from);
  w.on.run(std::move(from));
}

MISTAKE("a moved-from task is spawned, without checks", "an empty task was awaited or run: it has been moved from") {
  world w;
  qio::task_scope scope(w.on);
  auto from = nothing();
  [[maybe_unused]] auto to = std::move(from);
  scope.spawn(std::move(from));
}
// NOLINTEND(bugprone-use-after-move)

MISTAKE("an operation is started twice, without checks", "an operation was started that has already been started") {
  world w;
  auto read = w.read();
  read.start(ignore);
  read.start(ignore);
}

}  // namespace
