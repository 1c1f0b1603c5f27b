// Real faults of devices and file systems.
#include "catch.hpp"
#include "disk.hpp"
#include "engines.hpp"
#include <qio/qio.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t mebibyte = std::size_t(1) << 20;

template <class File>
qio::task<qio::result<std::size_t>> read(File& from, std::uint64_t offset, std::span<std::byte> buffer) {
  co_return co_await from.async_read_at(offset, buffer);
}
template <class File>
qio::task<qio::result<std::size_t>> write(File& to, std::uint64_t offset, std::span<const std::byte> buffer) {
  co_return co_await to.async_write_at(offset, buffer);
}

using fault::on_every_engine;

}  // namespace

TEST_CASE("a block device has a size, and is read and written in each mode") {
  const fault::loop_device device(4 * mebibyte);
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  auto direct = qio::direct_file::open(device.path, qio::access::read_write).value();
  auto mapped = qio::mapped_file::open(device.path, qio::access::read_write).value();
  CHECK(direct.size().value() == 4 * mebibyte);
  CHECK(direct.is_direct());
  auto block = qio::aligned_buffer::allocate(4096).value();
  std::fill(block.begin(), block.end(), std::byte{7});
  CHECK(direct.write_at(4096, block).value() == 4096);
  CHECK(direct.sync());
  CHECK(mapped.view(4096, 1).value()[0] == std::byte{7});
  CHECK(direct.read_at(4 * mebibyte, block).value() == 0);
  CHECK(direct.write_at(4 * mebibyte, block).error() == std::errc::no_space_on_device);
}

TEST_CASE("a device that cannot be read is an I/O error with the bytes read before it, and the process survives") {
  const fault::loop_device device(4 * mebibyte);
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  REQUIRE(::truncate(device.image().c_str(), mebibyte) == 0);
  auto buffer = qio::aligned_buffer::allocate(mebibyte).value();
  const auto is_refused = [&](const qio::result<std::size_t>& answer) {
    return !answer && answer.error() == std::errc::io_error && answer.error().transferred() == 0 &&
           answer.error().message().starts_with("cannot read " + device.path + ": ");
  };
  CHECK(qio::direct_file::open(device.path).value().read_at(0, buffer).value() == mebibyte);
  CHECK(is_refused(qio::direct_file::open(device.path).value().read_at(2 * mebibyte, buffer)));
  CHECK(is_refused(qio::cached_file::open(device.path).value().read_at(2 * mebibyte, buffer)));
  CHECK(is_refused(qio::mapped_file::open(device.path).value().read_at(3 * mebibyte, buffer)));

  // Across the end of the device: the error reports the bytes read before it.
  const auto partly = qio::cached_file::open(device.path).value().read_at(mebibyte / 2, buffer);
  REQUIRE(!partly);
  CHECK(partly.error() == std::errc::io_error);
  CHECK(partly.error().transferred() <= mebibyte / 2);

  on_every_engine([&](auto& context) {
    auto direct = qio::direct_file::open(context, device.path).value();
    CHECK(is_refused(context.run(read(direct, 2 * mebibyte, buffer.view(0, 4096)))));
    auto cached = qio::cached_file::open(context, device.path).value();
    CHECK(is_refused(context.run(read(cached, 2 * mebibyte, buffer.view(0, 4096)))));
    CHECK(context.run(read(cached, 0, buffer.view(0, 4096))).value() == 4096);
  });
}

