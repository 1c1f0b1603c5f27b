// What files request from Windows when they are opened, and syncs that fail.
#include "catch.hpp"
#include "world.hpp"

using namespace contract;

TEMPLATE_TEST_CASE("only a file opened for durable writes writes through", "", qio::cached, qio::direct, qio::mapped) {
  const directory where;
  for (const bool durable : {true, false})
    for (const creation how : {creation::always_new, creation::open_existing}) {
      auto file = qio::basic_file<TestType>::open(where / "file", access::read_write, how, {.durable_writes = durable});
      REQUIRE(file);
      const std::lock_guard lock(shim::mutex);
      CHECK(shim::handles[file.value().native_handle()].writes_through == durable);
    }
}

TEMPLATE_TEST_CASE(
    "a write of a file opened for durable writes ends with a flush, unless it bypasses the cache on NTFS", "",
    qio::cached, qio::direct, qio::mapped) {
  const directory where;
  auto context = qio::context::create().value();
  memory block(4096);
  for (const wchar_t* const system : {L"NTFS", L"exFAT"}) {
    shim::now.file_system = system;
    auto file = qio::basic_file<TestType>::open(context, where / "file", access::read_write, creation::always_new,
                                                {.durable_writes = true})
                    .value();
    shim::now.file_system = nullptr;
    const bool flushes = !TestType::is_direct || std::wstring_view(system) != L"NTFS";
    const auto flushes_of = [&](auto&& write) {
      shim::now.full_flushes = 0;
      const auto by_workers = file.statistics().served_by_worker;
      CHECK(write().value() == 4096);
      CHECK(shim::now.full_flushes == (flushes ? 1 : 0));
      return file.statistics().served_by_worker - by_workers;
    };
    flushes_of([&] { return file.write_at(0, block.all()); });
    const auto asynchronous = [&] { return context.run(file.async_write_at(0, block.all())); };
    flushes_of(asynchronous);  // by a worker, which learns how far the valid data reaches
    CHECK(flushes_of(asynchronous) == (flushes ? 1 : 0));
    CHECK(file.explain().find("durable writes")->reason.empty() == !flushes);
  }
}

TEMPLATE_TEST_CASE(
    "a flush that fails after a write of a file opened for durable writes fails that write and all syncs", "",
    qio::cached, qio::mapped) {
  const directory where;
  auto context = qio::context::create().value();
  memory block(4096);
  for (const bool blocking : {true, false}) {
    auto file = qio::basic_file<TestType>::open(context, where / "file", access::read_write, creation::always_new,
                                                {.durable_writes = true})
                    .value();
    shim::fail_next(shim::call::flush, ERROR_IO_DEVICE);
    const auto written = blocking ? file.write_at(0, block.all()) : context.run(file.async_write_at(0, block.all()));
    REQUIRE(!written);
    CHECK(written.error() == std::errc::io_error);
    CHECK(file.sync().error() == std::errc::io_error);
  }
}

TEMPLATE_TEST_CASE("the order in which a file will be read is a flag for Windows", "", qio::cached, qio::direct,
                   qio::mapped) {
  const directory where;
  const std::pair<qio::access_pattern, DWORD> all[] = {{qio::access_pattern::normal, 0},
                                                       {qio::access_pattern::random, FILE_FLAG_RANDOM_ACCESS},
                                                       {qio::access_pattern::sequential, FILE_FLAG_SEQUENTIAL_SCAN}};
  for (const auto& [pattern, flag] : all) {
    auto file =
        qio::basic_file<TestType>::open(where / "file", access::read_write, creation::if_needed, {.pattern = pattern});
    REQUIRE(file);
    const std::lock_guard lock(shim::mutex);
    CHECK(shim::handles[file.value().native_handle()].pattern == flag);
  }
}

TEMPLATE_TEST_CASE("after a failed sync all later ones fail", "", qio::cached, qio::direct, qio::mapped) {
  const directory where;
  auto context = qio::context::create().value();
  auto file =
      qio::basic_file<TestType>::open(context, where / "file", access::read_write, creation::always_new).value();
  CHECK(file.sync());
  shim::fail_next(shim::call::flush, ERROR_IO_DEVICE);
  CHECK(context.run(file.async_sync()).error() == std::errc::io_error);
  CHECK(context.run(file.async_sync()).error() == std::errc::io_error);
  CHECK(file.sync().error() == std::errc::io_error);
  CHECK(file.close());
}

