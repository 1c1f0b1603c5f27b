// What a child process may do with the files and contexts of its parent (docs/lifetime.md, Forking).
#include "catch.hpp"
#include "child_process.hpp"
#include "directory.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr std::size_t block = 4096;

std::array<std::byte, block> block_of(char with) {
  std::array<std::byte, block> all;
  all.fill(std::byte(with));
  return all;
}

/// The descriptors of this process. The one that reads the list is closed when it is complete.
std::vector<int> descriptors() {
  std::vector<int> all;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    all.push_back(std::stoi(each.path().filename().string()));
  std::erase_if(all, [](int each) { return ::fcntl(each, F_GETFD) < 0; });
  return all;
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
          if (cached.read_at(0, read).value() != block || read != block_of('a')) return 1;
          if (!cached.write_at(block, block_of('b')) || !cached.sync()) return 2;
          if (mapped.read_at(block, read).value() != block || read != block_of('b')) return 3;
          if (!mapped.write_at(0, block_of('c'))) return 4;
          auto own = qio::cached_file::open(path, qio::access::read_write).value();
          return own.read_at(0, read).value() == block && read == block_of('c') ? 0 : 5;
        }) == 0);
  auto read = block_of('0');
  CHECK(cached.read_at(0, read).value() == block);
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
            if (own.run(same.async_read_at(0, read)).value() != block || read != block_of('a')) return 1;
            return own.run(same.async_sync()) ? 0 : 2;
          }) == 0);
    auto read = block_of('0');
    CHECK(context.run(file.async_read_at(0, read)).value() == block);
    CHECK(read == block_of('a'));
    CHECK(context.run(file.async_sync()));
  }
}

TEST_CASE("programs that a process starts inherit no handle that qio has opened") {
  const std::vector<int> before = descriptors();
  const qio_test::directory here;
  const std::string path = here / "data";
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::always_new).value();
  auto blocking = qio::cached_file::open(path, qio::access::read_write).value();
  static_cast<void>(context.wake_handle());
  CHECK(context.run(file.async_sync()));  // with worker threads, that starts one
  std::size_t opened = 0;
  for (const int each : descriptors()) {
    if (std::ranges::find(before, each) != before.end()) continue;
    ++opened;
    CHECK((::fcntl(each, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(opened >= 2);
}