TEST_CASE("a write to a full disk fails with no_space_on_device and the number of bytes written") {
  const fault::mounted disk("ext4", 16 * mebibyte);
  if (!disk.missing.empty()) QIO_SKIP(disk.missing);
  auto buffer = qio::aligned_buffer::allocate(64 * mebibyte).value();
  std::fill(buffer.begin(), buffer.end(), std::byte{7});
  const auto is_full = [&](const qio::result<std::size_t>& answer, const std::string& path) {
    if (answer || answer.error() != std::errc::no_space_on_device) return false;
    if (!answer.error().message().starts_with("cannot write " + path + ": ")) return false;
    const std::uint64_t told = answer.error().transferred();
    if (told == 0) return true;
    auto written = qio::cached_file::open(path).value();
    std::vector<std::byte> last(1);
    return written.read_at(told - 1, last).value() == 1 && last[0] == std::byte{7};
  };
  const std::string path = disk.path + "/file";
  const auto fresh = [&](auto open) {
    std::filesystem::remove(path);
    return open();
  };
  constexpr auto wanted = qio::access::read_write;
  constexpr auto how = qio::creation::if_needed;
  {
    auto file = fresh([&] { return qio::cached_file::open(path, wanted, how).value(); });
    CHECK(is_full(file.write_at(0, buffer), path));
  }
  {
    auto file = fresh([&] { return qio::direct_file::open(path, wanted, how).value(); });
    CHECK(is_full(file.write_at(0, buffer), path));
  }
  {
    // A hole that cannot be filled: the page fault fails, and the process survives.
    auto file = fresh([&] { return qio::mapped_file::open(path, wanted, how).value(); });
    REQUIRE(file.resize(64 * mebibyte));
    CHECK(is_full(file.write_at(0, buffer), path));
  }
  on_every_engine([&](auto& context) {
    {
      auto file = fresh([&] { return qio::cached_file::open(context, path, wanted, how).value(); });
      CHECK(is_full(context.run(write(file, 0, buffer.view(0, buffer.size()))), path));
    }
    auto file = fresh([&] { return qio::direct_file::open(context, path, wanted, how).value(); });
    CHECK(is_full(context.run(write(file, 0, buffer.view(0, buffer.size()))), path));
  });
}

TEST_CASE("inline writes report a full disk as the engine's writes do") {
  const fault::mounted disk("ext4", 16 * mebibyte);
  if (!disk.missing.empty()) QIO_SKIP(disk.missing);
  const std::vector<std::byte> buffer(64 * 1024, std::byte{7});
  on_every_engine([&](auto& context) {
    for (const bool inline_writes : {true, false}) {
      const std::string path = disk.path + "/file";
      std::filesystem::remove(path);
      auto file = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::only_if_missing,
                                         {.inline_writes = inline_writes ? qio::inline_transfers::automatic
                                                                         : qio::inline_transfers::never})
                      .value();
      std::uint64_t end = 0;
      auto answer = context.run(write(file, end, buffer));
      for (; answer && end < 64 * mebibyte; answer = context.run(write(file, end, buffer))) end += buffer.size();
      REQUIRE(!answer);
      CHECK(answer.error() == std::errc::no_space_on_device);
      CHECK(answer.error().message().starts_with("cannot write " + path + ": "));
      CHECK(answer.error().transferred() < buffer.size());
      CHECK(file.size().value() == end + answer.error().transferred());
      CHECK((file.statistics().served_inline != 0) == inline_writes);
    }
  });
}

