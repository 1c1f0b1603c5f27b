// The page cache where the kernel hides it, lacks calls or keeps the pages elsewhere, and views on full disks.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "forbid.hpp"
#include <qio/qio.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace {

using qio::access;
using qio::creation;
using qio::errc;

constexpr std::size_t size = 64 << 10;
const std::size_t page = qio::platform::page_size();
constexpr long cachestat = 451;

/// A file whose pages are cached.
void make(const std::string& path) {
  auto file = qio::cached_file::open(path, access::write, creation::always_new).value();
  REQUIRE(file.write_at(0, std::vector<std::byte>(size, std::byte{1})).value() == size);
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
}

bool is_known_to_mincore_only(const qio::residency& found, std::uint64_t cached) {
  return found.cached == cached && !found.dirty && !found.writeback && !found.evicted && !found.recently_evicted;
}

/// 0 if resident() refuses to report, and says why.
int is_hidden(const std::string& path) {
  const auto file = qio::cached_file::open(path);
  if (!file) return 1;
  const auto found = file.value().resident();
  if (found) return 2;
  if (found.error() != errc::residency_hidden || found.error() != std::errc::operation_not_permitted) return 3;
  return found.error().message().find("only its owner may ask") == std::string::npos ? 4 : 0;
}

}  // namespace

TEST_CASE("without cachestat, resident() knows what is cached, and no more") {
  const fault::scratch where;
  const std::string path = where.path + "/file";
  make(path);
  for (const int code : {ENOSYS, EPERM}) {
    const int status = qio_test::in_child([&] {
      auto file = qio::cached_file::open(path, access::read_write).value();
      if (!fault::forbid(cachestat, code)) return 1;
      if (!is_known_to_mincore_only(file.resident().value(), size)) return 2;
      if (!is_known_to_mincore_only(file.resident({page - 1, 2}).value(), 2 * page)) return 3;
      auto context = qio::context::create().value();
      auto mapped = qio::mapped_file::open(context, path).value();
      if (!is_known_to_mincore_only(mapped.resident().value(), size)) return 4;
      // What mincore() needs to map.
      auto write_only = qio::cached_file::open(path, access::write).value();
      if (write_only.resident().error() != errc::access_not_granted) return 5;
      auto empty = qio::cached_file::open(path + ".new", access::read_write, creation::always_new).value();
      if (empty.resident().value() != qio::residency{0, 0, 0, 0, 0}) return 6;
      if (!empty.resize(1 << 20) || empty.resident().value() != qio::residency{0, 0, 0, {}, {}}) return 7;
      return 0;
    });
    CAPTURE(code);
    CHECK(status == 0);
  }
}

TEST_CASE("resident() of a file of others fails, instead of reporting that all of it is cached, or nothing") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const fault::scratch where;
  const std::string path = where.path + "/file";
  make(path);
  REQUIRE(::chmod(where.path.c_str(), 0755) == 0);
  constexpr uid_t nobody = 65534;
  bool may_enter = true;
  for (std::filesystem::path above = where.path; above.has_relative_path(); above = above.parent_path()) {
    struct stat status;
    may_enter = may_enter && ::stat(above.c_str(), &status) == 0 && (status.st_mode & S_IXOTH) != 0;
  }
  if (!may_enter) QIO_SKIP("other users may not enter this directory");
  // Kernels before 6.14 let everybody call cachestat.
  const int by_mincore = qio_test::in_child([&] {
    if (!fault::forbid(cachestat, ENOSYS) || ::seteuid(nobody) != 0) return 10;
    return is_hidden(path);
  });
  CHECK(by_mincore == 0);
  const int by_cachestat = qio_test::in_child([&] {
    if (::seteuid(nobody) != 0) return 10;
    const auto found = qio::cached_file::open(path).value().resident();
    return found && found.value().dirty && found.value().cached == size ? 0 : is_hidden(path);
  });
  CHECK(by_cachestat == 0);
  // Its owner, and those who may write to it.
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  const int by_writer = qio_test::in_child([&] {
    if (!fault::forbid(cachestat, ENOSYS) || ::seteuid(nobody) != 0) return 10;
    return is_known_to_mincore_only(qio::cached_file::open(path).value().resident().value(), size) ? 0 : 11;
  });
  CHECK(by_writer == 0);
}

