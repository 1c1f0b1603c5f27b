// Copies of files between file systems, without what the fastest ways need, and on full disks.
#include "catch.hpp"
#include "child_process.hpp"
#include "data_of.hpp"
#include "disk.hpp"
#include "forbid.hpp"
#include <qio/copy.hpp>
#include <qio/qio.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using qio::access;
using qio::copy_way;
using qio::creation;

constexpr std::uint64_t unit = 65536;  // no file system here has larger blocks

std::vector<std::byte> filled(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = std::byte((i * 0x9e3779b97f4a7c15u >> 40) | 1u);
  return all;
}
std::vector<std::byte> contents(const std::string& path) {
  auto file = qio::cached_file::open(path).value();
  std::vector<std::byte> all(static_cast<std::size_t>(file.size().value()));
  CHECK(file.read_at(0, all).value() == all.size());
  return all;
}

/// A file with data in its units 1 and 5, and holes before, between and after.
std::vector<std::byte> make_sparse(const std::string& path) {
  auto file = qio::cached_file::open(path, access::read_write, creation::always_new).value();
  const auto part = filled(unit);
  file.write_at(unit, part).value();
  file.write_at(5 * unit, part).value();
  file.resize(8 * unit + 100).value();
  file.sync().value();
  return contents(path);
}

std::vector<qio::extent> data_in(const std::string& path) {
  auto file = qio::cached_file::open(path).value();
  return qio_test::data_of(file);
}

/// What remains of a copy that failed.
struct what_is_left {
  qio::error failure;
  std::uint64_t size = 0;
  bool is_beginning = false;  ///< of the source
};
template <class Copy>
what_is_left rest_of(const std::string& from, const std::string& to, Copy&& copy) {
  what_is_left found;
  auto source = qio::cached_file::open(from).value();
  auto target = qio::cached_file::open(to, access::read_write, creation::always_new).value();
  const qio::result<qio::copied> done = copy(source, target);
  if (!done) found.failure = done.error();
  found.size = target.size().value();
  const auto all = contents(from), got = contents(to);
  found.is_beginning = got.size() <= all.size() && std::equal(got.begin(), got.end(), all.begin());
  return found;
}

}  // namespace

TEST_CASE("a file is copied between file systems of all kinds, whole, with its holes") {
  const fault::scratch below;
  std::vector<std::pair<std::string, std::unique_ptr<fault::mounted>>> places;
  for (const char* const kind : {"tmpfs", "ext4", "btrfs", "xfs", "overlay"}) {
    auto place = std::make_unique<fault::mounted>(kind, std::size_t(512) << 20, below.path);
    if (place->missing.empty()) places.emplace_back(kind, std::move(place));
  }
  if (places.size() < 2) QIO_SKIP("needs root, and file systems to mount");
  for (const auto& [kind, place] : places) {
    const std::string source = place->path + "/source";
    const auto all = make_sparse(source);
    const auto holes = data_in(source);
    for (const auto& [other, target] : places)
      for (const bool is_within : {false, true}) {
        CAPTURE(kind, other, is_within);
        const std::string copy = (is_within ? place->path : target->path) + "/copy";
        const auto done = qio::copy_file(source, copy);
        REQUIRE(done);
        CHECK(done.value().bytes == all.size());
        CHECK(contents(copy) == all);
        CHECK(data_in(copy) == holes);
        if (is_within && kind == "btrfs") CHECK(done.value().way == copy_way::shared);
        if (is_within && kind == "ext4") CHECK(done.value().way == copy_way::by_system);
        // Since Linux 5.19, the kernel copies only within one kind of file system.
        if (!is_within && kind != other && kind != "overlay" && other != "overlay")
          CHECK(done.value().way == copy_way::by_memory);
        std::filesystem::remove(copy);
      }
  }
}

TEST_CASE("where copy_file_range or clones are forbidden, missing, or copy nothing, a file is read and written") {
  const fault::scratch directory;
  const std::string source = directory.path + "/source", copy = directory.path + "/copy";
  const auto all = make_sparse(source);
  // 0: the call returns 0, as of some files of /proc.
  for (const int code : {EPERM, EOPNOTSUPP, EINVAL, EXDEV, ENOSYS, EIO, EBADF, ETXTBSY, ENOMEM, 0}) {
    CAPTURE(code);
    CHECK(qio_test::in_child([&] {
            if (!fault::forbid(SYS_copy_file_range, code)) return 1;
            if (!fault::forbid(SYS_ioctl, code == 0 ? ENOTTY : code)) return 2;
            const auto done = qio::copy_file(source, copy);
            if (!done || done.value() != qio::copied{all.size(), copy_way::by_memory}) return 3;
            if (contents(copy) != all) return 4;
            auto context = qio::context::create().value();
            const auto again = context.run(qio::async_copy_file(context, source, copy));
            if (!again || again.value().way != copy_way::by_memory) return 5;
            return contents(copy) == all ? 0 : 6;
          }) == 0);
  }
}

