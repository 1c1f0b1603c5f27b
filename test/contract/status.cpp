// The status and the attributes of files.
#include "world.hpp"
#include <qio/status.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace contract {

namespace {

using namespace std::chrono_literals;

// Each member, asynchronous if there is an engine.
template <class World>
qio::result<qio::file_status> status_of(World& w, typename World::file& file) {
  if constexpr (World::is_async)
    return w.template run<qio::file_status>([&] { return file.async_status(); });
  else
    return file.status();
}
template <class World>
qio::result<void> set_permissions(World& w, typename World::file& file, std::uint32_t permissions) {
  if constexpr (World::is_async)
    return w.template run<void>([&] { return file.async_set_permissions(permissions); });
  else
    return file.set_permissions(permissions);
}
template <class World>
qio::result<void> set_owner(World& w, typename World::file& file, std::optional<std::uint32_t> owner,
                            std::optional<std::uint32_t> group) {
  if constexpr (World::is_async)
    return w.template run<void>([&] { return file.async_set_owner(owner, group); });
  else
    return file.set_owner(owner, group);
}
template <class World>
qio::result<void> set_times(World& w, typename World::file& file, const qio::file_times& times) {
  if constexpr (World::is_async)
    return w.template run<void>([&] { return file.async_set_times(times); });
  else
    return file.set_times(times);
}

}  // namespace

PROMISE(status, everywhere, "status() of a file has its size, type and times, and follows writes and resizes") {
  auto file = w.with(8192);
  const auto before = status_of(w, file).value();
  CHECK(before.type == qio::file_type::regular);
  CHECK(before.bytes == 8192);
  CHECK(before.links == 1);
  CHECK(before.id.low != 0);
  CHECK(before.modified.time_since_epoch().count() != 0);
  CHECK(before.changed >= before.modified);
  REQUIRE(w.resize(file, 4096));
  const auto after = status_of(w, file).value();
  CHECK(after.bytes == 4096);
  CHECK(after.id == before.id);
  CHECK(after.modified >= before.modified);
  auto other = w.open("other", access::read_write, creation::always_new).value();
  CHECK(status_of(w, other).value().id != before.id);
  CHECK(status_of(w, other).value().bytes == 0);
}

PROMISE(status_closed, everywhere,
        "status() and the changes of attributes of a closed file fail with bad_file_descriptor") {
  auto file = w.with(4096);
  REQUIRE(file.close());
  CHECK(status_of(w, file).error() == std::errc::bad_file_descriptor);
  CHECK(set_permissions(w, file, 0600).error() == std::errc::bad_file_descriptor);
  CHECK(set_owner(w, file, 0u, {}).error() == std::errc::bad_file_descriptor);
  CHECK(set_times(w, file, {}).error() == std::errc::bad_file_descriptor);
}

PROMISE(status_allocated, everywhere_in_the_system, "status() has the allocated space, and the time of creation") {
  auto file = w.with(0);
  REQUIRE(file.resize(1 << 20));
  auto source = memory::with_pattern(0, 65536);
  REQUIRE(w.write(file, 0, source.all()));
  REQUIRE(file.sync());
  const auto found = status_of(w, file).value();
  CHECK(found.bytes == 1 << 20);
  CHECK(found.allocated_bytes >= 65536);
  const auto now = std::chrono::system_clock::now();
  CHECK(found.modified <= now + 1min);
  CHECK(found.modified >= now - 1h);
  if (found.created) CHECK(*found.created <= found.changed);
}

PROMISE(permissions, everywhere_in_the_system, "set_permissions() sets the permission bits, whatever the umask") {
  auto file = w.with(4096);
  REQUIRE(set_permissions(w, file, 0444));
  CHECK((status_of(w, file).value().permissions & 0222) == 0);
  auto source = memory::with_pattern(0, 4096);
  CHECK(w.write(file, 0, source.all()).value() == 4096);  // what is open stays writable
  REQUIRE(set_permissions(w, file, 0666));
  CHECK(status_of(w, file).value().permissions == 0666);
  const auto refused = set_permissions(w, file, 0100644);
  CHECK(refused.error() == errc::invalid_permissions);
  CHECK(refused.error().given() == 0100644);
  CHECK(status_of(w, file).value().permissions == 0666);
}

PROMISE(permissions_reading, everywhere_in_the_system,
        "attributes of a file that is open for reading only can be changed") {
  REQUIRE(w.with(4096).close());
  auto file = w.open("data", access::read, creation::open_existing).value();
  REQUIRE(set_permissions(w, file, 0444));
  CHECK((status_of(w, file).value().permissions & 0222) == 0);
  REQUIRE(set_times(w, file, {.modified = std::chrono::system_clock::time_point(1'000'000s)}));
  CHECK(status_of(w, file).value().modified == qio::file_time(1'000'000s));
  REQUIRE(set_permissions(w, file, 0666));
}

