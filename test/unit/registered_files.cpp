// Files that are registered with the ring: when it holds them, and that operations work the same either way.
#include "catch.hpp"
#include "sizes.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include "child_process.hpp"
#include "directory.hpp"
#include "held.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using context_of_ring = qio::context;
using file_on_ring = qio::async_cached_file;

/// A file of one block of `content`.
struct block_file {
  explicit block_file(char content) { std::ofstream(path, std::ios::binary) << std::string(block_size, content); }

  const qio_test::directory where;
  const std::string path = where / "block";
};

/// A file whose transfers the ring carries out, all of them.
file_on_ring open(const context_of_ring& context, const block_file& file, bool registered = true) {
  qio::open_options options;
  options.inline_reads = options.inline_writes = qio::inline_transfers::never;
  options.registered = registered;
  return qio::cached_file::open(context, file.path, qio::access::read_write, qio::creation::open_existing, options)
      .value();
}

/// Reads the block several times concurrently, and returns what the last read got.
std::byte read_at_once(context_of_ring& context, file_on_ring& file, std::size_t times) {
  const auto before = file.statistics().served_by_ring;
  const qio_test::reads_at_once done = qio_test::read_at_once(context, file, times);
  REQUIRE(done.whole);
  REQUIRE(file.statistics().served_by_ring == before + times);
  return done.last;
}

void make_busy(context_of_ring& context, file_on_ring& file) { read_at_once(context, file, 70); }

/// Replaces the descriptor's file with another and reads, which shows whether the ring holds the file or looks it up.
std::byte read_behind_descriptor(context_of_ring& context, file_on_ring& file, const block_file& other) {
  const int opened = ::open(other.path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::dup3(opened, file.native_handle(), O_CLOEXEC) == file.native_handle());
  ::close(opened);
  return read_at_once(context, file, 2);
}

bool is_open_somewhere(const block_file& file) {
  const int answer = qio_test::answer_to_lease(file.path);
  REQUIRE((answer == 0 || answer == EAGAIN));
  return answer != 0;
}
/// … and stays so. A kernel thread may drop the last reference to the file a moment later.
bool stays_open(const block_file& file) {
  for (int look = 0; look < 1000; ++look) {
    if (!is_open_somewhere(file)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

/// Takes the lock of an open file description (fcntl(2), F_OFD_SETLK), without waiting.
bool lock(int handle) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  return ::fcntl(handle, F_OFD_SETLK, &whole) == 0;
}

/// Empty if leases show here whether a file is open.
std::string why_no_leases() {
  const block_file probe('0');
  const auto opened = qio::cached_file::open(probe.path, qio::access::read_write);
  const int open = qio_test::answer_to_lease(probe.path);
  return open == EAGAIN ? "" : "no leases here: " + std::generic_category().message(open);
}

/// Why the ring does not hold files here; empty if it does.
std::string why_none() {
  const auto context = context_of_ring::create();
  if (!context) return "io_uring is unavailable here";
  return context.value().explain().find("registered files")->reason;
}

}  // namespace

TEST_CASE("the ring holds a file that has been busy, and looks up other files") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1'), twos('2');
  auto context = context_of_ring::create().value();
  auto idle = open(context, ones), busy = open(context, ones);
  make_busy(context, busy);
  CHECK(read_behind_descriptor(context, idle, twos) == std::byte{'2'});
  CHECK(read_behind_descriptor(context, busy, twos) == std::byte{'1'});
}

TEST_CASE("a file that the ring holds supports every kind of operation") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1'), twos('2');
  auto context = context_of_ring::create().value();
  auto file = open(context, ones);
  make_busy(context, file);
  REQUIRE(read_behind_descriptor(context, file, twos) == std::byte{'1'});

  std::vector<std::byte> first(8, std::byte{'x'}), second(8, std::byte{'y'});
  CHECK(context.run(file.async_write_at(0, first)).value() == 8);
  const std::array<qio::const_buffer, 2> parts{qio::const_buffer(std::span<const std::byte>(second)),
                                               qio::const_buffer(std::span<const std::byte>(first))};
  CHECK(context.run(file.async_write_at(8, std::span(parts))).value() == 16);
  CHECK(context.run(file.async_sync()));
  std::ifstream written(ones.path, std::ios::binary);
  std::string seen(25, ' ');
  written.read(seen.data(), 25);
  CHECK(seen == "xxxxxxxxyyyyyyyyxxxxxxxx1");
}

TEST_CASE("the ring releases a file that is closed, even after the context has ended") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  if (const std::string why = why_no_leases(); !why.empty()) QIO_SKIP(why);
  const block_file first('1'), second('2'), third('3'), fourth('4');
  std::optional context = context_of_ring::create().value();
  std::optional closed = open(*context, first), by_worker = open(*context, second);
  std::optional orphan = open(*context, third), kept = open(*context, fourth);
  for (auto* const file : {&closed, &by_worker, &orphan, &kept}) make_busy(*context, **file);
  REQUIRE(is_open_somewhere(first));
  CHECK(closed->close());
  CHECK_FALSE(stays_open(first));
  CHECK(context->run(by_worker->async_close()));
  CHECK_FALSE(stays_open(second));

  context.reset();
  REQUIRE(is_open_somewhere(third));
  std::thread([&orphan] { orphan.reset(); }).join();  // a thread that the ring is not bound to
  CHECK_FALSE(stays_open(third));
  CHECK(is_open_somewhere(fourth));
}

