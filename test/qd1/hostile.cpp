// SPDX-License-Identifier: BSL-1.0
// Somebody else, who exchanges the files that qd1 measures on and writes to.
#include "failure.hpp"
#include "machine/direct.hpp"
#include "measure/data_file.hpp"
#include "output/text_file.hpp"
#include "platform/queue_setting.hpp"
#include "program.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using os::shell;

constexpr uid_t stranger = 65534;

qd1::data_file_request request_for(const fs::path& path, bool overwrite = false) {
  qd1::data_file_request request;
  request.path = path.string();
  request.bytes = 1 << 20;
  request.overwrite = overwrite;
  return request;
}

void write_to(const std::string& path) {
  const std::string text(4096, 'w');
  auto file = qio::cached_file::open(path, qio::access::read_write).value();
  CHECK(file.write_at(0, std::as_bytes(std::span(text))).value() == text.size());
}

struct loop_device {
  explicit loop_device(const fs::path& image) {
    const fs::path told = image.string() + ".device";
    if (!shell("losetup -f --show " + image.string() + " | tee " + told.string() + " | grep .")) return;
    std::ifstream(told) >> name;
  }
  loop_device(const loop_device&) = delete;
  loop_device& operator=(const loop_device&) = delete;
  ~loop_device() {
    if (!name.empty()) shell("losetup -d " + name);
  }
  std::string name;
};

}  // namespace

TEST_CASE("a run keeps using the file that it began with, whatever its name leads to by then") {
  const directory here;
  const fs::path data = here.path / "data", victim = here.path / "victim";
  std::ofstream(victim) << std::string(1 << 20, 'v');
  const std::string before = contents(victim);
  const auto exchange = [&] {
    fs::rename(data, here.path / "moved");
    fs::create_symlink("victim", data);
  };
  {
    const qd1::data_file made(request_for(data));
    exchange();
    write_to(made.path());
  }
  CHECK(contents(victim) == before);
  CHECK(contents(here.path / "moved").substr(0, 4096) == std::string(4096, 'w'));
  CHECK_FALSE(qd1::platform::is_made_by_qd1(victim.string()));

  fs::remove(data);
  fs::rename(here.path / "moved", data);
  {
    const qd1::data_file overwritten(request_for(data, true));
    exchange();
    write_to(overwritten.path());
  }
  CHECK(contents(victim) == before);
}

TEST_CASE("overwriting follows no link that others can have put there") {
  const directory here;
  const fs::path shared = here.path / "shared", own = here.path / "own", victim = here.path / "victim";
  for (const fs::path& each : {shared, own, victim}) fs::create_directory(each);
  for (const fs::path& each : {here.path, own, victim}) REQUIRE(::chmod(each.c_str(), 0755) == 0);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  const std::string before(1 << 20, 'v');
  std::ofstream(victim / "data") << before;
  fs::create_symlink("../victim/data", shared / "link");
  fs::create_symlink("../shared/link", own / "to_link");
  for (const fs::path& path : {shared / "link", own / "to_link"}) {
    INFO(path.string());
    CHECK_THROWS_WITH(qd1::data_file(request_for(path, true)), Contains("others may write"));
    CHECK(qd1::data_file(request_for(path)).why_read_only() != "");  // which is no harm
  }
  fs::create_directory_symlink("../victim", shared / "way");
  if (::geteuid() == 0) {
    REQUIRE(::lchown((shared / "way").c_str(), stranger, stranger) == 0);
    CHECK_THROWS_WITH(qd1::data_file(request_for(shared / "way/data", true)), Contains("others may write"));
  }
  CHECK(contents(victim / "data") == before);

  fs::create_symlink("../victim/data", own / "link");
  CHECK(qd1::data_file(request_for(own / "link", true)).why_read_only().empty());
  CHECK(contents(victim / "data") != before);
}