TEST_CASE("resident() finds pages that an overlay keeps in its layers, and forget() and prefetch() reach them") {
  const fault::scratch below;
  make(below.path + "/lower");
  const fault::mounted overlay("overlay", 0, below.path);
  if (!overlay.missing.empty()) QIO_SKIP(overlay.missing);
  make(overlay.path + "/upper");
  for (const char* const name : {"/lower", "/upper"}) {
    CAPTURE(name);
    auto file = qio::cached_file::open(overlay.path + name).value();
    CHECK(file.resident().value().cached == size);
    REQUIRE(qio::cached_file::open(overlay.path + name, access::read).value().sync());
    ::sync();
    const auto until = [&](std::uint64_t cached, auto call) {
      for (int attempt = 0; attempt < 10000; ++attempt) {
        if (call() && file.resident().value().cached == cached) return true;
        ::usleep(1000);
      }
      return false;
    };
    CHECK(until(0, [&] { return file.forget().has_value(); }));
    // Which pages were evicted, only the layer knows.
    CHECK(file.resident().value() == qio::residency{0, 0, 0, {}, {}});
    CHECK(until(size, [&] { return file.prefetch(qio::whole_file).has_value(); }));
  }
}

TEST_CASE("prefetch() leaves out holes, and moves the file position only in a file that has some") {
  constexpr std::uint64_t end = std::uint64_t(1) << 30;
  const fault::scratch where;
  make(where.path + "/file");
  auto file = qio::cached_file::open(where.path + "/file", access::read_write).value();
  const auto prefetched = [&](const qio::extent& range) {
    CHECK(file.sync());
    ::lseek(file.native_handle(), 1, SEEK_SET);
    for (int attempt = 0; attempt < 10000; ++attempt) {
      CHECK(file.prefetch(range));
      if (file.resident(range).value().cached >= size) return true;
      ::usleep(1000);
    }
    return false;
  };
  CHECK(prefetched({0, size}));
  if (file.status().value().allocated_bytes >= size) CHECK(::lseek(file.native_handle(), 0, SEEK_CUR) == 1);
  REQUIRE(file.resize(end));
  REQUIRE(file.write_at(end / 2, std::vector<std::byte>(size, std::byte{1})));
  REQUIRE(file.sync());
  CHECK(file.forget());
  CHECK(prefetched({end / 4, end / 2}));
  CHECK(prefetched(qio::whole_file));
  CHECK(file.prefetch({end / 2 + 2 * size, size}));
  CHECK(file.resident().value().cached < end / 8);
}

TEST_CASE("without MADV_POPULATE, prefault() reads, if it may catch faults, and refuses to prepare for stores") {
  constexpr unsigned populate_read = 22, populate_write = 23;
  const fault::scratch where;
  const std::string path = where.path + "/file";
  make(path);
  const int status = qio_test::in_child([&] {
    auto file = qio::mapped_file::open(path, access::read_write).value();
    auto bare = qio::mapped_file::open(path, access::read, creation::open_existing, {.guards_copies = false}).value();
    for (const unsigned advice : {populate_read, populate_write})
      if (!fault::forbid_argument(__NR_madvise, 2, advice, EINVAL)) return 1;
    const auto is_present = [&](std::size_t number) {
      unsigned char present = 0;
      const auto seen = file.view(number * page, page).value();
      return ::mincore(const_cast<std::byte*>(seen.data()), page, &present) == 0 && (present & 1) != 0;
    };
    if (!file.prefault({100, size - 100}) || !is_present(0) || !is_present(size / page - 1)) return 2;
    if (file.prefault({0, 1}, access::write).error() != errc::prefault_not_supported) return 3;
    if (bare.prefault({0, 1}).error() != errc::prefault_not_supported) return 4;
    if (::truncate(path.c_str(), 300) != 0) return 5;
    if (file.prefault({100, size - 100}).error() != errc::prefault_failed) return 6;
    return file.prefault({100, 200}) ? 0 : 7;
  });
  CHECK(status == 0);
}

TEST_CASE("prefault() for stores finds out that a disk is full, and gives holes their space where it is not") {
  for (const char* const kind : {"tmpfs", "ext4"}) {
    const fault::mounted disk(kind, 16 << 20);
    if (!disk.missing.empty()) QIO_SKIP(disk.missing);
    CAPTURE(kind);
    auto file = qio::mapped_file::open(disk.path + "/file", access::read_write, creation::always_new).value();
    REQUIRE(file.resize(64 << 20));
    const auto prepared = file.prefault({0, 4 << 20}, access::write);
    if (!prepared && prepared.error() == errc::prefault_not_supported) QIO_SKIP(prepared.error().message());
    CHECK(prepared);
    const auto failed = file.prefault(qio::extent{0, 64 << 20}, access::write);
    REQUIRE(!failed);
    CHECK(failed.error() == errc::prefault_failed);
    CHECK(failed.error() == std::errc::io_error);
    file.writable_view(0, 4 << 20).value()[12345] = std::byte{1};
  }
}

