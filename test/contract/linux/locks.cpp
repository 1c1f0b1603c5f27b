// Locks of ranges of a file: what Linux promises besides, and so the simulated disk.
#include "../../child_process.hpp"
#include "../world.hpp"
#include <qio/shared_file.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace contract {

namespace {

using qio::extent;
using qio::lock_kind;

/// A child process that has the lock of the whole file, through a file of the same kind, until it is killed.
class locking_child {
 public:
  explicit locking_child(const std::string& path) {
    REQUIRE(::pipe(ready_.data()) == 0);
    child_ = ::fork();
    if (child_ == 0) ::_exit(hold(path));
    ::close(ready_[1]);
    char byte = 0;
    REQUIRE(::read(ready_[0], &byte, 1) == 1);
  }
  locking_child(const locking_child&) = delete;
  locking_child& operator=(const locking_child&) = delete;
  ~locking_child() {
    end();
    ::close(ready_[0]);
  }

  void end() {
    if (std::exchange(is_running_, false)) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

 private:
  int hold(const std::string& path) const {
    auto context = qio::context::create(qio_test::of_current());
    if (!context) return 1;
    auto file = qio::cached_file::open(context.value(), path, access::read_write, creation::open_existing,
                                       {.inline_reads = qio::inline_transfers::never, .registered = false});
    if (!file) return 2;
    memory block(4096);
    for (int i = 0; i < 100; ++i)  // so busy that the ring would hold it
      if (!context.value().run(file.value().async_read_at(0, block.all()))) return 3;
    const auto locked = file.value().try_lock(lock_kind::exclusive);
    if (!locked || !locked.value() || ::write(ready_[1], "r", 1) != 1) return 4;
    for (;;) ::pause();
  }

  std::array<int, 2> ready_{};
  pid_t child_ = 0;
  bool is_running_ = true;
};

}  // namespace

PROMISE(lock_converts, everywhere, "a file may convert its own lock, if that keeps to the locks of others") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(one.try_lock(lock_kind::shared).value());
  CHECK(one.try_lock(lock_kind::exclusive).value());
  CHECK(!other.try_lock(lock_kind::shared).value());
  CHECK(one.try_lock(lock_kind::shared).value());
  CHECK(other.try_lock(lock_kind::shared).value());
  CHECK(!one.try_lock(lock_kind::exclusive).value());
  CHECK(one.is_locked(lock_kind::exclusive).value());
  CHECK(!other.try_lock(lock_kind::exclusive).value());  // which leaves the shared one
  CHECK(!one.try_lock(lock_kind::exclusive).value());
}

PROMISE(lock_splits, everywhere, "unlocking a part leaves both sides locked, and unlocking what is free succeeds") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(one.unlock());
  CHECK(one.try_lock(lock_kind::exclusive).value());
  CHECK(one.unlock({100, 10}));
  CHECK(other.is_locked(lock_kind::shared, {99, 1}).value());
  CHECK(!other.is_locked(lock_kind::exclusive, {100, 10}).value());
  CHECK(other.is_locked(lock_kind::shared, {110, 1}).value());
  CHECK(one.try_lock(lock_kind::shared, {50, 10}).value());  // converts a part
  CHECK(!other.is_locked(lock_kind::shared, {50, 10}).value());
  CHECK(other.is_locked(lock_kind::exclusive, {50, 10}).value());
  CHECK(other.is_locked(lock_kind::shared, {49, 1}).value());
  CHECK(one.unlock({200}));
  CHECK(!other.is_locked(lock_kind::exclusive, {200}).value());
}

PROMISE(lock_query, everywhere, "is_locked() reports what would keep a lock out, and locks nothing") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(!one.is_locked(lock_kind::exclusive).value());
  CHECK(one.try_lock(lock_kind::shared, {0, 10}).value());
  CHECK(!one.is_locked(lock_kind::exclusive).value());  // its own
  CHECK(!other.is_locked(lock_kind::shared).value());
  CHECK(other.is_locked(lock_kind::exclusive).value());
  CHECK(!other.is_locked(lock_kind::exclusive, {10}).value());
  auto reader = w.open("data", access::read, creation::open_existing).value();
  CHECK(reader.is_locked(lock_kind::exclusive).value());  // whatever it was opened for
  CHECK(one.try_lock(lock_kind::exclusive).value());
}

PROMISE(lock_of_sharers, everywhere_in_the_system, "files that share a handle share its locks, until the last closes") {
  auto one = w.with(4096);
  auto other = w.again();
  auto context = qio::context::create(qio_test::of_current()).value();
  auto sharer = one.share_with(context).value();
  CHECK(one.try_lock(lock_kind::exclusive).value());
  CHECK(sharer.try_lock(lock_kind::exclusive).value());
  CHECK(one.close());
  CHECK(!other.try_lock(lock_kind::shared).value());
  CHECK(sharer.unlock());
  CHECK(other.try_lock(lock_kind::shared).value());
}

