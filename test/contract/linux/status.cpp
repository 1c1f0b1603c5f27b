// The status of what only Linux has, and of files that a shared_file has closed.
#include "../world.hpp"
#include <qio/shared_file.hpp>
#include <qio/status.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

namespace contract {

PROMISE(status_ended, each_mode, "status() and changes of attributes fail once a shared_file has closed the file") {
  REQUIRE(w.with(4096).close());
  auto table = qio::shared_file<typename Where::mode>::open(w.where / "data", access::read_write).value();
  auto context = qio::context::create().value();
  auto blocking = table.open_blocking().value();
  auto mine = table.open_on(context).value();
  CHECK(blocking.status().value().bytes == 4096);
  REQUIRE(table.close());
  CHECK(blocking.status().error() == std::errc::bad_file_descriptor);
  CHECK(blocking.set_permissions(0600).error() == std::errc::bad_file_descriptor);
  CHECK(blocking.set_owner(0u).error() == std::errc::bad_file_descriptor);
  CHECK(blocking.set_times({.modified = qio::time_change::now()}).error() == std::errc::bad_file_descriptor);
  CHECK(context.run(mine.async_status()).error() == std::errc::bad_file_descriptor);
  CHECK(context.run(mine.async_set_permissions(0600)).error() == std::errc::bad_file_descriptor);
}

TEST_CASE("status() reports what stat() reports") {
  const qio_test::directory where;
  auto file = qio::cached_file::open(where / "file", access::read_write, creation::always_new).value();
  REQUIRE(file.write_at(0, std::as_bytes(std::span("abc", 3))));
  REQUIRE(::link((where / "file").c_str(), (where / "second").c_str()) == 0);
  REQUIRE(file.set_permissions(04751));
  struct stat expected {};
  REQUIRE(::stat((where / "second").c_str(), &expected) == 0);
  for (const qio::file_status& found : {file.status().value(), qio::status(where / "file").value()}) {
    CHECK(found.type == qio::file_type::regular);
    CHECK(found.permissions == 04751);
    CHECK(found.bytes == 3);
    CHECK(found.allocated_bytes == static_cast<std::uint64_t>(expected.st_blocks) * 512);
    CHECK(found.owner == expected.st_uid);
    CHECK(found.group == expected.st_gid);
    CHECK(found.links == 2);
    CHECK(found.id.device == expected.st_dev);
    CHECK(found.id.low == expected.st_ino);
    CHECK(found.id.high == 0);
    const auto time = [](const struct timespec& stamp) {
      return qio::file_time(std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec));
    };
    CHECK(found.accessed == time(expected.st_atim));
    CHECK(found.modified == time(expected.st_mtim));
    CHECK(found.changed == time(expected.st_ctim));
  }
}

TEST_CASE("status() tells the types of files apart") {
  const qio_test::directory where;
  REQUIRE(::mkfifo((where / "pipe").c_str(), 0600) == 0);
  REQUIRE(::symlink("missing", (where / "link").c_str()) == 0);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un name {};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, (where / "socket").c_str(), sizeof name.sun_path - 1);
  REQUIRE(::bind(made, reinterpret_cast<const struct sockaddr*>(&name), sizeof name) == 0);
  ::close(made);
  const auto type = [&](const std::string& path) { return qio::status(path, {.follow_links = false}).value().type; };
  CHECK(type(where / "pipe") == qio::file_type::pipe);
  CHECK(type(where / "socket") == qio::file_type::socket);
  CHECK(type(where / "link") == qio::file_type::symbolic_link);
  CHECK(type("/dev/null") == qio::file_type::character_device);
  CHECK(qio::status(where / "link").error() == std::errc::no_such_file_or_directory);
  CHECK(qio::status(where / "link", {.follow_links = false}).value().bytes == 7);
}

TEST_CASE("status() beneath a directory does not leave it") {
  const qio_test::directory where;
  REQUIRE(::mkdir((where / "inner").c_str(), 0700) == 0);
  put(where / "inner/file", "abc");
  put(where / "outside", "abcdef");
  REQUIRE(::symlink("../outside", (where / "inner/out").c_str()) == 0);
  REQUIRE(::symlink("file", (where / "inner/in").c_str()) == 0);
  auto beneath = qio::directory::open(where / "inner");
  if (!beneath) QIO_SKIP(beneath.error().message());
  const qio::status_options within{.beneath = &beneath.value()};
  CHECK(qio::status("file", within).value().bytes == 3);
  CHECK(qio::status("in", within).value().bytes == 3);
  CHECK(qio::status("out", within).error() == errc::leaves_directory);
  CHECK(qio::status("../outside", within).error() == errc::leaves_directory);
  const qio::status_options link{.beneath = &beneath.value(), .follow_links = false};
  CHECK(qio::status("out", link).value().type == qio::file_type::symbolic_link);
  auto context = qio::context::create().value();
  CHECK(context.run(qio::async_status(context, "out", within)).error() == errc::leaves_directory);
  CHECK(context.run(qio::async_status(context, "in", within)).value().bytes == 3);
}

TEST_CASE("times beyond what a file_time holds are the first or the last") {
  const auto time = [](std::int64_t seconds, std::uint32_t nanoseconds) {
    struct statx_timestamp stamp {};
    stamp.tv_sec = seconds;
    stamp.tv_nsec = nanoseconds;
    return qio::platform::time_of(stamp);
  };
  CHECK(time(-1, 999'999'999) == qio::file_time(std::chrono::nanoseconds(-1)));
  CHECK(time(9'223'372'036, 999'999'999) == qio::file_time::max());
  CHECK(time(15'032'385'535, 0) == qio::file_time::max());  // the last of ext4: 2446
  CHECK(time(-9'223'372'037, 0) == qio::file_time::min());
  CHECK(time(9'223'372'035, 999'999'999).time_since_epoch().count() == 9'223'372'035'999'999'999);
}

}  // namespace contract
