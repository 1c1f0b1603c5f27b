// Durability on a device that cannot store what is written to it.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "engines.hpp"
#include "forbid.hpp"
#include <qio/qio.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <latch>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr auto every_kind = {qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything};

/// A file whose last sync has failed. It writes, syncs by `sync`, and then makes space for what was written.
template <class File, class Sync>
void fail_sync(fault::full_device& device, File& file, Sync sync) {
  const std::vector<std::byte> data(64 * 1024, std::byte{7});
  REQUIRE(file.write_at(0, data));  // accepted …
  REQUIRE(sync().error() == std::errc::io_error);
  CHECK(::fsync(file.native_handle()) == 0);  // … and forgotten, by the kernel
  device.make_room();
}

/// A file with written data that its next sync cannot store.
template <class Mode, class Context>
auto written_in_vain(fault::full_device& device, Context& context) {
  auto file = qio::basic_file<Mode>::open(context, device.path(), qio::access::read_write).value();
  REQUIRE(file.write_at(0, std::vector<std::byte>(64 * 1024, std::byte{7})));
  return file;
}

/// Whether a write to a file opened with durable_writes failed with the device's error, and all later syncs fail.
template <class Answer, class Sync>
bool is_told(const Answer& written, Sync sync) {
  if (written || written.error().transferred() != 0) return false;
  const auto synced = sync();
  return !synced && synced.error() == written.error();
}

/// The error of such a write, for a file in the page cache or a direct one.
template <class Mode>
constexpr std::errc refusal = Mode::is_direct ? std::errc::no_space_on_device : std::errc::io_error;

constexpr qio::open_options durably{.durable_writes = true};

/// 0 if a write of each mode, blocking or on a worker, is durable by request: it fails where the device does not store
/// it, while other writes succeed, and later syncs fail.
template <class Mode>
int fails_by_request(fault::full_device& device, bool blocking) {
  auto block = qio::aligned_buffer::allocate(4096).value();
  std::fill(block.begin(), block.end(), std::byte{7});
  auto context = qio::context::create({.engine = qio::engine_kind::workers}).value();
  auto file = qio::basic_file<Mode>::open(context, device.path(), qio::access::read_write).value();
  if (!Mode::is_direct && !file.write_at(0, block)) return 1;
  if (!Mode::is_direct && !context.run(file.async_write_at(0, block))) return 2;
  const auto written = blocking ? file.write_at(4096, block, {.durable = true})
                                : context.run(file.async_write_at(4096, block, {.durable = true}));
  if (!is_told(written, [&] { return file.sync(); })) return 3;
  return written.error() == refusal<Mode> ? 0 : 4;
}

}  // namespace

TEMPLATE_TEST_CASE("after a failed sync all later ones fail, even if the device works again", "", qio::cached,
                   qio::mapped) {
  fault::full_device device;
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  const auto open = [&] { return qio::basic_file<TestType>::open(device.path(), qio::access::read_write).value(); };
  auto file = open();
  fail_sync(device, file, [&] { return file.sync(); });
  for (const qio::sync_kind kind : every_kind) CHECK(file.sync(kind).error() == std::errc::io_error);
  CHECK(file.write_at(0, std::vector<std::byte>(4096)));
  CHECK(file.sync().error() == std::errc::io_error);
  CHECK(file.close());
  file = open();
  CHECK(file.write_at(0, std::vector<std::byte>(4096)));
  CHECK(file.sync());
}