TEMPLATE_TEST_CASE("after a failed durable write all later syncs fail", "", qio::cached, qio::direct, qio::mapped) {
  const directory where;
  memory block(4096);
  for (const bool durable : {true, false}) {
    auto file = qio::basic_file<TestType>::open(where / "file", access::read_write, creation::always_new,
                                                {.durable_writes = durable})
                    .value();
    shim::fail_next(shim::call::transfer, ERROR_IO_DEVICE);
    CHECK(file.write_at(4096, block.all()).error() == std::errc::io_error);
    CHECK(file.sync().has_value() == !durable);
  }
}

TEMPLATE_TEST_CASE("a sync of data flushes no more, where Windows can do that", "", qio::cached, qio::direct,
                   qio::mapped) {
  const directory where;
  auto file = qio::basic_file<TestType>::open(where / "file", access::read_write, creation::always_new).value();
  const auto flushes = [&](qio::sync_kind kind) {
    shim::now.data_flushes = 0;
    shim::now.full_flushes = 0;
    CHECK(file.sync(kind));
    return std::pair(shim::now.data_flushes.load(), shim::now.full_flushes.load());
  };
  const auto unsupported = shim::now.data_flush.load();
  using qio::sync_kind;
  CHECK(flushes(sync_kind::data) == std::pair(1u, 1u));
  shim::now.data_flush = 0;
  CHECK(flushes(sync_kind::data) == std::pair(1u, 0u));
  CHECK(flushes(sync_kind::data_and_size) == std::pair(1u, 0u));
  CHECK(flushes(sync_kind::everything) == std::pair(0u, 1u));
  shim::now.data_flush = unsupported;
}

TEST_CASE("a failed flush of data is an error, not a reason to try another flush, and it is sticky") {
  const directory where;
  auto file = qio::cached_file::open(where / "file", access::read_write, creation::always_new).value();
  const auto unsupported = shim::now.data_flush.load();
  shim::now.full_flushes = 0;
  shim::now.data_flush = static_cast<LONG>(0xc0000185);  // STATUS_IO_DEVICE_ERROR
  const auto failed = file.sync(qio::sync_kind::data);
  shim::now.data_flush = unsupported;
  REQUIRE(!failed);
  CHECK(failed.error() == std::errc::io_error);
  CHECK(failed.error().code().value() == ERROR_IO_DEVICE);
  CHECK(file.sync().error() == std::errc::io_error);
  CHECK(shim::now.full_flushes == 0);
}

TEST_CASE("a view that cannot be flushed because Windows writes its pages is flushed again, for a time") {
  const directory where;
  auto file = qio::mapped_file::open(where / "file", access::read_write, creation::always_new).value();
  memory block(4096);
  REQUIRE(file.write_at(0, block.all()).value() == 4096);
  REQUIRE(file.view(0, 4096));
  shim::now.sleeps = 0;
  shim::fail_next(shim::call::flush_view, ERROR_LOCK_VIOLATION, 3);
  CHECK(file.sync());
  CHECK(shim::now.sleeps == 3);
  shim::fail_next(shim::call::flush_view, ERROR_IO_DEVICE);
  CHECK(file.sync().error() == std::errc::io_error);
  CHECK(shim::now.sleeps == 3);

  auto other = qio::mapped_file::open(where / "file", access::read_write, creation::open_existing).value();
  shim::fail_next(shim::call::flush_view, ERROR_LOCK_VIOLATION, 1000);
  const auto refused = other.sync();
  shim::fail_next(shim::call::flush_view, 0);
  REQUIRE(!refused);
  CHECK(refused.error().code().value() == ERROR_LOCK_VIOLATION);
}

TEMPLATE_TEST_CASE("files without a context have overlapped handles, on which threads run concurrently", "",
                   qio::cached, qio::direct, qio::mapped) {
  const directory where;
  auto file = qio::basic_file<TestType>::open(where / "file", access::read_write, creation::always_new).value();
  const std::lock_guard lock(shim::mutex);
  CHECK(shim::handles[file.native_handle()].is_overlapped);
}
