// start_writeback() on a file system with a device: dirty pages become clean without a sync.
#include "catch.hpp"
#include "disk.hpp"
#include "engines.hpp"
#include <qio/qio.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// The pages of a file that are dirty or being written (cachestat(2), Linux 6.5); -1 if the system does not report it.
std::int64_t unwritten_pages(int file) {
  constexpr long number = 451;  // the same on all architectures: include/uapi/asm-generic/unistd.h
  struct {
    std::uint64_t offset, length;
  } all{0, 0};
  struct {
    std::uint64_t cached, dirty, written, evicted, recently_evicted;
  } found{};
  if (::syscall(number, file, &all, &found, 0) != 0) return -1;
  return static_cast<std::int64_t>(found.dirty + found.written);
}

constexpr std::size_t pages = 64, page = 4096;

/// A file whose pages are dirty. The kernel may write them at any time, but not often before we look.
template <class Mode, class Context>
auto dirty_file(Context& on, const std::string& path) {
  auto made = qio::basic_file<Mode>::open(on, path, qio::access::read_write, qio::creation::always_new).value();
  REQUIRE(made.resize(pages * page));
  const std::vector<std::byte> data(pages * page, std::byte{7});
  do REQUIRE(made.write_at(0, data).value() == data.size());
  while (unwritten_pages(made.native_handle()) == 0);
  return made;
}

/// The kernel writes what is dirty by itself after 30 seconds (dirty_expire_centisecs).
bool becomes_clean(int file) {
  for (const auto end = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < end;) {
    if (unwritten_pages(file) == 0) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

template <class Mode, class Context>
void check_start(Context& on, const std::string& path) {
  auto blocking = dirty_file<Mode>(on, path + "/one");
  REQUIRE(blocking.start_writeback(0, pages * page));
  CHECK(becomes_clean(blocking.native_handle()));

  auto asynchronous = dirty_file<Mode>(on, path + "/two");
  REQUIRE(on.run(asynchronous.async_start_writeback(0, pages * page)));
  CHECK(becomes_clean(asynchronous.native_handle()));

  auto part = dirty_file<Mode>(on, path + "/three");
  REQUIRE(on.run(part.async_start_writeback(10 * page + 1, page)));  // touches two pages
  CHECK(part.sync());
}

}  // namespace

TEST_CASE("pages become clean without a sync after start_writeback, in cached and mapped mode, on ext4 and XFS") {
  for (const std::string kind : {"ext4", "xfs"}) {
    const fault::mounted mounted(kind, 400 << 20);
    if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
    const auto probe = qio::cached_file::open(mounted.path + "/probe", qio::access::write, qio::creation::always_new);
    if (unwritten_pages(probe.value().native_handle()) < 0)
      QIO_SKIP("the kernel does not count dirty pages (cachestat, Linux 6.5)");
    INFO(kind);
    fault::on_every_engine([&](auto& context) {
      check_start<qio::cached>(context, mounted.path);
      check_start<qio::mapped>(context, mounted.path);
    });
  }
}

#if QIO_HAS_URING
TEST_CASE("the ring carries out start_writeback without a worker of the library") {
  const fault::mounted mounted("ext4", 64 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  auto context = qio::context::create({.engine = qio::engine_kind::ring});
  if (!context) QIO_SKIP(context.error().message());
  auto file = dirty_file<qio::cached>(context.value(), mounted.path + "/data");
  REQUIRE(context.value().run(file.async_start_writeback(0, pages * page)));
  CHECK(file.statistics().served_by_ring == 1);
  CHECK(file.statistics().served_by_worker == 0);
}
#endif

TEST_CASE("the kernel gets the flag of untorn writes, and refuses it for a file that is not direct") {
  const fault::scratch where;
  auto file = qio::cached_file::open(where.path + "/data", qio::access::write, qio::creation::always_new).value();
  const std::vector<std::byte> data(4096);
  const auto write = [&](qio::platform::transfer_flags flags) {
    const qio::detail::piece all{0, {}, 0, {const_cast<std::byte*>(data.data()), data.size()}};
    return qio::platform::write_some(file.native_handle(), all, flags);
  };
  CHECK(write(0) == 4096);
  CHECK(write(qio::platform::untorn) == -EOPNOTSUPP);
}

TEST_CASE("untorn writes work on XFS with reflink, or the file has no limits of them") {
  const fault::mounted mounted("xfs", 400 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  fault::on_every_engine([&](auto& context) {
    auto file =
        qio::direct_file::open(context, mounted.path + "/data", qio::access::read_write, qio::creation::always_new)
            .value();
    const auto limits = file.atomic_write_limits();
    auto memory = qio::aligned_buffer::allocate(65536).value();
    const auto written = context.run(file.async_write_at(0, memory.view(0, 65536), {.untorn = true}));
    CHECK(written.has_value() == (limits.smallest <= 65536 && limits.largest >= 65536));
    if (qio::platform::kernel_is_older_than(6, 11)) CHECK(limits.largest == 0);
    // XFS does them by itself since then, whatever the device.
    if (!qio::platform::kernel_is_older_than(6, 16)) CHECK(limits.largest >= 65536);
  });
}