namespace {

/// What the context's thread may carry out, or submit, although it may wait: inline writes, and direct ones over Linux
/// AIO.
template <class Mode>
struct own_writes {
  qio::engine_kind engine = qio::engine_kind::any;
  std::uint64_t qio::file_statistics::*count = &qio::file_statistics::served_inline;
};
constexpr own_writes<qio::cached> inline_writes;
constexpr own_writes<qio::direct> writes_by_aio{qio::engine_kind::aio, &qio::file_statistics::served_by_ring};

/// Writes to a new file with these permissions until a write has made the context's thread wait, and once more after
/// the pause that follows. That one must take the same way, or must not.
template <class Mode>
void write_after_a_wait(const own_writes<Mode>& those, std::uint32_t permissions, bool takes_the_same_way) {
  using clock = std::chrono::steady_clock;
  using file_type = qio::basic_file<Mode>;
  const fault::mounted disk("ext4", 16 * mebibyte);
  if (!disk.missing.empty()) QIO_SKIP(disk.missing);
  auto memory = qio::aligned_buffer::allocate(4096).value();
  const std::span<std::byte> buffer(memory);
  std::ranges::fill(buffer, std::byte{7});
  if (auto has_engine = qio::context::create({.engine = those.engine}); !has_engine)
    QIO_SKIP("no such engine: " + has_engine.error().message());
  // What is known of the file system by another file must not pass for this one.
  const auto create = [&](const char* name, std::uint32_t bits) {
    auto file =
        file_type::open(disk.path + name, qio::access::write, qio::creation::if_needed, {.permissions = bits}).value();
    return file.write_at(0, buffer).has_value();
  };
  REQUIRE(create("/file", permissions));
  REQUIRE(create("/other", permissions == 0600 ? 0644 : 0600));
  using opened_file = qio::basic_file<Mode, qio::default_engine>;
  std::optional<qio::context> own_context;
  std::optional<opened_file> file;
  // A new file system may have to read its own data first, for which a write waits: then from the beginning.
  for (int attempt = 0; attempt < 20 && (!file || file->statistics().blocked_submissions != 0); ++attempt) {
    file.reset();
    own_context.emplace(qio::context::create({.engine = those.engine}).value());
    const auto open = [&](const char* name) {
      return own_context->run(file_type::async_open(*own_context, disk.path + name, qio::access::read_write)).value();
    };
    static_cast<void>(open("/other"));
    file.emplace(open("/file"));
    REQUIRE(own_context->run(write(*file, 0, buffer)));
  }
  qio::context& context = *own_context;
  const qio::file_statistics& statistics = file->statistics();
  const std::uint64_t& count = statistics.*those.count;
  REQUIRE(statistics.blocked_submissions == 0);
  REQUIRE(count == 1);

  // A write to a frozen file system waits until it is thawed. On a busy machine, several attempts may be needed to be
  // sure that the thread waited, and was not preempted.
  clock::time_point begin, end;
  std::uint64_t at_once = 1;
  for (int attempt = 0; attempt < 20 && statistics.blocked_submissions == 0; ++attempt) {
    bool ok = false;
    const std::string why = fault::output_of("fsfreeze --freeze " + disk.path, &ok);
    if (!ok) QIO_SKIP("no fsfreeze: " + why);
    std::thread thawing([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      fault::output_of("fsfreeze --unfreeze " + disk.path);
    });
    begin = clock::now();
    const auto waited = context.run(write(*file, 0, buffer));
    end = clock::now();
    thawing.join();
    CHECK(waited);
    CHECK(count == ++at_once);
  }
  CHECK(statistics.blocked_submissions == 1);

  CHECK(context.run(write(*file, 0, buffer)));
  CHECK(count == at_once);
  std::this_thread::sleep_until(end + 16 * (end - begin));
  CHECK(context.run(write(*file, 0, buffer)));
  CHECK(statistics.blocked_submissions == 1);
  CHECK(count == at_once + (takes_the_same_way ? 1u : 0u));
}

}  // namespace

TEST_CASE("an inline write that waits is counted, and the engine gets the next ones for a while") {
  write_after_a_wait(inline_writes, 0600, true);
}

TEST_CASE("a write to a file that others may open waits inline only once") {
  for (const std::uint32_t permissions : {0640u, 0604u}) write_after_a_wait(inline_writes, permissions, false);
}

#if QIO_HAS_URING
TEST_CASE("a direct write that waits in Linux AIO is counted, and workers get the next ones for a while") {
  write_after_a_wait(writes_by_aio, 0600, true);
}

TEST_CASE("a direct write to a file that others may open waits in Linux AIO only once") {
  write_after_a_wait(writes_by_aio, 0640, false);
}

