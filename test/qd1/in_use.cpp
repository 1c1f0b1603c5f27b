// SPDX-License-Identifier: BSL-1.0
// With --overwrite, too, qd1 writes to nothing that somebody else uses, and believes no mark of somebody else.
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "mounts.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using os::shell;

const std::string overwriting = " --overwrite --modes cached" + brief;

// Held by this process, which is another one for the qd1 that it starts.
struct opened {
  int handle;
  opened(const fs::path& path, int flags) : handle(::open(path.c_str(), flags | O_CLOEXEC)) { REQUIRE(handle >= 0); }
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;
  ~opened() { ::close(handle); }

  bool lock(int how, short type) const {
    struct flock part {};
    part.l_type = type;
    part.l_whence = SEEK_SET;
    part.l_start = 4096;
    part.l_len = 1;
    return ::fcntl(handle, how, &part) == 0;
  }
};

TEST_CASE("a file that somebody else has locked or opened for writing is not overwritten") {
  const directory here;
  const fs::path data = here.path / "data";
  std::ofstream(data) << std::string(1 << 20, 'd') << std::flush;
  const std::string before = contents(data);
  const auto refusal = [&] {
    const outcome found = run_qd1(here, "run data" + overwriting);
    CHECK(contents(data) == before);
    return found.status == 2 ? found.err : "exit status " + std::to_string(found.status);
  };
  const auto is_locked = Contains("data: not overwritten: another process holds a lock on it");
  const auto is_written = Contains("data: not overwritten: another process has it open for writing");
  {
    const opened other(data, O_RDWR);
    CHECK_THAT(refusal(), is_written);
  }
  {
    const opened other(data, O_RDONLY);
    REQUIRE(::flock(other.handle, LOCK_SH) == 0);
    CHECK_THAT(refusal(), is_locked);
  }
  for (const int how : {F_SETLK, F_OFD_SETLK}) {
    const opened other(data, O_RDONLY);
    REQUIRE(other.lock(how, F_RDLCK));
    CHECK_THAT(refusal(), is_locked);
  }
  const opened reader(data, O_RDONLY);  // is no harm
  CHECK(run_qd1(here, "run data" + overwriting).status == 0);
  CHECK(contents(data) != before);
}

TEST_CASE("a device that somebody else has opened for writing, or shows as another, is not overwritten") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const directory here;
  const fs::path image = here.path / "image", told = here.path / "device";
  std::ofstream(image) << std::string(1 << 20, 'd') << std::flush;
  const auto attach = [&](const fs::path& to) -> std::string {
    if (!shell("losetup -f --show '" + to.string() + "' | tee '" + told.string() + "' | grep .")) return {};
    std::string name;
    std::ifstream(told) >> name;
    return name;
  };
  const std::string device = attach(image);
  if (device.empty()) QIO_SKIP("no loop device can be set up");
  const auto refusal = [&] {
    const outcome found = run_qd1(here, "run " + device + overwriting);
    return found.status == 2 ? found.err : "exit status " + std::to_string(found.status);
  };
  {
    const opened other(device, O_RDWR);
    CHECK_THAT(refusal(), Contains("not overwritten: another process has it open for writing"));
  }
  if (const std::string second = attach(device); !second.empty()) {
    CHECK_THAT(refusal(), Contains("not overwritten: it is what lies behind " + second.substr(5)));
    shell("losetup -d " + second);
  }
  CHECK(contents(device) == std::string(1 << 20, 'd'));
  CHECK(run_qd1(here, "run " + device + overwriting).status == 0);
  shell("losetup -d " + device);
}

