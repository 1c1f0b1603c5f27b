// open_options::beneath where the kernel is too old to enforce it, or a sandbox forbids it.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "forbid.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace {

constexpr long openat2_number = 437;

using qio::creation;

qio::result<qio::cached_file> open_beneath(const qio::directory& beneath, creation how) {
  return qio::cached_file::open("file", qio::access::read_write, how, {.beneath = &beneath});
}

/// 0 if opening a file beneath the directory `path` fails with `why`, and creates nothing.
int is_refused_everywhere(const std::string& path, const qio::directory& opened_before, qio::errc why) {
  const auto refused = qio::directory::open(path);
  if (refused || refused.error() != why) return 10;
  int number = 11;
  for (const auto how :
       {creation::open_existing, creation::if_needed, creation::only_if_missing, creation::always_new}) {
    const auto file = open_beneath(opened_before, how);
    if (file || file.error() != why) return number;
    ++number;
  }
  return ::access((path + "/file").c_str(), F_OK) == 0 ? 20 : 0;
}

}  // namespace

TEST_CASE("if a sandbox hides or forbids openat2, an open beneath a directory fails, and the error says why") {
  const fault::scratch directory;
  const auto before = qio::directory::open(directory.path);
  if (!before) QIO_SKIP(before.error().message());
  for (const int code : {ENOSYS, EPERM}) {
    CAPTURE(code);
    CHECK(qio_test::in_child([&] {
            if (!fault::forbid(openat2_number, code)) return 1;
            return is_refused_everywhere(directory.path, before.value(), qio::errc::beneath_forbidden);
          }) == 0);
  }
  CHECK(qio::error(qio::errc::beneath_forbidden).message().find("seccomp") != std::string::npos);
}

TEST_CASE("a kernel that is too old for openat2 is distinguished from a sandbox that hides it") {
  const fault::scratch directory;
  const auto before = qio::directory::open(directory.path);
  if (!before) QIO_SKIP(before.error().message());
  CHECK(qio_test::in_child([&] {
          // The kernel then reports a version 2.6.
          if (::personality(UNAME26) == -1 || !fault::forbid(openat2_number, ENOSYS)) return 1;
          return is_refused_everywhere(directory.path, before.value(), qio::errc::beneath_not_supported);
        }) == 0);
  CHECK(qio::error(qio::errc::beneath_not_supported).message().find("Linux 5.6") != std::string::npos);
}

TEST_CASE("an open in an immutable directory fails with the system's error, not with beneath_forbidden") {
  const fault::scratch directory;
  const std::string path = directory.path + "/file";
  { REQUIRE(qio::cached_file::open(path, qio::access::write, creation::if_needed)); }
  const auto beneath = qio::directory::open(directory.path);
  if (!beneath) QIO_SKIP(beneath.error().message());
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int immutable = FS_IMMUTABLE_FL, nothing = 0;
  const bool is_immutable = ::ioctl(handle, FS_IOC_SETFLAGS, &immutable) == 0;
  const auto refused = open_beneath(beneath.value(), creation::open_existing);
  if (is_immutable) ::ioctl(handle, FS_IOC_SETFLAGS, &nothing);
  ::close(handle);
  if (!is_immutable) QIO_SKIP("needs root, and a file system with immutable files");
  REQUIRE(!refused);
  CHECK(refused.error() == std::errc::operation_not_permitted);
  CHECK(!refused.error().is_qio());
}