namespace {

/// Whether Linux AIO carries out a direct read, and a direct write within the file.
struct by_aio {
  bool read = false;
  bool write = false;
  bool operator==(const by_aio&) const = default;
};

by_aio what_aio_does(qio::context& context, const std::string& path) {
  auto memory = qio::aligned_buffer::allocate(4096, 4096).value();
  const std::span<std::byte> buffer(memory);
  auto file = qio::direct_file::open(context, path, qio::access::read_write, qio::creation::if_needed).value();
  file.write_at(0, buffer).value();
  file.sync().value();
  const std::uint64_t& count = file.statistics().served_by_ring;
  by_aio found;
  for (int repeated = 1; repeated <= 2; ++repeated) {  // the first one may show that it cannot
    const std::uint64_t before = count;
    CHECK(context.run(file.async_read_at(0, buffer)).value() == buffer.size());
    found.read = count != before;
  }
  const std::uint64_t before = count;
  CHECK(context.run(file.async_write_at(0, buffer)).value() == buffer.size());
  found.write = count != before;
  return found;
}

}  // namespace

TEST_CASE("which direct transfers Linux AIO carries out depends on the file system") {
  auto context = qio::context::create({.engine = qio::engine_kind::aio});
  if (!context) QIO_SKIP("no Linux AIO: " + context.error().message());
  struct expectation {
    const char* kind;
    by_aio expected;
  };
  for (const expectation& each : {expectation{"ext4", {true, true}}, expectation{"xfs", {true, true}},
                                  expectation{"btrfs", {true, false}}, expectation{"overlay", {false, false}}}) {
    CAPTURE(each.kind);
    const fault::scratch below;
    const fault::mounted mounted(each.kind, 512 * mebibyte, below.path);
    if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
    CHECK(what_aio_does(context.value(), mounted.path + "/file") == each.expected);
  }
}

TEST_CASE("Linux AIO carries out the transfers of a block device") {
  auto context = qio::context::create({.engine = qio::engine_kind::aio});
  if (!context) QIO_SKIP("no Linux AIO: " + context.error().message());
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const fault::scratch where;
  bool ok = false;
  const std::string device = fault::output_of(
      "truncate -s 1M " + where.path + "/image && losetup --find --show " + where.path + "/image", &ok);
  if (!ok) QIO_SKIP("no loop device: " + device);
  const by_aio found = what_aio_does(context.value(), device);
  fault::output_of("losetup --detach " + device);
  CHECK(found == by_aio{true, true});
}
#endif

TEST_CASE("direct I/O on an overlay works if the file system below supports it, and is refused if that is in memory") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  for (const bool in_memory : {false, true}) {
    const fault::scratch where;
    const std::string at = where.path;
    std::string prepare = "mkdir " + at + "/b " + at + "/o && ";
    if (in_memory) prepare += "mount -t tmpfs none " + at + "/b && ";
    prepare += "mkdir " + at + "/b/l " + at + "/b/u " + at + "/b/w && mount -t overlay -o lowerdir=" + at +
               "/b/l,upperdir=" + at + "/b/u,workdir=" + at + "/b/w none " + at + "/o";
    bool ok = false;
    const std::string why = fault::output_of(prepare, &ok);
    std::optional<qio::result<qio::direct_file>> opened;
    if (ok)
      opened.emplace(qio::direct_file::open(at + "/o/file", qio::access::read_write, qio::creation::only_if_missing));
    const bool refused_for_good_reason = opened && !*opened && opened->error() == std::errc::operation_not_supported &&
                                         !std::filesystem::exists(at + "/o/file");
    const bool is_direct = opened && *opened && opened->value().is_direct();
    opened.reset();
    fault::output_of("umount " + at + "/o; umount " + at + "/b");
    if (!ok) QIO_SKIP("no overlay: " + why);
    CHECK((in_memory ? refused_for_good_reason : is_direct));
  }
}
