// SPDX-License-Identifier: BSL-1.0
// The hints about the order of reads that Linux gets, and their effect.
#include "catch.hpp"
#include "directory.hpp"
#include "mapping_flags.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

std::vector<int> hints;  // what this program has passed to posix_fadvise

}  // namespace

// In the place of the C library's, which makes the same system call.
extern "C" int posix_fadvise(int handle, off_t offset, off_t bytes, int advice) {
  hints.push_back(advice);
  return ::syscall(SYS_fadvise64, handle, offset, bytes, advice) == 0 ? 0 : errno;
}

namespace {

using qio::access;
using qio::access_pattern;
using qio::creation;
using qio_test::directory;
using qio_test::flags_of_mapping;
using qio_test::has_flag;

constexpr std::size_t file_bytes = std::size_t(4) << 20;

/// How many of the file's pages are in the cache.
std::size_t pages_in_cache(int handle) {
  void* const base = ::mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, handle, 0);
  REQUIRE(base != MAP_FAILED);
  std::vector<unsigned char> resident(file_bytes / qio::platform::page_size());
  REQUIRE(::mincore(base, file_bytes, resident.data()) == 0);
  ::munmap(base, file_bytes);
  std::size_t count = 0;
  for (const unsigned char each : resident) count += each & 1;
  return count;
}

/// A file whose pages are not in the cache, if they leave it.
std::string evicted_file(const directory& where) {
  const std::string path = where / "file";
  const std::vector<std::byte> contents(file_bytes, std::byte(1));
  auto file = qio::cached_file::open(path, access::read_write, creation::always_new).value();
  REQUIRE(file.write_at(0, contents).value() == contents.size());
  REQUIRE(file.sync());
  // The kernel may hold a page for a moment longer.
  for (int attempt = 0; attempt < 20 && pages_in_cache(file.native_handle()) != 0; ++attempt)
    static_cast<void>(::posix_fadvise(file.native_handle(), 0, 0, POSIX_FADV_DONTNEED));
  hints.clear();
  return path;
}

/// How many pages come into the cache with a read of the file's first page; none if they had not left it.
std::optional<std::size_t> pages_after_a_read(access_pattern pattern) {
  const directory where;
  auto file =
      qio::cached_file::open(evicted_file(where), access::read, creation::open_existing, {.pattern = pattern}).value();
  if (pages_in_cache(file.native_handle()) != 0) return std::nullopt;
  std::vector<std::byte> page(qio::platform::page_size());
  REQUIRE(file.read_at(0, page).value() == page.size());
  return pages_in_cache(file.native_handle());
}

TEST_CASE("a file that will be read at random reads nothing ahead") {
  const auto usual = pages_after_a_read(access_pattern::normal), at_random = pages_after_a_read(access_pattern::random);
  if (!usual || !at_random) QIO_SKIP("pages do not leave the cache of this file system when they are not needed");
  if (*usual == 1) QIO_SKIP("this file system reads nothing ahead");
  CHECK(*usual > 1);
  CHECK(*at_random == 1);
}

TEMPLATE_TEST_CASE("the hint is given once, when the file is opened, and only if there is one", "", qio::cached,
                   qio::direct, qio::mapped) {
  const directory where;
  const std::string path = evicted_file(where);
  auto context = qio::context::create().value();
  const std::pair<access_pattern, std::vector<int>> all[] = {{access_pattern::normal, {}},
                                                             {access_pattern::random, {POSIX_FADV_RANDOM}},
                                                             {access_pattern::sequential, {POSIX_FADV_SEQUENTIAL}}};
  for (const auto& [pattern, expected] : all) {
    const qio::open_options options{.fallback = qio::if_unavailable::use_cache, .pattern = pattern};
    hints.clear();
    auto blocking = qio::basic_file<TestType>::open(path, access::read, creation::open_existing, options).value();
    CHECK(hints == expected);
    hints.clear();
    // The first is opened by a worker, the others at once where that is possible.
    for (int each = 0; each < 3; ++each) {
      hints.clear();
      auto file = context.run(
          qio::basic_file<TestType>::async_open(context, path, access::read, creation::open_existing, options));
      REQUIRE(file);
      CHECK(hints == expected);
    }
  }
}