TEST_CASE("a failed sync of a range stays failed") {
  fault::full_device device;
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  auto file = qio::mapped_file::open(device.path(), access::read_write).value();
  auto context = qio::context::create().value();
  auto other = qio::mapped_file::open(context, device.path(), access::read_write).value();
  other.writable_view(1 << 20, 1).value()[0] = std::byte{1};
  const auto failed = context.run(other.async_sync_range({1 << 20, 4096}));
  REQUIRE(!failed);
  CHECK(failed.error().message().find(device.path()) != std::string::npos);
  device.make_room();
  CHECK(context.run(other.async_sync_range({0, 4096})).error() == failed.error());
  CHECK(other.sync_range({0, 4096}).error() == failed.error());
  CHECK(other.sync().error() == failed.error());
  CHECK(context.run(other.async_sync()).error() == failed.error());
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
namespace {

constexpr std::uint64_t longest = (std::numeric_limits<std::int64_t>::max)();

/// How often a file is mapped by this process.
std::size_t mappings_of(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  std::size_t found = 0;
  for (std::string line; std::getline(maps, line);) found += line.ends_with(path);
  return found;
}

}  // namespace

TEST_CASE("a file as long as a file can be is not mapped, and costs no mapping, also if it grows while it is open") {
  const fault::scratch directory("/dev/shm");  // tmpfs has files of that length
  const std::string path = directory.path + "/file";
  make(path);
  auto file = qio::mapped_file::open(path, access::read_write).value();
  std::filesystem::resize_file(path, longest);
  std::vector<std::byte> found(page);
  for (int i = 0; i < 20; ++i) {
    CHECK(file.read_at(std::uint64_t(1) << 40, found).value() == page);
    CHECK_FALSE(file.view(std::uint64_t(1) << 40, page));
  }
  CHECK(mappings_of(path) == 1);
  const auto second = qio::mapped_file::open(path, access::read);
  REQUIRE_FALSE(second);
  CHECK(second.error() == std::errc::not_enough_memory);
  CHECK(mappings_of(path) == 1);
}

TEST_CASE("resident() of a long file of which nothing is cached asks once") {
  const fault::scratch directory("/dev/shm");
  const std::string path = directory.path + "/file";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, longest);
  const auto file = qio::cached_file::open(path, access::read).value();
  if (::syscall(cachestat, -1, nullptr, nullptr, 0) != 0 && errno == ENOSYS) QIO_SKIP("the kernel has no cachestat");
  const auto found = file.resident();  // by mincore, it would take hours
  REQUIRE(found);
  CHECK(found.value().cached == 0);
  CHECK(found.value().dirty == 0u);
}

TEST_CASE("a mapped file that grows where address space is scarce is not mapped again for each page") {
  const fault::scratch directory;
  const std::string path = directory.path + "/file";
  const int answer = qio_test::in_child([&] {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t room = pages * page + (rlim_t(64) << 20);
    const rlimit limit{room, room};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    auto file = qio::mapped_file::open(path, access::read_write, creation::if_needed);
    if (!file) return 2;
    const std::vector<std::byte> one(page, std::byte{1});
    for (std::uint64_t i = 0; i < 1000; ++i) {
      if (!file.value().write_at(i * page, one)) return 3;
      if (!file.value().view(i * page, page)) return 4;
    }
    return mappings_of(path) < 30 ? 0 : 5;
  });
  CHECK(answer == 0);
}

TEST_CASE("advice that needs more mappings than a process may have is an error") {
  const fault::scratch directory;
  const std::string path = directory.path + "/file";
  const int answer = qio_test::in_child([&] {
    std::uint64_t most = 0;
    std::ifstream("/proc/sys/vm/max_map_count") >> most;
    if (most == 0 || most > 200'000) return 77;
    auto file = qio::mapped_file::open(path, access::read_write, creation::if_needed);
    if (!file || !file.value().resize(2 * most * page)) return 1;
    for (std::uint64_t i = 0; i < most; ++i)
      if (const auto advised = file.value().advise(qio::access_pattern::random, {2 * i * page, page}); !advised)
        return advised.error().code().value() == EAGAIN ? 0 : 2;
    return 3;
  });
  if (answer == 77) QIO_SKIP("vm.max_map_count is too high to reach");
  CHECK(answer == 0);
}
#endif