TEMPLATE_TEST_CASE("after a failed sync on a context all later ones fail, whichever of them blocks", "", qio::cached,
                   qio::mapped) {
  fault::on_every_engine([&](auto& context) {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    auto file = qio::basic_file<TestType>::open(context, device.path(), qio::access::read_write).value();
    auto made_before = file.async_sync();
    fail_sync(device, file, [&] { return context.run(file.async_sync(qio::sync_kind::data)); });
    for (const qio::sync_kind kind : every_kind)
      CHECK(context.run(file.async_sync(kind)).error() == std::errc::io_error);
    CHECK(file.sync().error() == std::errc::io_error);
    CHECK(context.run(file.async_sync()).error().message().find("cannot sync " + device.path() + ": ") == 0);
    const auto told = context.run(std::move(made_before));
    CHECK(told.error() == std::errc::io_error);
  });
  fault::on_every_engine([&](auto& context) {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    auto file = qio::basic_file<TestType>::open(context, device.path(), qio::access::read_write).value();
    fail_sync(device, file, [&] { return file.sync(); });
    CHECK(context.run(file.async_sync()).error() == std::errc::io_error);
  });
}

TEMPLATE_TEST_CASE("after a failed sync of one of several files that share a handle, those of all fail", "",
                   qio::cached, qio::mapped) {
  fault::on_every_engine([&](auto& context) {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    auto file = qio::basic_file<TestType>::open(context, device.path(), qio::access::read_write).value();
    auto before = file.share_with(context).value();
    fail_sync(device, file, [&] { return file.sync(); });
    CHECK(context.run(before.async_sync()).error() == std::errc::io_error);
    auto after = file.share_with(context).value();
    CHECK(after.sync().error() == std::errc::io_error);
  });
}

TEMPLATE_TEST_CASE("of several syncs of a file in flight, all fail if the device does not store what was written", "",
                   qio::cached, qio::mapped) {
  fault::full_device device;
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  fault::on_every_engine([&](auto& context) {
    for (int times = 0; times < 20; ++times) {
      auto file = written_in_vain<TestType>(device, context);
      const auto sync = [&]() -> qio::task<bool> { co_return bool(co_await file.async_sync()); };
      std::vector<qio::task<bool>> all;
      for (int each = 0; each < 4; ++each) all.push_back(sync());
      for (const bool succeeded : context.run(qio::when_all(std::move(all)))) CHECK_FALSE(succeeded);
    }
  });
}

TEMPLATE_TEST_CASE("a durable write fails with the sync that it overlaps, whichever of them gets the error", "",
                   qio::cached, qio::mapped) {
  fault::full_device device;
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  const std::vector<std::byte> block(4096, std::byte{8});
  fault::on_every_engine([&](auto& context) {
    for (int times = 0; times < 50; ++times) {
      auto file = written_in_vain<TestType>(device, context);
      bool synced = true, written = true;
      const auto sync = [&]() -> qio::task<> { synced = bool(co_await file.async_sync()); };
      const auto write = [&]() -> qio::task<> {
        written = bool(co_await file.async_write_at(4096, block, {.durable = true}));
      };
      context.run(qio::when_all(sync(), write()));
      CHECK_FALSE(synced);
      CHECK_FALSE(written);
    }
  });
}

TEMPLATE_TEST_CASE("of the blocking syncs and durable writes of several threads, all fail if one does", "", qio::cached,
                   qio::mapped) {
  fault::full_device device;
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  const std::vector<std::byte> block(4096, std::byte{8});
  auto context = qio::context::create({.engine = qio::engine_kind::workers}).value();
  for (int times = 0; times < 50; ++times) {
    auto file = written_in_vain<TestType>(device, context);
    auto other = file.share_with(context).value();
    std::latch all_ready(3);
    std::atomic<int> succeeded = 0;
    const auto run = [&](auto sync) {
      return std::thread([&, sync] {
        all_ready.arrive_and_wait();
        succeeded += bool(sync());
      });
    };
    std::thread threads[] = {run([&] { return file.sync(); }), run([&] { return other.sync(); }),
                             run([&] { return file.write_at(4096, block, {.durable = true}); })};
    for (std::thread& each : threads) each.join();
    CHECK(succeeded == 0);
  }
}

