// Reading a file with bad sectors.
#include "catch.hpp"
#include "damaged_file.hpp"
#include <qio/qio.hpp>
#include <qio/salvage.hpp>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

std::uint32_t memory_alignment = 0;  // of direct files, if not 0

}  // namespace

// In the place of the C library's, which makes the same system call.
extern "C" int statx(int directory, const char* path, int flags, unsigned mask, struct statx* found) noexcept {
  const long answer = ::syscall(SYS_statx, directory, path, flags, mask, found);
  if (answer == 0 && memory_alignment != 0 && (found->stx_mask & qio::platform::statx_direct::dioalign) != 0)
    std::memcpy(reinterpret_cast<char*>(found) + qio::platform::statx_direct::at_memory, &memory_alignment,
                sizeof memory_alignment);
  return static_cast<int>(answer);
}

namespace {

using fault::damaged_file;

constexpr std::size_t block = damaged_file::block;
constexpr std::size_t file_bytes = 11 * block + 500;

/// Whether `memory` has the file's bytes from `offset` on, and zeros where they are lost.
bool is_right(const qio::salvaged& found, std::span<const std::byte> memory, std::uint64_t offset) {
  for (std::size_t i = 0; i < found.bytes; ++i) {
    const std::uint64_t at = offset + i;
    const bool is_lost = std::any_of(found.lost.begin(), found.lost.end(), [&](const qio::unreadable& each) {
      return at >= each.offset && at - each.offset < each.bytes;
    });
    if (memory[i] != (is_lost ? std::byte{0} : std::byte(damaged_file::content(at)))) return false;
  }
  return true;
}

/// The expected losses: all blocks of `unit` bytes that contain a bad block.
std::vector<qio::unreadable> expected(const std::vector<std::size_t>& bad, std::size_t unit) {
  std::vector<qio::unreadable> lost;
  for (const std::size_t each : bad) {
    const std::size_t begin = each * block / unit * unit;
    const std::size_t end = std::min(file_bytes, (each * block + block - 1) / unit * unit + unit);
    if (!lost.empty() && lost.back().offset + lost.back().bytes >= begin)
      lost.back().bytes = end - lost.back().offset;
    else
      lost.push_back({begin, end - begin, {}});
  }
  return lost;
}

bool are_equal(const std::vector<qio::unreadable>& a, const std::vector<qio::unreadable>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.offset == y.offset && x.bytes == y.bytes; });
}

const std::vector<std::vector<std::size_t>> damages = {
    {}, {0}, {5}, {11}, {0, 11}, {3, 4, 5}, {1, 3, 5, 7, 9, 11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};

}  // namespace

TEST_CASE("salvage reads all of a damaged file except the bad blocks, and reports these") {
  auto memory = qio::aligned_buffer::allocate(64 * 1024).value();
  for (const auto& bad : damages) {
    CAPTURE(bad);
    const damaged_file damaged(file_bytes, bad);
    if (!damaged.missing.empty()) QIO_SKIP(damaged.missing);
    const auto direct = qio::direct_file::open(damaged.path).value();
    std::fill(memory.begin(), memory.end(), std::byte{0xee});
    if (!bad.empty()) REQUIRE(!direct.read_at(0, memory));
    const qio::salvaged found = qio::salvage(direct, 0, memory).value();
    CHECK(found.bytes == file_bytes);
    CHECK(are_equal(found.lost, expected(bad, block)));
    CHECK(is_right(found, memory, 0));
    for (const qio::unreadable& each : found.lost) CHECK(each.reason == std::errc::io_error);
  }
}

TEST_CASE("salvage reads from any offset of a direct file whose buffers need more alignment than its offsets") {
  constexpr std::size_t unit = 4 * block;
  auto memory = qio::aligned_buffer::allocate(64 * 1024).value();
  for (const auto& bad : damages) {
    CAPTURE(bad);
    const damaged_file damaged(file_bytes, bad);
    if (!damaged.missing.empty()) QIO_SKIP(damaged.missing);
    memory_alignment = unit;
    const auto opened = qio::direct_file::open(damaged.path);
    memory_alignment = 0;
    const auto& direct = opened.value();
    if (direct.alignment().memory != unit) QIO_SKIP("the kernel does not report the alignment of this file");
    for (const std::size_t offset : {block, 3 * block, 5 * block}) {
      CAPTURE(offset);
      const auto found = qio::salvage(direct, offset, memory);
      REQUIRE(found);
      CHECK(found.value().bytes == file_bytes - offset);
      CHECK(is_right(found.value(), memory, offset));
      for (const qio::unreadable& each : found.value().lost)
        CHECK(std::any_of(bad.begin(), bad.end(), [&](std::size_t sector) {
          return sector * block < each.offset + each.bytes && (sector + 1) * block > each.offset;
        }));
    }
  }
}

TEMPLATE_TEST_CASE("through the page cache, salvage loses only the pages of the bad blocks", "", qio::cached,
                   qio::mapped) {
  std::vector<std::byte> memory(64 * 1024);
  for (const auto& bad : damages) {
    CAPTURE(bad);
    const damaged_file damaged(file_bytes, bad);
    if (!damaged.missing.empty()) QIO_SKIP(damaged.missing);
    const auto file = qio::basic_file<TestType>::open(damaged.path).value();
    for (const std::uint64_t offset : {0u, 700u}) {
      const qio::salvaged found = qio::salvage(file, offset, memory).value();
      CHECK(found.bytes == file_bytes - offset);
      CHECK(is_right(found, memory, offset));
      CHECK(found.lost.empty() == bad.empty());
      const auto most = expected(bad, qio::platform::page_size());
      for (const qio::unreadable& each : found.lost)
        CHECK(std::any_of(most.begin(), most.end(), [&](const qio::unreadable& pages) {
          return each.offset >= pages.offset && each.offset + each.bytes <= pages.offset + pages.bytes;
        }));
    }
  }
}

TEST_CASE("salvage returns the error of read_at if it is not damage") {
  const damaged_file damaged(file_bytes, {5});
  if (!damaged.missing.empty()) QIO_SKIP(damaged.missing);
  auto memory = qio::aligned_buffer::allocate(8 * block).value();
  const auto direct = qio::direct_file::open(damaged.path).value();
  CHECK(qio::salvage(direct, 100, memory).error() == qio::errc::misaligned_offset);
  CHECK(qio::salvage(direct, 0, memory.view(0, 100)).error() == qio::errc::misaligned_length);
  CHECK(qio::salvage(direct, ~std::uint64_t(0) - 511, memory).error() == qio::errc::offset_too_large);
  CHECK(qio::salvage(direct, 64 * block, memory).value().bytes == 0);
  CHECK(qio::salvage(direct, 0, memory.view(0, 0)).value().bytes == 0);
  CHECK(qio::salvage(direct, 0, memory.view(0, 4 * block)).value().lost.empty());
  const auto unreadable = qio::cached_file::open(damaged.path, qio::access::write).value();
  CHECK(qio::salvage(unreadable, 0, memory).error() == std::errc::bad_file_descriptor);
}