TEST_CASE("the ring releases a file whose handle is released") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  if (const std::string why = why_no_leases(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1');
  auto context = context_of_ring::create().value();
  auto file = open(context, ones);
  make_busy(context, file);
  const int handle = file.release().value();
  CHECK(is_open_somewhere(ones));
  ::close(handle);
  CHECK_FALSE(stays_open(ones));
}

TEST_CASE("a context that another thread destroys releases its files, at the latest when its own thread ends") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  if (const std::string why = why_no_leases(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1'), twos('2');
  std::optional context = context_of_ring::create().value();
  std::optional closed = open(*context, ones), kept = open(*context, twos);
  std::promise<void> are_busy, may_end;
  auto own_thread = std::async(std::launch::async, [&] {
    make_busy(*context, *closed);
    make_busy(*context, *kept);
    are_busy.set_value();
    may_end.get_future().wait();
  });
  are_busy.get_future().wait();
  context.reset();
  CHECK(closed->close());
  may_end.set_value();
  own_thread.get();
  CHECK_FALSE(stays_open(ones));
  CHECK(is_open_somewhere(twos));
}

TEST_CASE("slots are reused, and files are looked up if all slots are taken") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  constexpr std::size_t slots = 256;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < slots + 100) QIO_SKIP("the process may not have 256 files open (RLIMIT_NOFILE)");
  const block_file ones('1'), twos('2'), threes('3');
  auto context = context_of_ring::create().value();
  CHECK(context.explain().find("registered files")->value == "up to 256");
  std::vector<file_on_ring> busy;
  for (std::size_t count = 0; count < slots; ++count) {
    busy.push_back(open(context, ones));
    make_busy(context, busy.back());
  }
  auto one_more = open(context, ones);
  make_busy(context, one_more);
  CHECK(read_behind_descriptor(context, one_more, twos) == std::byte{'2'});
  CHECK(read_behind_descriptor(context, busy.back(), twos) == std::byte{'1'});

  busy.pop_back();
  auto next = open(context, threes);
  make_busy(context, next);
  CHECK(read_behind_descriptor(context, next, twos) == std::byte{'3'});
}

TEST_CASE("a child process that closes its copy of a file does not affect its parent's ring") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1'), twos('2');
  auto context = context_of_ring::create().value();
  std::optional file = open(context, ones);
  make_busy(context, *file);
  REQUIRE(qio_test::in_child([&] {
            file.reset();
            return 0;
          }) == 0);
  CHECK(read_behind_descriptor(context, *file, twos) == std::byte{'1'});
}

TEST_CASE("if fewer files may be open than the ring has slots, it holds none, and explain() says why") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1');
  CHECK(qio_test::in_child([&] {
          const rlimit limit{100, 100};
          if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
          auto created = context_of_ring::create();
          if (!created) return 2;
          const qio::fact told = *created.value().explain().find("registered files");
          if (told.value != "off" || told.reason.find("RLIMIT_NOFILE") == std::string::npos) return 3;
          auto file = open(created.value(), ones);
          const qio_test::reads_at_once done = qio_test::read_at_once(created.value(), file, 200);
          return done.whole && done.last == std::byte{'1'} ? 0 : 4;
        }) == 0);
}

TEST_CASE("the lock of a file that the ring may not hold ends with its process") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1'), twos('2');
  auto context = context_of_ring::create().value();
  auto file = open(context, ones, false);
  make_busy(context, file);
  make_busy(context, file);
  CHECK(read_behind_descriptor(context, file, twos) == std::byte{'2'});

  for (int repeated = 0; repeated < 20; ++repeated) {
    REQUIRE(qio_test::in_child([&] {
              auto own = context_of_ring::create().value();
              auto locked = open(own, ones, false);
              qio_test::read_at_once(own, locked, 200);
              if (!lock(locked.native_handle())) return 1;
              return ::kill(::getpid(), SIGKILL);
            }) == -SIGKILL);
    const auto next = qio::cached_file::open(ones.path, qio::access::read_write).value();
    CHECK(lock(next.native_handle()));
  }
}

TEST_CASE("the busy files of a killed process stay open until its children have ended") {
  if (const std::string why = why_none(); !why.empty()) QIO_SKIP(why);
  if (const std::string why = why_no_leases(); !why.empty()) QIO_SKIP(why);
  const block_file ones('1');
  int ready[2];
  REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto context = context_of_ring::create().value();
    std::optional file = open(context, ones);
    qio_test::read_at_once(context, *file, 200);
    const pid_t child = ::fork();
    if (child == 0) {
      file.reset();  // its own copy
      const pid_t self = ::getpid();
      if (::write(ready[1], &self, sizeof self) != sizeof self) ::_exit(1);
    }
    ::alarm(60);  // ends both if they are not killed
    while (true) ::pause();
  }
  pid_t child = 0;
  REQUIRE(::read(ready[0], &child, sizeof child) == sizeof child);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const bool is_open = is_open_somewhere(ones);
  ::kill(child, SIGKILL);
  CHECK(is_open);
  CHECK_FALSE(stays_open(ones));
  ::close(ready[0]);
  ::close(ready[1]);
}
#endif
