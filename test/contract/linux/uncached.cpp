// Uncached files: what a transfer leaves in the page cache.
#include "../world.hpp"
#include "memory_directory.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

namespace contract {

namespace {

/// The number of pages of a file's first `bytes` that are in the page cache (cachestat(2), Linux 6.5), if the kernel
/// reports it.
std::optional<std::uint64_t> pages_in_cache(int handle, std::uint64_t bytes) {
  constexpr long cachestat = 451;
  struct {
    std::uint64_t offset, bytes;
  } const range{0, bytes};
  struct {
    std::uint64_t cached, dirty, written_back, evicted, recently_evicted;
  } pages{};
  if (::syscall(cachestat, handle, &range, &pages, 0) != 0) return std::nullopt;
  return pages.cached;
}

}  // namespace

PROMISE(lets_go, uncached_everywhere, "an uncached transfer leaves no pages in the cache") {
  constexpr std::size_t bytes = 64 * 4096;
  auto file = w.with(bytes);
  memory buffer(bytes);
  REQUIRE(w.sync(file, qio::sync_kind::data));  // writes the pages back, which drops them
  const auto after_writing = pages_in_cache(file.native_handle(), bytes);
  if (!after_writing) QIO_SKIP("this kernel has no cachestat");
  CHECK(*after_writing == 0);
  REQUIRE(w.read(file, 0, buffer.all()).value() == bytes);
  CHECK(holds_pattern(buffer.all(), 0));
  CHECK(*pages_in_cache(file.native_handle(), bytes) == 0);

  const std::array<qio::mutable_buffer, 2> pair{buffer.part(0, 100), buffer.part(4096, 4096)};
  REQUIRE(w.read(file, 0, pair).value() == 4196);
  CHECK(*pages_in_cache(file.native_handle(), 4096) == 0);

  // Pages that others have read stay in the cache. (Pages that were read ahead for this file are dropped when read.)
  REQUIRE(::posix_fadvise(file.native_handle(), 0, 0, POSIX_FADV_DONTNEED) == 0);
  auto cached = qio::cached_file::open(w.where / "data").value();
  REQUIRE(cached.read_at(0, buffer.all()).value() == bytes);
  REQUIRE(w.read(file, 0, buffer.all()).value() == bytes);
  // (Of reads that are split into pages, the kernel drops some.)
  if (qio_test::class_of_next_context == nullptr) CHECK(*pages_in_cache(file.native_handle(), bytes) == bytes / 4096);
}

// Not through the world, which would find no uncached file there, and skip.
TEST_CASE("where uncached I/O is unavailable, the open fails, or uses the cache if that is allowed") {
  const memory_directory shm;
  if (shm.path.empty()) QIO_SKIP("/dev/shm is no tmpfs");
  const std::string path = shm.path + "/file";
  const auto open = [&](const qio::open_options& options) {
    return qio::uncached_file::open(path, access::read_write, creation::if_needed, options);
  };
  const auto refused = open({});
  REQUIRE(!refused);
  CHECK(refused.error() == errc::uncached_not_supported);
  CHECK(refused.error() == std::errc::operation_not_supported);
  CHECK(shm.is_empty());

  auto file = open({.fallback = qio::if_unavailable::use_cache}).value();
  CHECK(!file.is_uncached());
  CHECK(file.explain().find("uncached")->value == "off");
  CHECK(file.explain().find("uncached")->reason.find("Linux 6.14") != std::string::npos);
  auto block = memory::with_pattern(0, 5000);
  CHECK(file.write_at(100, block.all()).value() == 5000);
  memory read(5000);
  CHECK(file.read_at(100, read.all()).value() == 5000);
  CHECK(holds_pattern(read.all(), 0));
}

}  // namespace contract
