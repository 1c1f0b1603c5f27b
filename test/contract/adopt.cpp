// Handles that the program opened itself: adopt() and release().
#include "adopt.hpp"

#include <string>
#include <type_traits>

namespace contract {

PROMISE(adopted, everywhere_in_the_system, "a file that adopted a handle transfers like any other, and closes it") {
  REQUIRE(w.with(8192).close());
  const auto handle = raw(w);
  {
    auto file = adopt(w, handle).value();
    CHECK(file.native_handle() == handle);
    CHECK(file.is_direct() == Where::mode::is_direct);
    memory block(4096);
    CHECK(w.read(file, 4096, block.all()).value() == 4096);
    CHECK(holds_pattern(block.all(), 4096));
    CHECK(w.write(file, 8192, memory::with_pattern(8192, 4096).all()).value() == 4096);
    CHECK(w.sync(file, qio::sync_kind::everything));
    CHECK(w.read(file, 8192, block.all()).value() == 4096);
    CHECK(holds_pattern(block.all(), 8192));
    CHECK(file.size().value() == 12288);
  }
  CHECK(!os::is_open_file(handle));
}

PROMISE(adopted_access, everywhere_in_the_system, "an adopted handle keeps its access, and modes that read need it") {
  REQUIRE(w.with(4096).close());
  memory block(4096);
  os::raw_open how = suitable<world<Where>>();
  how.access = access::read;
  auto reader = adopt(w, raw(w, how)).value();
  CHECK(w.read(reader, 0, block.all()).value() == 4096);
  CHECK(w.write(reader, 0, block.all()).error() == errc::access_not_granted);

  how.access = access::write;
  const auto write_only = raw(w, how);
  auto writer = adopt(w, write_only);
  if (Where::mode::is_mapped || std::is_same_v<typename Where::mode, qio::uncached>) {
    CHECK(writer.error() == errc::access_not_granted);
    CHECK(os::is_open(write_only));
    os::close(write_only);
  } else {
    CHECK(w.write(writer.value(), 0, block.all()).value() == 4096);
    CHECK(w.read(writer.value(), 0, block.all()).error() == errc::access_not_granted);
  }
}

PROMISE(adopted_durable, everywhere_in_the_system, "writes of an adopted handle are durable if the handle says so") {
  REQUIRE(w.with(4096).close());
  os::raw_open durable = suitable<world<Where>>();
  durable.durable = true;
  CHECK(adopt(w, raw(w)).value().explain().find("durable writes")->value == "off");
  CHECK(adopt(w, raw(w, durable)).value().explain().find("durable writes")->value == "on");
  CHECK(adopt(w, raw(w, durable), {.durable_writes = true}).value().explain().find("durable writes")->value == "on");
  CHECK(refusal(w, raw(w), {.durable_writes = true}) == errc::handle_is_not_durable);
}

PROMISE(not_adopted, everywhere_in_the_system, "what adopt() refuses stays open, unchanged, and the error says why") {
  REQUIRE(w.with(4096).close());
  os::raw_open appends = suitable<world<Where>>();
  appends.appends = true;
  CHECK(refusal(w, raw(w, appends)) == errc::handle_appends);
  appends.access = access::read;
  CHECK(adopt(w, raw(w, appends)));

  os::raw_open other = suitable<world<Where>>();
  other.direct = !other.direct;
  const auto of_other_mode = os::open_raw(w.where / "data", other);
  if (of_other_mode != qio::platform::invalid_handle)
    CHECK(refusal(w, of_other_mode) == (Where::mode::is_direct ? errc::handle_is_not_direct : errc::handle_is_direct));
  CHECK(adopt(w, qio::platform::invalid_handle).error() == std::errc::bad_file_descriptor);
}

PROMISE(adopted_fallback, everywhere_in_the_system,
        "a direct file adopts a handle that uses the cache if it may use the cache") {
  if (!Where::mode::is_direct) return;
  REQUIRE(w.with(4096).close());
  os::raw_open cached = suitable<world<Where>>();
  cached.direct = false;
  const auto file = adopt(w, raw(w, cached), {.fallback = qio::if_unavailable::use_cache});
  REQUIRE(file);
  CHECK(!file.value().is_direct());
  CHECK(file.value().explain().find("direct")->reason == qio::error(errc::handle_is_not_direct).message());
}

PROMISE(released, everywhere_in_the_system, "release() returns the open handle, which another file may adopt") {
  auto file = w.with(4096);
  const auto handle = file.native_handle();
  memory block(4096);
  CHECK(w.read(file, 0, block.all()).value() == 4096);
  if (Where::is_async && os::binds_handles) {
    CHECK(file.release().error() == errc::cannot_be_released);
    CHECK(w.read(file, 0, block.all()).value() == 4096);
    return;
  }
  REQUIRE(file.release().value() == handle);
  CHECK(!file.is_open());
  CHECK(file.release().error() == std::errc::bad_file_descriptor);
  REQUIRE(os::is_open(handle));
  auto next = adopt(w, handle).value();
  CHECK(w.read(next, 0, block.all()).value() == 4096);
  CHECK(holds_pattern(block.all(), 0));
}

PROMISE(not_adopted_by_simulation, simulated, "a simulated file cannot adopt a handle") {
  auto file = w.with(4096);
  const auto refused = qio::basic_file<typename Where::mode>::adopt(*w.context, file.native_handle());
  CHECK(refused.error() == errc::adopt_not_supported);
  memory block(4096);
  CHECK(w.read(file, 0, block.all()).value() == 4096);
}

}  // namespace contract