TEST_CASE("no report is written to a device, nor into the file behind one") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const directory here;
  const fs::path image = here.path / "image", told = here.path / "device";
  std::ofstream(image) << std::string(1 << 20, 'd') << std::flush;
  if (!shell("losetup -f --show '" + image.string() + "' | tee '" + told.string() + "' | grep ."))
    QIO_SKIP("no loop device can be set up");
  std::string device;
  std::ifstream(told) >> device;
  const std::string reads = " --modes cached --ops read" + brief;
  const auto refusal = [&](const std::string& arguments) {
    const outcome found = run_qd1(here, arguments + reads);
    return found.status == 2 ? found.err : "exit status " + std::to_string(found.status);
  };
  CHECK_THAT(refusal("run --json " + device), Contains("cannot be written: it is a device; name a file"));
  CHECK_THAT(refusal("run " + device + " --json " + device), Contains("would replace what PATH names"));
  CHECK_THAT(refusal("run " + device + " --json image"), Contains("image: cannot be written: it is the file behind"));
  CHECK(contents(image) == std::string(1 << 20, 'd'));
  shell("losetup -d " + device);
  CHECK(run_qd1(here, "run --json /dev/null --html /dev/null" + reads).status == 0);
}

TEST_CASE("a file of the same number on another device is another file") {
  mounts here;
  for (const char* each : {"one", "other"})
    if (!here.add("-t tmpfs none", here.path / each)) QIO_SKIP("tmpfs cannot be mounted");
  const fs::path one = here.path / "one/data", other = here.path / "other/data";
  for (const fs::path& each : {one, other}) std::ofstream(each) << std::string(1 << 20, 'd') << std::flush;
  struct stat first, second;
  REQUIRE(::stat(one.c_str(), &first) == 0);
  REQUIRE(::stat(other.c_str(), &second) == 0);
  if (first.st_ino != second.st_ino) QIO_SKIP("file systems in memory number their files differently here");
  CHECK(qd1::platform::file_identity(one.string()) != qd1::platform::file_identity(other.string()));
  CHECK(run_qd1(here, "run one/data --modes cached --ops read --json other/data" + brief).status == 0);
}

struct interrupted_here {
  interrupted_here() { qd1::detail::interrupt_requested = true; }
  interrupted_here(const interrupted_here&) = delete;
  interrupted_here& operator=(const interrupted_here&) = delete;
  ~interrupted_here() { qd1::detail::interrupt_requested = false; }
};

TEST_CASE("a mark that says that qd1 has not finished a file makes qd1 remove nothing") {
  const directory here;
  const fs::path data = here.path / "data";
  std::ofstream(data) << std::string(1 << 20, 'd') << std::flush;
  qd1::platform::mark_as_unfinished(data.string(), 1 << 20);
  if (!qd1::platform::is_unfinished(data.string())) QIO_SKIP("the file system keeps no marks");
  {
    const interrupted_here now;
    const qd1::data_file_request request{.path = data.string(), .bytes = 1 << 20, .overwrite = true};
    CHECK_THROWS_WITH(qd1::data_file(request), Contains("interrupted") && !Contains("removed"));
  }
  CHECK(fs::exists(data));
}

TEST_CASE("the mark of an unfinished file counts on none that others may write to, that is larger, or a copy") {
  const directory here;
  const std::string data = (here.path / "data").string();
  std::ofstream(data) << std::string(4096, 'd') << std::flush;
  const auto is_believed = [&] { return qd1::platform::is_unfinished(data); };
  qd1::platform::mark_as_unfinished(data, 4096);
  if (!is_believed()) QIO_SKIP("the file system keeps no marks");
  REQUIRE(::chmod(data.c_str(), 0666) == 0);
  CHECK_FALSE(is_believed());
  REQUIRE(::chmod(data.c_str(), 0644) == 0);
  CHECK(is_believed());
  if (::geteuid() == 0) {
    REQUIRE(::chown(data.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(is_believed());
    REQUIRE(::chown(data.c_str(), 0, 0) == 0);
  }
  fs::create_hard_link(data, here.path / "second");
  CHECK_FALSE(is_believed());
  fs::remove(here.path / "second");
  std::ofstream(data, std::ios::app) << 'x';
  CHECK_FALSE(is_believed());
  fs::resize_file(data, 100);
  CHECK(is_believed());
  const std::string copy = (here.path / "copy").string();
  if (shell("cp --preserve=xattr '" + data + "' '" + copy + "'")) CHECK_FALSE(qd1::platform::is_unfinished(copy));
}

}  // namespace
