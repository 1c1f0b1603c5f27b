// What is durable, and what is not any more, where a device cannot store what it is given.
#include "catch.hpp"
#include "disk.hpp"
#include "engines.hpp"
#include <qio/qio.hpp>

#include <unistd.h>

#include <optional>
#include <vector>

namespace {

constexpr auto every_kind = {qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything};

/// A file whose last sync has failed: writes, syncs by `sync`, and makes room for what was written.
template <class File, class Sync>
void fail_sync(fault::full_device& device, File& file, Sync sync) {
  const std::vector<std::byte> data(64 * 1024, std::byte{7});
  REQUIRE(file.write_at(0, data));  // accepted …
  REQUIRE(sync().error() == std::errc::io_error);
  CHECK(::fsync(file.native_handle()) == 0);  // … and forgotten, by the kernel
  device.make_room();
}

}  // namespace

TEMPLATE_TEST_CASE("a sync that failed is the answer of all later ones, though the device is well again", "",
                   qio::cached, qio::mapped) {
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

TEMPLATE_TEST_CASE("so it is on a context, whichever of the syncs blocks", "", qio::cached, qio::mapped) {
  fault::on_every_engine([&](auto& context) {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    auto file = qio::basic_file<TestType>::open(context, device.path(), qio::access::read_write).value();
    auto made_before = file.async_sync();
    fail_sync(device, file, [&] { return context.run(file.async_sync(qio::sync_kind::data)); });
    for (const qio::sync_kind kind : every_kind)
      CHECK(context.run(file.async_sync(kind)).error() == std::errc::io_error);
    CHECK(file.sync().error() == std::errc::io_error);
    CHECK(context.run(std::move(made_before)).error() == std::errc::io_error);
  });
  fault::on_every_engine([&](auto& context) {
    fault::full_device device;
    if (!device.missing.empty()) QIO_SKIP(device.missing);
    auto file = qio::basic_file<TestType>::open(context, device.path(), qio::access::read_write).value();
    fail_sync(device, file, [&] { return file.sync(); });
    CHECK(context.run(file.async_sync()).error() == std::errc::io_error);
  });
}