TEST_CASE("no file is overwritten that may be anybody's, by a name that others have given it") {
  const directory here;
  const fs::path shared = here.path / "shared", victim = here.path / "victim";
  fs::create_directory(shared);
  for (const fs::path& each : {here.path, shared}) REQUIRE(::chmod(each.c_str(), each == shared ? 01777 : 0755) == 0);
  const std::string before(1 << 20, 'v');
  std::ofstream(victim) << before;
  // Which others can do unless fs.protected_hardlinks is set.
  fs::create_hard_link(victim, shared / "second");
  const auto overwrite = [&] { qd1::data_file(request_for(shared / "second", true)); };
  CHECK_THROWS_WITH(overwrite(), Contains("other names") && Contains("others may write"));
  CHECK(qd1::data_file(request_for(shared / "second")).why_read_only() != "");  // which is no harm
  qd1::platform::mark_as_made_by_qd1(victim.string());
  if (qd1::platform::is_made_by_qd1(victim.string()))
    CHECK_THROWS_WITH(qd1::data_file(request_for(shared / "second")), Contains("other names"));
  CHECK(contents(victim) == before);
  fs::create_hard_link(victim, here.path / "own");
  CHECK(qd1::data_file(request_for(here.path / "own", true)).why_read_only().empty());
}

TEST_CASE("no new file is made by a link that others have put there") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const directory here;
  const fs::path shared = here.path / "shared", own = here.path / "own";
  for (const fs::path& each : {shared, own}) fs::create_directory(each);
  for (const fs::path& each : {here.path, own}) REQUIRE(::chmod(each.c_str(), 0755) == 0);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  fs::create_directory_symlink("../own", shared / "way");
  REQUIRE(::lchown((shared / "way").c_str(), stranger, stranger) == 0);
  CHECK_THROWS_WITH(qd1::data_file(request_for(shared / "way/data")), Contains("others may write"));
  CHECK_THROWS_WITH(qd1::platform::lock_file((shared / "way/turns").string()), Contains("others may write"));
  CHECK(fs::is_empty(own));

  REQUIRE(::lchown((shared / "way").c_str(), 0, 0) == 0);
  CHECK(qd1::data_file(request_for(shared / "way/data")).why_read_only().empty());
  const qd1::platform::lock_file turns((shared / "way/turns").string());
  CHECK(fs::exists(own / "data"));
  CHECK(fs::exists(own / "turns"));
}

TEST_CASE("what is no file is not opened to find out about direct I/O") {
  const directory here;
  const fs::path pipe = here.path / "pipe", file = here.path / "file";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::ofstream(file) << std::string(4096, 'd');
  const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  REQUIRE(watch >= 0);
  const auto was_opened = [&](const fs::path& path, const fs::path& asked) {
    const int each = ::inotify_add_watch(watch, path.c_str(), IN_OPEN);
    REQUIRE(each >= 0);
    static_cast<void>(qd1::find_direct(asked.string()));
    alignas(inotify_event) std::array<char, 4096> events;
    const ssize_t bytes = ::read(watch, events.data(), events.size());
    ::inotify_rm_watch(watch, each);
    while (::read(watch, events.data(), events.size()) > 0) {}
    return bytes > 0;
  };
  CHECK(was_opened(file, file));
  CHECK_FALSE(was_opened(pipe, pipe));
  CHECK_FALSE(was_opened(pipe, here.path));
  ::close(watch);
}