TEST_CASE("the mappings of a file have its hint, those of a file that has grown, too") {
  const directory where;
  const std::string path = evicted_file(where);
  const auto open = [&](access_pattern pattern) {
    return qio::mapped_file::open(path, access::read_write, creation::open_existing,
                                  {.pattern = pattern, .reservation = 1});
  };
  const auto flags = [](const qio::mapped_file& file, std::uint64_t offset) {
    return flags_of_mapping(file.view(offset, 1).value().data());
  };
  auto normal = open(access_pattern::normal).value();
  const std::string usual = flags(normal, 0);
  if (usual.empty()) QIO_SKIP("the kernel does not report the flags of mappings");
  CHECK(!has_flag(usual, "rr"));
  CHECK(!has_flag(usual, "sr"));
  CHECK(has_flag(flags(open(access_pattern::random).value(), 0), "rr"));
  auto file = open(access_pattern::sequential).value();
  CHECK(has_flag(flags(file, 0), "sr"));
  constexpr std::uint64_t beyond_reservation = std::uint64_t(3) << 30;
  REQUIRE(file.resize(beyond_reservation));
  CHECK(has_flag(flags(file, beyond_reservation - 1), "sr"));
}

TEMPLATE_TEST_CASE("advise() passes each hint on, as often as it is called", "", qio::cached, qio::direct,
                   qio::mapped) {
  const directory where;
  const qio::open_options options{.fallback = qio::if_unavailable::use_cache};
  auto file =
      qio::basic_file<TestType>::open(evicted_file(where), access::read, creation::open_existing, options).value();
  hints.clear();
  for (const auto pattern : {access_pattern::random, access_pattern::sequential, access_pattern::normal})
    REQUIRE(file.advise(pattern));
  CHECK(hints == std::vector<int>{POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL, POSIX_FADV_NORMAL});
}

TEST_CASE("advise() changes the hint of all mappings, and of those that follow") {
  const directory where;
  auto file = qio::mapped_file::open(evicted_file(where), access::read_write, creation::open_existing,
                                     {.pattern = access_pattern::sequential, .reservation = 1})
                  .value();
  const std::byte* const first = file.view(0, 1).value().data();
  if (flags_of_mapping(first).empty()) QIO_SKIP("the kernel does not report the flags of mappings");
  constexpr std::uint64_t beyond_reservation = std::uint64_t(3) << 30;
  REQUIRE(file.resize(beyond_reservation));
  const std::byte* const second = file.view(0, 1).value().data();
  REQUIRE(second != first);
  REQUIRE(file.advise(access_pattern::random));
  CHECK(has_flag(flags_of_mapping(first), "rr"));
  CHECK(has_flag(flags_of_mapping(second), "rr"));
  REQUIRE(file.resize(4 * beyond_reservation));
  CHECK(has_flag(flags_of_mapping(file.view(4 * beyond_reservation - 1, 1).value().data()), "rr"));
  REQUIRE(file.advise(access_pattern::normal));
  CHECK(!has_flag(flags_of_mapping(first), "rr"));
}

TEST_CASE("advise() of a range, and use_huge_pages(), concern the pages of the range and no others") {
  const directory where;
  auto file = qio::mapped_file::open(evicted_file(where), access::read_write).value();
  const std::size_t page = qio::platform::page_size();
  const auto flags = [&](std::size_t number) { return flags_of_mapping(file.view(number * page, 1).value().data()); };
  if (flags(0).empty()) QIO_SKIP("the kernel does not report the flags of mappings");
  REQUIRE(file.advise(access_pattern::random, {2 * page - 1, 2}));
  CHECK(!has_flag(flags(0), "rr"));
  CHECK(has_flag(flags(1), "rr"));
  CHECK(has_flag(flags(2), "rr"));
  CHECK(!has_flag(flags(3), "rr"));
  REQUIRE(file.advise(access_pattern::sequential, {2 * page, page}));
  CHECK(has_flag(flags(2), "sr"));
  CHECK(!has_flag(flags(2), "rr"));
  if (const auto huge = file.use_huge_pages({5 * page - 1, 2}); !huge) QIO_SKIP(huge.error().message());
  CHECK(!has_flag(flags(3), "hg"));
  CHECK(has_flag(flags(4), "hg"));
  CHECK(has_flag(flags(5), "hg"));
  CHECK(!has_flag(flags(6), "hg"));
}

TEST_CASE("the hint of a handle that was opened elsewhere stays as it is, and its new mapping has one") {
  const directory where;
  const int handle = ::open(evicted_file(where).c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(handle >= 0);
  auto file = qio::mapped_file::adopt(handle, {.pattern = access_pattern::random}).value();
  CHECK(hints.empty());
  const std::string flags = flags_of_mapping(file.view(0, 1).value().data());
  if (flags.empty()) QIO_SKIP("the kernel does not report the flags of mappings");
  CHECK(has_flag(flags, "rr"));
}

}  // namespace
