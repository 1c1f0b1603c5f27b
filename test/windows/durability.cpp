// That durable writes are requested from Windows, and syncs that fail.
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
