// The kernel's own rules for world-writable directories (Documentation/admin-guide/sysctl/fs.rst). They run in the
// emulated machine, because their settings apply to the whole system.
#include "catch.hpp"
#include <qio/qio.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

using qio::access;
using qio::creation;

constexpr uid_t stranger = 65534;

void switch_to(const char* rule, int value) {
  std::ofstream file(std::string("/proc/sys/fs/") + rule);
  file << value << std::flush;
  REQUIRE(file);
}

/// A sticky world-writable directory, with a file and a pipe of another user.
struct shared_directory {
  shared_directory() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
    REQUIRE(::chmod(path.c_str(), 01777) == 0);
    std::ofstream(path + "/file") << "theirs";
    REQUIRE(::mkfifo((path + "/pipe").c_str(), 0666) == 0);
    for (const char* name : {"/file", "/pipe"}) REQUIRE(::chown((path + name).c_str(), stranger, stranger) == 0);
  }
  ~shared_directory() { std::filesystem::remove_all(path); }

  qio::error open(const char* name, creation how) const {
    const auto opened = qio::cached_file::open(path + name, access::read_write, how);
    return opened ? qio::error() : opened.error();
  }

  std::string path = "/dev/shm/shared";
};

}  // namespace

TEST_CASE("if_needed respects fs.protected_regular and fs.protected_fifos", "[protected]") {
  const shared_directory d;
  for (const int value : {0, 1, 2}) {
    CAPTURE(value);
    switch_to("protected_regular", value);
    switch_to("protected_fifos", value);
    CHECK((d.open("/file", creation::if_needed) == std::errc::permission_denied) == (value != 0));
    const qio::error of_pipe = d.open("/pipe", creation::if_needed);
    CHECK((value == 0 ? of_pipe == qio::errc::no_offsets : of_pipe == std::errc::permission_denied));
    CHECK(!d.open("/own", creation::if_needed).exists());
    CHECK(!d.open("/own", creation::if_needed).exists());
    CHECK(!d.open("/file", creation::open_existing).exists());  // which creates nothing
  }
}

TEST_CASE("always_new applies the rule of fs.protected_symlinks, whatever its setting", "[protected]") {
  const shared_directory d;
  std::ofstream(d.path + "/../victim") << "contents";
  std::filesystem::create_symlink("../victim", d.path + "/link");
  REQUIRE(::lchown((d.path + "/link").c_str(), stranger, stranger) == 0);
  for (const int value : {0, 1}) {
    switch_to("protected_symlinks", value);
    CHECK(d.open("/link", creation::always_new) == std::errc::permission_denied);
    CHECK(std::filesystem::file_size(d.path + "/../victim") == 8);
  }
  std::filesystem::remove(d.path + "/../victim");
}