TEST_CASE("the mark of a file that qd1 made goes with any change, copy or stranger") {
  using qd1::platform::is_made_by_qd1, qd1::platform::mark_as_made_by_qd1;
  const directory here;
  const std::string path = (here.path / "data").string();
  std::ofstream(path) << std::string(4096, 'd');
  mark_as_made_by_qd1(path);
  if (!is_made_by_qd1(path)) QIO_SKIP("the file system keeps no marks");

  SECTION("contents that were changed, with their time put back") {
    struct stat status;
    REQUIRE(::stat(path.c_str(), &status) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // longer than a mark may be older than the file
    std::fstream(path, std::ios::in | std::ios::out) << "precious";
    const timespec times[2] = {status.st_atim, status.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    CHECK_FALSE(is_made_by_qd1(path));
  }
  SECTION("a copy with all attributes") {
    const std::string copy = path + "2";
    REQUIRE(shell("cp --preserve=all " + path + ' ' + copy));
    CHECK_FALSE(is_made_by_qd1(copy));
  }
  SECTION("a file that others may write to") {
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    mark_as_made_by_qd1(path);
    CHECK_FALSE(is_made_by_qd1(path));
  }
  SECTION("a file of somebody else") {
    if (::geteuid() != 0) QIO_SKIP("needs root");
    REQUIRE(::chown(path.c_str(), stranger, stranger) == 0);
    mark_as_made_by_qd1(path);
    CHECK_FALSE(is_made_by_qd1(path));
  }
}

TEST_CASE("a device that is overwritten is nobody else's meanwhile") {
  const directory here;
  const fs::path image = here.path / "image";
  fs::resize_file((std::ofstream(image), image), 16 << 20);
  const loop_device device(image);
  if (device.name.empty()) QIO_SKIP("no loop device");
  const auto claim = [&] { return ::open(device.name.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC); };
  {
    const qd1::data_file held(request_for(device.name, true));
    CHECK(claim() == -1);
    CHECK(errno == EBUSY);
    write_to(held.path());
  }
  const int handle = claim();
  CHECK(handle >= 0);
  ::close(handle);
}

TEST_CASE("a file that is shown as a device is not overwritten") {
  const directory here;
  const fs::path image = here.path / "image";
  fs::resize_file((std::ofstream(image), image), 16 << 20);
  const loop_device device(image);
  if (device.name.empty()) QIO_SKIP("no loop device");
  CHECK_THROWS_WITH(qd1::data_file(request_for(image, true)), Contains("not overwritten") && Contains("loop"));
  fs::rename(image, here.path / "moved");
  CHECK_THROWS_WITH(qd1::data_file(request_for(here.path / "moved", true)), Contains("not overwritten"));
  const std::string data = contents(here.path / "moved");
  CHECK(data.find_first_not_of('\0') == std::string::npos);
}

TEST_CASE("what is written takes the place of a file when it is complete") {
  const directory here;
  const fs::path path = here.path / "report.json";
  qd1::write_file(path.string(), "one");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  qd1::write_file(path.string(), "other");
  char kept[8] = {};
  CHECK(::read(reader, kept, sizeof kept) == 3);
  ::close(reader);
  CHECK(contents(path) == "other");
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 1);
  qd1::write_file("/dev/null", "nothing");
  CHECK_THROWS_AS(qd1::write_file((here.path / "no/such").string(), ""), qd1::usage_error);
  CHECK_THROWS_WITH(qd1::write_file(here.path.string(), ""), Contains("directory"));
}

TEST_CASE("reports are written through no link that others can have put there") {
  const directory here;
  const fs::path shared = here.path / "shared", own = here.path / "own";
  fs::create_directory(shared);
  fs::create_directory(own);
  REQUIRE(::chmod(here.path.c_str(), 0755) == 0);
  REQUIRE(::chmod(own.c_str(), 0755) == 0);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  std::ofstream(here.path / "victim") << "contents";
  fs::create_symlink("../victim", shared / "link");
  fs::create_symlink("../new", shared / "dangling");
  fs::create_symlink("../shared/link", own / "to_link");
  REQUIRE(::mkfifo((shared / "pipe").c_str(), 0666) == 0);
  const int held = ::open((here.path / "victim").c_str(), O_RDWR | O_CLOEXEC);
  fs::create_symlink("/proc/self/fd/" + std::to_string(held), shared / "magic");
  for (const fs::path& path :
       {shared / "link", shared / "dangling", own / "to_link", shared / "pipe", shared / "magic"}) {
    INFO(path.string());
    CHECK_THROWS_WITH(qd1::write_file(path.string(), "x"), Contains("others may write"));
  }
  CHECK(contents(here.path / "victim") == "contents");
  CHECK_FALSE(fs::exists(here.path / "new"));

  fs::create_symlink("/proc/self/fd/" + std::to_string(held), own / "magic");  // as /dev/stdout is
  qd1::write_file((own / "magic").string(), "CON");
  CHECK(contents(here.path / "victim") == "CONtents");
  ::close(held);

  fs::create_directory(here.path / "directory");
  std::ofstream(here.path / "directory/report") << "contents";
  fs::create_directory_symlink("../directory", shared / "way");
  qd1::write_file((shared / "way/report").string(), "by an own link");
  CHECK(contents(here.path / "directory/report") == "by an own link");
  // Another name of it, which others can make unless fs.protected_hardlinks is set.
  fs::create_hard_link(shared / "way", shared / "second");
  for (const char* name : {"second/report", "way/report"})
    CHECK_THROWS_WITH(qd1::write_file((shared / name).string(), "x"), Contains("others may write"));
  fs::remove(shared / "second");
  CHECK(contents(here.path / "directory/report") == "by an own link");
  if (::geteuid() == 0) {
    REQUIRE(::lchown((shared / "way").c_str(), stranger, stranger) == 0);
    fs::create_directory_symlink("../shared/way", own / "way");
    for (const fs::path& path : {shared / "way/report", shared / "way/new", own / "way/report"})
      CHECK_THROWS_WITH(qd1::write_file(path.string(), "x"), Contains("others may write"));
    CHECK(contents(here.path / "directory/report") == "by an own link");
    CHECK(std::distance(fs::directory_iterator(here.path / "directory"), {}) == 1);
  }
  CHECK_THROWS_WITH(qd1::write_file((own / "pipe/report").string(), "x"), Contains("No such file"));
  CHECK_THROWS_WITH(qd1::write_file((here.path / "victim/report").string(), "x"), Contains("Not a directory"));

  fs::create_symlink("../victim", own / "link");
  qd1::write_file((own / "link").string(), "replaced");
  CHECK(fs::is_symlink(own / "link"));
  CHECK(contents(here.path / "victim") == "replaced");
}

TEST_CASE("a pipe is no report, and nobody waits for its writer") {
  const directory here;
  REQUIRE(::mkfifo((here.path / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(qd1::read_file((here.path / "pipe").string()), Contains("pipe"));
}

TEST_CASE("a setting is put back whenever the program's processes are all told to end") {
  const directory here;
  const fs::path image = here.path / "image";
  fs::resize_file((std::ofstream(image), image), 16 << 20);
  const loop_device device(image);
  if (device.name.empty()) QIO_SKIP("no loop device");
  const std::string name = fs::path(device.name).filename().string();
  const auto setting = [&] {
    std::string value;
    std::ifstream("/sys/block/" + name + "/queue/read_ahead_kb") >> value;
    return value;
  };
  const std::string before = setting();
  const auto reaction = std::signal(SIGHUP, SIG_DFL);  // it may be to ignore it, and a child would inherit that
  for (int moment = 0; moment < 60; ++moment) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      try {
        const qd1::platform::queue_setting changed(name, "read_ahead_kb", "32");
        ::pause();
      } catch (const std::exception&) {}
      ::_exit(0);
    }
    ::setpgid(child, child);
    std::atomic<int> spin = 0;
    while (spin < moment * 20'000) ++spin;
    ::kill(-child, SIGHUP);
    int status = 0;
    ::waitpid(child, &status, 0);
    for (int wait = 0; wait < 20'000 && setting() != before; ++wait)  // for the keeper's turn
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(setting() == before);
  }
  std::signal(SIGHUP, reaction);
}
