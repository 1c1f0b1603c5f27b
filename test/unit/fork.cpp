// What a child process may do with the files and contexts of its parent (docs/lifetime.md, Forking).
#include "catch.hpp"
#include "child_process.hpp"
#include "descriptors.hpp"
#include "directory.hpp"
#include "sizes.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

std::array<std::byte, block_size> block_of(char with) {
  std::array<std::byte, block_size> all;
  all.fill(std::byte(with));
  return all;
}

/// Another thread that does the same again and again.
class repetition {
 public:
  template <class Action>
  explicit repetition(Action action)
      : thread_([this, action] {
          while (!stop_) {
            action();
            ++count_;
          }
        }) {
    while (count_ == 0) std::this_thread::yield();
  }
  ~repetition() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<unsigned> count_ = 0;
  std::thread thread_;
};

/// Clang 16's address sanitizer has an allocator whose locks a child inherits in whatever state they are: of 2,000
/// children of a program that only calls malloc() in another thread, one hung. A child that only writes and syncs
/// allocates nothing, and hung once, in one of many runs; 120,000 more did not.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool children_are_safe = false;
#elif defined(__has_feature)
constexpr bool children_are_safe = !__has_feature(address_sanitizer);
#else
constexpr bool children_are_safe = true;
#endif
constexpr const char* unsafe =
    "under the address sanitizer, a child may hang if another thread of its parent was in the sanitizer's code";

/// How many of many child processes fail to do `body`, or hang.
template <class Body>
int failures_in_children(Body body) {
  int failures = 0;
  for (int children = 0; children < 200 && failures == 0; ++children)
    failures += qio_test::in_child([&] {
      ::alarm(60);
      return body();
    });
  return failures;
}

}  // namespace

TEST_CASE("a child process may use files without a context that its parent has opened") {
  const qio_test::directory here;
  const std::string path = here / "data";
  auto cached = qio::cached_file::open(path, qio::access::read_write, qio::creation::always_new).value();
  REQUIRE(cached.write_at(0, block_of('a')));
  auto mapped = qio::mapped_file::open(path, qio::access::read_write).value();
  CHECK(qio_test::in_child([&] {
          auto read = block_of('0');
          if (cached.read_at(0, read).value() != block_size || read != block_of('a')) return 1;
          if (!cached.write_at(block_size, block_of('b')) || !cached.sync()) return 2;
          if (mapped.read_at(block_size, read).value() != block_size || read != block_of('b')) return 3;
          if (!mapped.write_at(0, block_of('c'))) return 4;
          auto own = qio::cached_file::open(path, qio::access::read_write).value();
          return own.read_at(0, read).value() == block_size && read == block_of('c') ? 0 : 5;
        }) == 0);
  auto read = block_of('0');
  CHECK(cached.read_at(0, read).value() == block_size);
  CHECK(read == block_of('c'));
}

TEST_CASE("a child process may have contexts of its own, and its parent's context still works") {
  const qio_test::directory here;
  const std::string path = here / "data";
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::always_new).value();
  const auto written = block_of('a');
  REQUIRE(context.run(file.async_write_at(0, written)));
  REQUIRE(context.run(file.async_sync()));
  for (int repeated = 0; repeated < 5; ++repeated) {
    CHECK(qio_test::in_child([&] {
            auto own = qio::context::create().value();
            auto same = qio::cached_file::open(own, path, qio::access::read_write).value();
            auto read = block_of('0');
            if (own.run(same.async_read_at(0, read)).value() != block_size || read != block_of('a')) return 1;
            return own.run(same.async_sync()) ? 0 : 2;
          }) == 0);
    auto read = block_of('0');
    CHECK(context.run(file.async_read_at(0, read)).value() == block_size);
    CHECK(read == block_of('a'));
    CHECK(context.run(file.async_sync()));
  }
}