TEST_CASE("without SEEK_DATA, a copy has all bytes, and no holes") {
  const fault::scratch directory;
  const std::string source = directory.path + "/source", copy = directory.path + "/copy";
  const auto all = make_sparse(source);
  CHECK(qio_test::in_child([&] {
          if (!fault::forbid(SYS_lseek, EINVAL) || !fault::forbid(SYS_ioctl, EPERM)) return 1;
          const auto done = qio::copy_file(source, copy);
          return done && done.value().bytes == all.size() && contents(copy) == all ? 0 : 2;
        }) == 0);
}

TEST_CASE("a copy to a full disk fails, says so, and leaves as many right bytes as it says") {
  const fault::scratch directory;
  const std::string source = directory.path + "/source";
  {
    auto file = qio::cached_file::open(source, access::read_write, creation::always_new).value();
    const auto all = filled(std::size_t(12) << 20);
    file.write_at(unit, all).value();  // after a hole
  }
  for (const char* const kind : {"tmpfs", "ext4"}) {
    const fault::mounted mounted(kind, std::size_t(kind == std::string_view("tmpfs") ? 1 : 8) << 20);
    if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
    const std::string target = mounted.path + "/copy";
    CAPTURE(kind);
    const auto blocking = rest_of(source, target, [](auto& from, auto& to) { return qio::copy(from, to); });
    auto context = qio::context::create().value();
    const auto asynchronous = rest_of(source, target, [&](auto& from, auto&) {
      auto to = qio::cached_file::open(context, target, access::read_write).value();
      const auto run = [&]() -> qio::task<qio::result<qio::copied>> { co_return co_await qio::async_copy(from, to); };
      return context.run(run());
    });
    for (const what_is_left& found : {blocking, asynchronous}) {
      CHECK(found.failure == std::errc::no_space_on_device);
      CHECK(found.failure.transferred() == found.size);
      CHECK(found.size > 500'000);
      CHECK(found.is_beginning);
    }
    std::filesystem::remove(target);
    // By a path: nothing is left, and what was there stays.
    const auto failed = qio::copy_file(source, target);
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == std::errc::no_space_on_device);
    CHECK(failed.error().transferred() > 500'000);
    CHECK(failed.error().message().find("cannot copy " + source + " to " + target) == 0);
    CHECK(std::distance(std::filesystem::directory_iterator(mounted.path), {}) ==
          (kind == std::string_view("tmpfs") ? 0 : 1));  // lost+found
  }
}

TEST_CASE("a copy that fails behind a hole leaves the hole") {
  const fault::mounted mounted("tmpfs", std::size_t(1) << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const fault::scratch directory;
  const std::string source = directory.path + "/source";
  make_sparse(source);
  auto filler = qio::cached_file::open(mounted.path + "/filler", access::read_write, creation::always_new).value();
  const auto block = filled(4096);
  for (std::uint64_t at = 0; filler.write_at(at, block); at += block.size()) {}
  const auto found = rest_of(source, mounted.path + "/copy", [](auto& from, auto& to) { return qio::copy(from, to); });
  CHECK(found.failure == std::errc::no_space_on_device);
  CHECK(found.failure.transferred() == unit);
  CHECK(found.size == unit);
  CHECK(found.is_beginning);
}

TEST_CASE("a copy within a full file system by the kernel fails in the same way") {
  const fault::mounted mounted("ext4", std::size_t(16) << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string source = mounted.path + "/source";
  {
    auto file = qio::cached_file::open(source, access::read_write, creation::always_new).value();
    file.write_at(0, filled(std::size_t(8) << 20)).value();
    file.sync().value();
  }
  const auto found = rest_of(source, mounted.path + "/copy", [](auto& from, auto& to) { return qio::copy(from, to); });
  CHECK(found.failure == std::errc::no_space_on_device);
  CHECK(found.failure.transferred() == found.size);
  CHECK(found.size > 1'000'000);
  CHECK(found.is_beginning);
}

TEST_CASE("a copy that reaches the process's limit on the size of files says so, and leaves what it says") {
  const fault::scratch directory;
  const std::string source = directory.path + "/source", target = directory.path + "/copy";
  {
    auto file = qio::cached_file::open(source, access::read_write, creation::always_new).value();
    file.write_at(0, filled(300'000)).value();
  }
  CHECK(qio_test::in_child([&] {
          ::signal(SIGXFSZ, SIG_IGN);
          const struct rlimit limit {
            100'000, 100'000
          };
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
          const auto found = rest_of(source, target, [](auto& from, auto& to) { return qio::copy(from, to); });
          if (found.failure != std::errc::file_too_large) return 2;
          return found.failure.transferred() == 100'000 && found.size == 100'000 && found.is_beginning ? 0 : 3;
        }) == 0);
}