PROMISE(lock_of_contexts, each_engine_of_the_system, "locks keep apart the files of two contexts") {
  auto one = w.with(4096);
  auto second = w.new_context().value();
  auto other = qio::basic_file<typename Where::mode>::open(second, w.where / "data", access::read_write).value();
  CHECK(one.try_lock(lock_kind::exclusive).value());
  CHECK(!other.try_lock(lock_kind::shared).value());
  std::optional<qio::result<void>> answer;
  auto waiting = other.async_lock(lock_kind::shared);
  waiting.start([&answer](qio::result<void> given) { answer = given; });
  second.poll();
  CHECK(one.unlock());
  second.run();
  REQUIRE(answer);
  CHECK(answer->has_value());
}

PROMISE(lock_of_shared_file, each_mode, "closing a shared_file ends its locks, and its files lock nothing any more") {
  auto other = w.with(4096);
  auto shared = qio::shared_file<typename Where::mode>::open(w.where / "data", access::read_write).value();
  auto file = shared.open_blocking().value();
  CHECK(file.try_lock(lock_kind::exclusive).value());
  CHECK(!other.try_lock(lock_kind::shared).value());
  CHECK(shared.close());
  CHECK(file.try_lock(lock_kind::exclusive).error() == std::errc::bad_file_descriptor);
  CHECK(other.try_lock(lock_kind::exclusive).value());
}

PROMISE(lock_passed_on, each_mode, "release() and adopt() pass locks on with the handle") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(one.try_lock(lock_kind::exclusive).value());
  const int handle = one.release().value();
  CHECK(!other.try_lock(lock_kind::shared).value());
  {
    auto adopted = qio::basic_file<typename Where::mode>::adopt(handle).value();
    CHECK(!other.try_lock(lock_kind::shared).value());
    CHECK(adopted.unlock());
    CHECK(other.try_lock(lock_kind::shared).value());
  }
}

PROMISE(lock_of_child, each_mode, "a child process has the locks of its parent, until both have closed the file") {
  auto one = w.with(4096);
  auto other = w.again();
  CHECK(one.try_lock(lock_kind::exclusive).value());
  CHECK(qio_test::in_child([&] { return one.try_lock(lock_kind::exclusive).value() ? 0 : 1; }) == 0);
  CHECK(!other.try_lock(lock_kind::shared).value());
  CHECK(qio_test::in_child([&] { return one.unlock() ? 0 : 1; }) == 0);
  CHECK(other.try_lock(lock_kind::exclusive).value());
}

PROMISE(lock_of_killed, each_engine_of_the_system,
        "the locks of a file that is not registered end with its process, even if that was killed") {
  auto file = w.with(4096);
  locking_child child(w.where / "data");
  CHECK(!file.try_lock(lock_kind::shared).value());
  CHECK(file.is_locked(lock_kind::shared).value());
  child.end();
  // A file whose last user is a thread of the kernel is closed by another one, which may need a moment for a CPU.
  const auto too_late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool is_locked = false;
  while (!is_locked && std::chrono::steady_clock::now() < too_late)
    is_locked = file.try_lock(lock_kind::exclusive).value();
  CHECK(is_locked);
}

PROMISE(lock_waits_for_process, each_engine_of_the_system, "async_lock() gets a lock that another process has lost") {
  auto file = w.with(4096);
  locking_child child(w.where / "data");
  const auto wait = [&]() -> qio::task<bool> {
    const auto locked = co_await file.async_lock(lock_kind::exclusive);
    co_return locked.has_value();
  };
  const auto end = [&]() -> qio::task<bool> {
    static_cast<void>(co_await w.context->sleep_for(std::chrono::milliseconds(3)));
    child.end();
    co_return true;
  };
  const auto [locked, ended] = w.context->run(qio::when_all(wait(), end()));
  CHECK((locked && ended));
}

PROMISE(lock_and_old_locks, each_mode, "locks keep to those of fcntl(F_SETLK), and the other way around") {
  auto file = w.with(4096);
  const auto lock_in_child = [&] {
    return qio_test::in_child([&] {
      const int handle = ::open((w.where / "data").c_str(), O_RDWR | O_CLOEXEC);
      struct flock whole {};
      whole.l_type = F_WRLCK;
      return ::fcntl(handle, F_SETLK, &whole) == 0 ? 0 : 1;
    });
  };
  CHECK(lock_in_child() == 0);
  CHECK(file.try_lock(lock_kind::shared).value());
  CHECK(lock_in_child() == 1);
}

}  // namespace contract