TEST_CASE("programs that a process starts inherit no handle that qio has opened") {
  const std::vector<int> before = qio_test::descriptors();
  const qio_test::directory here;
  const std::string path = here / "data";
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::always_new).value();
  auto blocking = qio::cached_file::open(path, qio::access::read_write).value();
  static_cast<void>(context.wake_handle());
  CHECK(context.run(file.async_sync()));  // with worker threads, that starts one
  std::size_t opened = 0;
  for (const int each : qio_test::descriptors()) {
    if (std::ranges::find(before, each) != before.end()) continue;
    ++opened;
    CHECK((::fcntl(each, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(opened >= 2);
}

TEST_CASE("a child process may sync a file, even if another thread of its parent was syncing it") {
  if (!children_are_safe) QIO_SKIP(unsafe);
  const qio_test::directory here;
  auto file = qio::cached_file::open(here / "data", qio::access::read_write, qio::creation::always_new).value();
  const repetition others([&] { static_cast<void>(file.sync()); });
  CHECK(failures_in_children([&] { return file.write_at(0, block_of('a')) && file.sync() ? 0 : 1; }) == 0);
}

TEST_CASE("a child process may create a context, even if another thread of its parent was creating one") {
  if (!children_are_safe) QIO_SKIP(unsafe);
  const repetition others([] { static_cast<void>(qio::context::create({.queue_depth = 4}).value()); });
  CHECK(failures_in_children([] {
          auto own = qio::context::create({.queue_depth = 4});
          return own && qio_test::anonymous_descriptors() <= 2 ? 0 : 1;
        }) == 0);
}

TEST_CASE("a child process may fail to open a file, even if another thread of its parent was failing") {
  if (!children_are_safe) QIO_SKIP(unsafe);
  const repetition others([] { static_cast<void>(qio::cached_file::open("no such file").error().message()); });
  const qio::error before = qio::cached_file::open("nor this one").error();
  CHECK(failures_in_children([&] {
          const std::string own = qio::cached_file::open("not this either").error().message();
          return own.find("cannot open not this either: ") == 0 && !before.message().empty() ? 0 : 1;
        }) == 0);
}

TEST_CASE("a child process may use a mapped file, even if another thread of its parent was resizing it") {
  if (!children_are_safe) QIO_SKIP(unsafe);
  const qio_test::directory here;
  auto file = qio::mapped_file::open(here / "data", qio::access::read_write, qio::creation::always_new).value();
  const repetition others([&] {
    static_cast<void>(file.resize(0));
    static_cast<void>(file.write_at(0, block_of('a')));
  });
  CHECK(failures_in_children([&] {
          auto read = block_of('0');
          return file.read_at(100 * block_size, read) && file.write_at(0, block_of('a')) ? 0 : 1;
        }) == 0);
}

TEST_CASE("a child process has no memory that its parent shares with Linux AIO") {
  const auto has_that_memory = [] {
    std::ifstream mappings("/proc/self/maps");
    for (std::string each; std::getline(mappings, each);)
      if (each.find("[aio]") != std::string::npos) return 1;
    return 0;
  };
  auto context = qio::context::create({.engine = qio::engine_kind::aio});
  if (!context) QIO_SKIP("no Linux AIO: " + context.error().message());
  CHECK(has_that_memory() == 1);
  CHECK(qio_test::in_child(has_that_memory) == 0);
}

TEST_CASE("a child process has no descriptor of its parent's contexts") {
  const qio_test::directory here;
  const auto all = [] { return static_cast<int>(qio_test::descriptors().size()); };
  const int all_before = all();
  const std::size_t before = qio_test::anonymous_descriptors();
  auto context = qio::context::create().value();
  // The context remembers where it was.
  REQUIRE(
      context.run(qio::cached_file::async_open(context, here / "data", qio::access::write, qio::creation::if_needed)));
  static_cast<void>(context.wake_handle());
  const std::size_t own = qio_test::anonymous_descriptors();
  CHECK(qio_test::in_child([&] { return static_cast<int>(qio_test::anonymous_descriptors()); }) ==
        static_cast<int>(before));
  CHECK(qio_test::in_child(all) == all_before);
  CHECK(qio_test::anonymous_descriptors() == own);
  context.run();
}
