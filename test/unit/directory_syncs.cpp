// Which directories a durable change of names syncs.
#include "catch.hpp"
#include "directory.hpp"
#include <qio/names.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace {

std::vector<std::string> synced;  // what this program has passed to fsync

}  // namespace

// In the place of the C library's, which makes the same system call.
extern "C" int fsync(int handle) {
  synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(handle)).string());
  return static_cast<int>(::syscall(SYS_fsync, handle));
}

namespace {

TEST_CASE("create_directory() makes the parents durable that an interrupted call has created") {
  const qio_test::directory where;
  const std::string root = std::filesystem::canonical(where / ".").string();
  const auto create = [&] {
    synced.clear();
    return qio::create_directory(root + "/a/b/c", {.parents = true, .durable = true}).value();
  };
  const auto has_synced = [&](const std::string& path) {
    return std::find(synced.begin(), synced.end(), path) != synced.end();
  };
  std::filesystem::create_directories(root + "/a/b");  // and the process was killed
  for (const bool is_first : {true, false}) {
    CHECK(create() == is_first);
    for (const char* const each : {"", "/a", "/a/b"}) CHECK(has_synced(root + each));
  }
  CHECK(qio::remove_directory(root + "/a/b/c", {.durable = true}).value());
}

}  // namespace