TEST_CASE("a sync of a device does not run on the context's thread") {
  fault::loop_device device(1 << 20);
  if (!device.missing.empty()) QIO_SKIP(device.missing);
  fault::on_every_engine([&](auto& context) {
    auto file = qio::cached_file::open(context, device.path, qio::access::read_write).value();
    for (int times = 0; times < 3; ++times) CHECK(context.run(file.async_sync()));
    CHECK(file.statistics().served_inline == 0);
  });
}

TEMPLATE_TEST_CASE("a durable write that the device does not store fails, and an ordinary write succeeds", "",
                   qio::cached, qio::direct, qio::mapped) {
  using file_type = qio::basic_file<TestType>;
  auto block = qio::aligned_buffer::allocate(4096).value();
  std::fill(block.begin(), block.end(), std::byte{7});
  const std::vector<qio::const_buffer> vector{qio::const_buffer(block.view(0, 2048)),
                                              qio::const_buffer(block.view(2048, 2048))};
  const auto how = qio::creation::open_existing;
  {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    auto others = qio::basic_file<TestType>::open(device.path(), qio::access::read_write).value();
    if (!TestType::is_direct) CHECK(others.write_at(0, block));
    for (const bool vectored : {false, true}) {
      auto file = file_type::open(device.path(), qio::access::read_write, how, durably).value();
      const auto written = vectored ? file.write_at(4096, vector) : file.write_at(4096, block);
      CHECK(is_told(written, [&] { return file.sync(); }));
      CHECK(written.error() == refusal<TestType>);
    }
    auto file = file_type::open(device.path(), qio::access::read_write, how, durably).value();
    REQUIRE(!file.write_at(4096, block));
    device.make_room();
    CHECK(file.write_at(4096, block));  // the write itself succeeds
    CHECK(file.sync().error() == refusal<TestType>);
  }
  fault::on_every_engine([&](auto& context) {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    for (const bool vectored : {false, true}) {
      auto file = file_type::open(context, device.path(), qio::access::read_write, how, durably).value();
      const auto written = context.run(vectored ? file.async_write_at(4096, vector) : file.async_write_at(4096, block));
      CHECK(is_told(written, [&] { return context.run(file.async_sync()); }));
      CHECK(written.error() == refusal<TestType>);
    }
    device.make_room();
    auto file = file_type::open(context, device.path(), qio::access::read_write, how, durably).value();
    CHECK(context.run(file.async_write_at(4096, block)));
    CHECK(context.run(file.async_sync()));
  });
}

TEMPLATE_TEST_CASE("a write with .durable fails if the device does not store it, and counts as a failed sync", "",
                   qio::cached, qio::direct, qio::mapped) {
  auto block = qio::aligned_buffer::allocate(4096).value();
  std::fill(block.begin(), block.end(), std::byte{7});
  for (const bool blocking : {false, true}) {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    CHECK(fails_by_request<TestType>(device, blocking) == 0);
  }
  fault::on_every_engine([&](auto& context) {
    fault::full_device device;
    auto file = qio::basic_file<TestType>::open(context, device.path(), qio::access::read_write).value();
    if (!TestType::is_direct) CHECK(context.run(file.async_write_at(0, block)));
    const auto written = context.run(file.async_write_at(4096, block, {.durable = true}));
    CHECK(is_told(written, [&] { return context.run(file.async_sync()); }));
    CHECK(written.error() == refusal<TestType>);
  });
}

TEMPLATE_TEST_CASE("where durable writes are refused (an old kernel, a sandbox), the file is synced instead", "",
                   qio::cached, qio::direct, qio::mapped) {
  for (const int code : {ENOSYS, EOPNOTSUPP, EPERM, EINVAL})
    for (const bool blocking : {false, true}) {
      CAPTURE(code, blocking);
      fault::full_device device;
      if (!device.missing.empty()) QIO_SKIP(device.missing);
      CHECK(qio_test::in_child([&] {
              if (!fault::forbid(__NR_pwritev2, code)) return 10;
              return fails_by_request<TestType>(device, blocking);
            }) == 0);
    }
}