PROMISE(times, everywhere_in_the_system, "set_times() sets each time, or leaves it, or sets that of the call") {
  auto file = w.with(4096);
  // NTFS stores units of 100 ns. One of the times is before 1970.
  const qio::file_time first{1'234'567'890'123'456'700ns}, second{-86'400s + 100ns};
  REQUIRE(set_times(w, file, {.accessed = first, .modified = second}));
  if (!os::is_wine()) CHECK(status_of(w, file).value().accessed == first);
  CHECK(status_of(w, file).value().modified == second);
  REQUIRE(set_times(w, file, {.accessed = second}));
  if (!os::is_wine()) CHECK(status_of(w, file).value().accessed == second);
  CHECK(status_of(w, file).value().modified == second);
  REQUIRE(set_times(w, file, {.modified = first}));
  if (!os::is_wine()) CHECK(status_of(w, file).value().accessed == second);
  CHECK(status_of(w, file).value().modified == first);
  const auto before = std::chrono::system_clock::now();
  REQUIRE(set_times(w, file, {.accessed = qio::time_change::now(), .modified = qio::time_change::now()}));
  CHECK(status_of(w, file).value().accessed >= before - 1s);  // the kernel's clock is coarser
  CHECK(status_of(w, file).value().modified >= before - 1s);
  const auto kept = status_of(w, file).value();
  REQUIRE(set_times(w, file, {}));
  if (!os::is_wine()) CHECK(status_of(w, file).value().accessed == kept.accessed);
  CHECK(status_of(w, file).value().modified == kept.modified);
}

PROMISE(owner, everywhere_in_the_system, "set_owner() sets owner and group, or fails where there are none") {
  auto file = w.with(4096);
  const auto found = status_of(w, file).value();
  const auto changed = set_owner(w, file, found.owner, {});
  if (!changed && changed.error() == std::errc::operation_not_supported) {
    CHECK(found.owner == 0);
    CHECK(found.group == 0);
    return;
  }
  REQUIRE(changed);
  CHECK(status_of(w, file).value().owner == found.owner);
  CHECK(status_of(w, file).value().group == found.group);
  CHECK(set_owner(w, file, ~std::uint32_t(0), {}).error() == std::errc::invalid_argument);
  CHECK(set_owner(w, file, {}, ~std::uint32_t(0)).error() == std::errc::invalid_argument);
  if (found.owner != 0) QIO_SKIP("another owner needs root");
  REQUIRE(set_owner(w, file, 12, {}));
  CHECK(status_of(w, file).value().owner == 12);
  CHECK(status_of(w, file).value().group == found.group);
  REQUIRE(set_owner(w, file, {}, 34));
  CHECK(status_of(w, file).value().owner == 12);
  CHECK(status_of(w, file).value().group == 34);
  REQUIRE(set_owner(w, file, 0, 0));
}

PROMISE(status_of_path, each_engine, "async_status() returns the status of the file that a path leads to") {
  REQUIRE(w.with(4096).close());
  const auto found = w.context->run(qio::async_status(*w.context, w.where / "data")).value();
  CHECK(found.type == qio::file_type::regular);
  CHECK(found.bytes == 4096);
  auto opened = w.open("data", access::read, creation::open_existing).value();
  CHECK(found.id == opened.status().value().id);
  const auto missing = w.context->run(qio::async_status(*w.context, w.where / "missing"));
  CHECK(missing.error() == std::errc::no_such_file_or_directory);
  CHECK(missing.error().message().starts_with("cannot read the status of " + w.where.path() + "/missing: "));
  CHECK(w.context->run(qio::async_status(*w.context, std::string("a\0b", 3))).error() == errc::null_in_path);
}

namespace {

using simulated_only = decltype(cached_ones(static_cast<simulated*>(nullptr)));

}  // namespace

PROMISE(simulated_attributes, simulated_only, "attributes of simulated files cannot be changed") {
  auto file = w.with(4096);
  CHECK(set_permissions(w, file, 0600).error() == std::errc::operation_not_supported);
  CHECK(set_owner(w, file, 0u, {}).error() == std::errc::operation_not_supported);
  CHECK(set_times(w, file, {.modified = qio::time_change::now()}).error() == std::errc::operation_not_supported);
}

TEST_CASE("status() of a directory has its type, and fails for what does not exist") {
  const qio_test::directory where;
  CHECK(qio::status(where.path()).value().type == qio::file_type::directory);
  CHECK(qio::status(where / "missing").error() == std::errc::no_such_file_or_directory);
  CHECK(qio::status(std::string("a\0b", 3)).error() == errc::null_in_path);
}

}  // namespace contract
