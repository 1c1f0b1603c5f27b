// Names and replaced files where something goes wrong: others exchange directories, the disk is full or read-only, the
// process is killed.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "forbid.hpp"
#include "hostile.hpp"
#include <qio/names.hpp>
#include <qio/qio.hpp>
#include <qio/tree.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using qio::if_exists;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::set<std::string> entries(const std::string& directory) {
  std::set<std::string> found;
  for (const auto& each : fs::directory_iterator(directory)) found.insert(each.path().filename().string());
  return found;
}
std::size_t temporaries(const std::string& directory) {
  std::size_t found = 0;
  for (const std::string& each : entries(directory)) found += each.starts_with(".qio-");
  return found;
}

std::vector<std::byte> filled(std::size_t bytes, int value) { return std::vector<std::byte>(bytes, std::byte(value)); }

/// Makes a mount read-only while it exists.
class read_only {
 public:
  explicit read_only(const std::string& path) : path_(path) { set("ro"); }
  read_only(const read_only&) = delete;
  read_only& operator=(const read_only&) = delete;
  ~read_only() { set("rw"); }

 private:
  void set(const std::string& what) const { fault::output_of("mount -o remount," + what + ' ' + path_); }
  std::string path_;
};

}  // namespace

// --- others exchange directories ---

TEST_CASE("changes of names beneath a directory never leave it, while another user exchanges directories in it",
          "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const auto opened = qio::directory::open(d.theirs);
  if (!opened) QIO_SKIP(opened.error().message());
  const qio::directory& theirs = opened.value();
  fs::create_directory(d.root + "/victim/directory");
  const std::set<std::string> before = entries(d.root + "/victim");
  const std::string victim = contents(d.root + "/victim/file");
  // "theirs/real" is a directory, or a link to "victim".
  const fault::flipper flipper(d.theirs + "/real", d.theirs + "/link");
  const qio::name_options beneath{.beneath = &theirs};
  const auto some = filled(10, 1);
  long changed = 0, left = 0, rounds = 0;
  for (; flipper.goes_on(rounds); ++rounds) {
    const auto note = [&](const auto& answer) {
      answer ? ++changed : answer.error() == qio::errc::leaves_directory ? ++left : 0;
    };
    note(qio::create_directory("real/made", {.beneath = &theirs}));
    note(qio::replace_file("real/file", some, {.durable = false, .beneath = &theirs}));
    note(qio::rename("real/file", "real/renamed", if_exists::replace, beneath));
    note(qio::link("real/renamed", "real/linked", beneath));
    note(qio::symlink("x", "real/symbolic", beneath));
    note(qio::remove("real/file", beneath));
    note(qio::remove("real/linked", beneath));
    note(qio::remove("real/symbolic", beneath));
    note(qio::remove_directory("real/directory", beneath));
    note(qio::remove_directory("real/made", beneath));
    auto scratch = qio::temporary_file<>::create({.within = "real", .beneath = &theirs});
    note(scratch);
    auto directory = qio::temporary_directory<>::create({.within = "real", .beneath = &theirs});
    note(directory);
  }
  CHECK(flipper.works());
  CHECK(changed > 0);
  CHECK(left > 0);
  CHECK(entries(d.root + "/victim") == before);
  CHECK(contents(d.root + "/victim/file") == victim);
}

TEST_CASE("replace_file() takes all steps in one directory, and leaves no temporary, whatever has its path meanwhile",
          "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  // Without `beneath`, links are followed: the file is in either directory.
  const fault::flipper flipper(d.theirs + "/real", d.theirs + "/link");
  const auto some = filled(3, 7);
  long rounds = 0, failed = 0;
  for (; flipper.goes_on(rounds); ++rounds) failed += !qio::replace_file(d.theirs + "/real/mine", some);
  CHECK(flipper.works());
  CHECK(failed == 0);
  CHECK(temporaries(d.root + "/victim") == 0);
  for (const char* const each : {"/real", "/link"}) CHECK(temporaries(d.theirs + each) == 0);
}

TEST_CASE("rename() that must not replace never replaces a file that another thread creates") {
  const fault::scratch directory;
  const std::string target = directory.path + "/target", source = directory.path + "/source";
  std::atomic<bool> done = false;
  std::atomic<long> created = 0;
  std::thread other([&] {
    while (!done) {
      const int handle = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (handle < 0) continue;
      ++created;
      ::close(handle);
    }
  });
  long renamed = 0, refused = 0;
  while ((renamed < 200 || refused < 200) && renamed + refused < 2'000'000) {
    put(source, "ours");
    const auto answer = qio::rename(source, target, if_exists::fail);
    if (answer) {
      ++renamed;
      CHECK(contents(target) == "ours");
    } else {
      ++refused;
      CHECK(answer.error() == std::errc::file_exists);
    }
    ::unlink(target.c_str());
    std::this_thread::yield();
  }
  done = true;
  other.join();
  // Each file of the other thread was refused once and then removed here, but for one that may be left.
  CHECK(created == refused + (::access(target.c_str(), F_OK) == 0 ? 1 : 0));
  CHECK(renamed > 0);
  CHECK(refused > 0);
}

// --- what the system lacks or forbids ---

TEST_CASE("without renameat2, rename() replaces, and refuses what it cannot do without a race") {
  const fault::scratch directory;
  const std::string a = directory.path + "/a", b = directory.path + "/b";
  for (const int code : {EINVAL, ENOSYS}) {
    put(a, "a");
    put(b, "b");
    CHECK(qio_test::in_child([&] {
            if (!fault::forbid(SYS_renameat2, code)) return 1;
            for (const if_exists how : {if_exists::fail, if_exists::exchange}) {
              const auto refused = qio::rename(a, directory.path + "/c", how);
              if (refused || refused.error() != qio::errc::if_exists_not_supported) return 2;
              if (refused.error() != std::errc::operation_not_supported) return 3;
              const char* const missing = how == if_exists::fail ? "(RENAME_NOREPLACE)" : "(RENAME_EXCHANGE)";
              if (refused.error().message().find(missing) == std::string::npos) return 6;
            }
            if (contents(a) != "a" || contents(b) != "b") return 4;
            return qio::rename(a, b) && qio::rename(b, a) ? 0 : 5;
          }) == 0);
  }
  CHECK(contents(a) == "a");
}

TEST_CASE("a directory is found to be within another one beyond two mounts whose roots have the same inode number") {
  const fault::scratch directory;
  const std::string first = directory.path + "/first", second = first + "/second";
  fs::create_directory(first);
  bool ok = false;
  const std::string mount = "mount -t tmpfs qio ";
  const std::string said = fault::output_of(mount + first + " && mkdir " + second + " && " + mount + second, &ok);
  const int inner = ::open(second.c_str(), O_PATH | O_CLOEXEC);
  const auto is_within = [&](const std::string& name) {
    qio::platform::directory_entry outer;
    outer.directory = ::open(".", O_PATH | O_CLOEXEC);
    outer.name = name;
    return qio::platform::is_within(inner, outer);
  };
  struct stat of_first, of_second;
  const bool have_same = ::stat(first.c_str(), &of_first) == 0 && ::fstat(inner, &of_second) == 0 &&
                         of_first.st_ino == of_second.st_ino && of_first.st_dev != of_second.st_dev;
  const bool finds_first = is_within(first), finds_directory = is_within(directory.path);
  const bool finds_other = is_within("/usr");
  ::close(inner);
  fault::output_of("umount " + second + "; umount " + first);
  if (!ok) QIO_SKIP("no tmpfs: " + said.substr(0, said.find('\n')));
  if (!have_same) QIO_SKIP("the roots have different inode numbers");
  CHECK(finds_first);
  CHECK(finds_directory);
  CHECK_FALSE(finds_other);
}

TEST_CASE("a directory is not renamed into itself, and the error is not that a rename is unsupported") {
  const fault::scratch directory;
  const std::string outer = directory.path + "/outer";
  fs::create_directories(outer + "/inner");
  for (const if_exists how : {if_exists::fail, if_exists::replace}) {
    const auto refused = qio::rename(outer, outer + "/inner/moved", how);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == std::errc::invalid_argument);
    CHECK_FALSE(refused.error().is_qio());
  }
  const auto refused = qio::rename(outer, outer + "/inner", if_exists::exchange);
  REQUIRE_FALSE(refused);
  CHECK_FALSE(refused.error().is_qio());
}

TEST_CASE("a rename to another file system is refused, and both stay as they were") {
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const fault::scratch directory;
  put(directory.path + "/a", "a");
  const auto refused = qio::rename(directory.path + "/a", mounted.path + "/a");
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == std::errc::cross_device_link);
  CHECK(qio::link(directory.path + "/a", mounted.path + "/a").error() == std::errc::cross_device_link);
  CHECK(contents(directory.path + "/a") == "a");
  CHECK(entries(mounted.path).empty());
}

TEST_CASE("a directory that an overlay cannot rename is refused, and the error says why") {
  const fault::scratch below;
  fs::create_directories(below.path + "/directory/inner");
  put(below.path + "/file", "a");
  const fault::mounted mounted("overlay", 0, below.path);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const auto refused = qio::rename(mounted.path + "/directory", mounted.path + "/renamed");
  if (refused) QIO_SKIP("overlays rename directories here (redirect_dir=on)");
  CHECK(refused.error() == qio::errc::directory_of_overlay);
  CHECK(refused.error() == std::errc::cross_device_link);
  CHECK(refused.error().message().find("cannot rename " + mounted.path + "/directory to ") == 0);
  CHECK(refused.error().message().find("redirect_dir") != std::string::npos);
  CHECK(fs::exists(mounted.path + "/directory/inner"));
  CHECK(qio::rename(mounted.path + "/file", mounted.path + "/renamed"));
  CHECK(qio::create_directory(mounted.path + "/new").value());
  CHECK(qio::rename(mounted.path + "/new", mounted.path + "/newer"));
}

TEST_CASE("a file system that cannot sync directories is an error that says so, after the change was made") {
  const fault::scratch directory;
  CHECK(qio_test::in_child([&] {
          const auto opened = qio::directory::open(directory.path).value();
          if (!fault::forbid(SYS_fsync, EINVAL)) return 1;
          const auto is_reported = [](const auto& answer) {
            return !answer && answer.error() == qio::errc::directory_sync_not_supported &&
                   answer.error() == std::errc::operation_not_supported;
          };
          put(directory.path + "/a", "a");
          if (!is_reported(qio::sync_directory(directory.path))) return 2;
          if (!is_reported(opened.sync())) return 3;
          if (!is_reported(
                  qio::rename(directory.path + "/a", directory.path + "/b", if_exists::replace, {.durable = true})))
            return 4;
          if (contents(directory.path + "/b") != "a") return 5;
          if (!is_reported(qio::remove_tree(directory.path + "/b", {.durable = true}))) return 6;
          if (!is_reported(qio::replace_file(directory.path + "/c", filled(1, 1)))) return 7;
          if (contents(directory.path + "/c").size() != 1) return 8;
          // A file without such a sync fails as the system says.
          auto file = qio::cached_file::open(directory.path + "/c", qio::access::read_write).value();
          return file.sync(qio::sync_kind::everything).error() == std::errc::invalid_argument ? 0 : 9;
        }) == 0);
}

TEST_CASE("in a directory or on a file system that is not writable, nothing changes, and the error says so") {
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string file = mounted.path + "/file";
  put(file, "old");
  const auto some = filled(10, 1);
  const auto is_refused = [&](std::errc why) {
    const auto is = [&](const auto& answer) { return !answer && answer.error() == why; };
    return is(qio::replace_file(file, some)) && is(qio::rename(file, mounted.path + "/other")) &&
           is(qio::remove(file)) && is(qio::link(file, mounted.path + "/other")) &&
           is(qio::symlink("file", mounted.path + "/other")) && is(qio::create_directory(mounted.path + "/new")) &&
           is(qio::temporary_file<>::create({.within = mounted.path.c_str()})) &&
           is(qio::temporary_directory<>::create({.within = mounted.path.c_str()}));
  };
  {
    const read_only now(mounted.path);
    CHECK(is_refused(std::errc::read_only_file_system));
  }
  ::chmod(mounted.path.c_str(), 0555);
  fs::permissions(fs::path(mounted.path).parent_path(), fs::perms::owner_all | fs::perms::others_exec);
  CHECK(qio_test::in_child([&] {
          if (::setresuid(fault::stranger, fault::stranger, fault::stranger) != 0) return 2;
          return is_refused(std::errc::permission_denied) ? 0 : 1;
        }) == 0);
  CHECK(contents(file) == "old");
  CHECK(entries(mounted.path) == std::set<std::string>{"file"});
}

TEST_CASE("a durable change in a directory that cannot be read is refused before it is made") {
  const fault::scratch directory;
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const std::string hidden = directory.path + "/hidden";
  fs::create_directory(hidden);
  put(hidden + "/file", "old");
  ::chmod(directory.path.c_str(), 0755);
  ::chmod(hidden.c_str(), 0733);  // written and searched, but not read
  const auto some = filled(10, 1);
  ::chmod((hidden + "/file").c_str(), 0666);
  CHECK(qio_test::in_child([&] {
          if (::setresuid(fault::stranger, fault::stranger, fault::stranger) != 0) return 1;
          const auto is_refused = [](const auto& answer) {
            return !answer && answer.error() == std::errc::permission_denied;
          };
          if (!is_refused(qio::replace_file(hidden + "/file", some))) return 2;
          if (!is_refused(qio::rename(hidden + "/file", hidden + "/x", if_exists::replace, {.durable = true})))
            return 3;
          if (!is_refused(qio::remove(hidden + "/file", {.durable = true}))) return 4;
          return 0;
        }) == 0);
  CHECK(contents(hidden + "/file") == "old");
  CHECK(entries(hidden) == std::set<std::string>{"file"});
}

// --- replaced files ---

TEST_CASE("replace_file() on a full disk fails, and leaves the old file and no other") {
  for (const char* const kind : {"tmpfs", "ext4"}) {
    const fault::mounted mounted(kind, 16 << 20);
    if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
    const std::string file = mounted.path + "/file";
    put(file, "old");
    const auto before = entries(mounted.path);
    const auto large = filled(20 << 20, 1);
    const auto failed = qio::replace_file(file, large);
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == std::errc::no_space_on_device);
    CHECK(failed.error().message().find("cannot replace " + file) == 0);
    auto context = qio::context::create().value();
    CHECK(context.run(qio::async_replace_file(context, file, large)).error() == std::errc::no_space_on_device);
    CHECK(contents(file) == "old");
    CHECK(entries(mounted.path) == before);
  }
}

TEST_CASE("replace_file() that reaches a limit of the process leaves the old file and no other") {
  const fault::scratch directory;
  const std::string file = directory.path + "/file";
  put(file, "old");
  CHECK(qio_test::in_child([&] {
          ::signal(SIGXFSZ, SIG_IGN);
          const struct rlimit limit {
            100'000, 100'000
          };
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
          const auto failed = qio::replace_file(file, filled(200'000, 1));
          return !failed && failed.error() == std::errc::file_too_large ? 0 : 2;
        }) == 0);
  CHECK(contents(file) == "old");
  CHECK(entries(directory.path) == std::set<std::string>{"file"});
}

TEST_CASE("a process that is killed while it replaces a file leaves the old or the new one, and at most a temporary") {
  const fault::scratch directory;
  const std::string file = directory.path + "/file";
  const std::string old(50'000, 'o'), replacing(50'000, 'n');
  put(file, old);
  std::size_t killed_with_temporary = 0;
  for (int round = 0; round < 60; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;)
        for (const std::string* const each : {&replacing, &old})
          if (!qio::replace_file(file, std::as_bytes(std::span(*each)), {.durable = round % 2 == 0})) ::_exit(1);
    }
    ::usleep(static_cast<useconds_t>(200 + round * 37 % 3000));
    CHECK(::waitpid(child, nullptr, WNOHANG) == 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string found = contents(file);
    CHECK((found == old || found == replacing));
    const std::size_t left = temporaries(directory.path);
    CHECK(left <= 1);
    killed_with_temporary += left;
    CHECK(entries(directory.path).size() == 1 + left);
    for (const std::string& each : entries(directory.path))
      if (each.starts_with(".qio-")) fs::remove(directory.path + '/' + each);
  }
  CHECK(killed_with_temporary > 0);
}

TEST_CASE("those who read a file while others replace it always find one version, whole") {
  const fault::scratch directory;
  const std::string file = directory.path + "/file";
  put(file, std::string(30'000, 'a'));
  std::atomic<bool> done = false;
  std::vector<std::thread> writers;
  for (const char letter : {'b', 'c'})
    writers.emplace_back([&, letter] {
      const std::string text(30'000, letter);
      for (int i = 0; i < 300; ++i) qio::replace_file(file, std::as_bytes(std::span(text)), {.durable = false}).value();
    });
  std::thread reader([&] {
    while (!done) {
      const std::string found = contents(file);
      if (found.size() != 30'000 || found.find_first_not_of(found[0]) != found.npos) ::abort();
    }
  });
  for (std::thread& each : writers) each.join();
  done = true;
  reader.join();
  CHECK(entries(directory.path) == std::set<std::string>{"file"});
}

// --- temporary directories ---

TEST_CASE("a temporary directory is removed however deep it is, with few handles") {
  const fault::scratch directory;
  CHECK(qio_test::in_child([&] {
          const struct rlimit few {
            40, 40
          };
          if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
          auto scratch = qio::temporary_directory<>::create({.within = directory.path.c_str()}).value();
          if (::chdir(scratch.path().c_str()) != 0) return 2;
          for (int depth = 0; depth < 500; ++depth) {
            put("file", "x");
            if (::mkdir("in", 0700) != 0 || ::chdir("in") != 0) return 3;
          }
          return ::chdir("/") == 0 ? 0 : 4;
        }) == 0);
  CHECK(entries(directory.path).empty());
}

TEST_CASE("what cannot be removed of a temporary directory stays, and everything else is removed") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const fault::scratch directory;
  std::string path;
  {
    auto scratch = qio::temporary_directory<>::create({.within = directory.path.c_str()}).value();
    path = scratch.path();
    fs::create_directories(path + "/a/b/mounted/c");
    for (const char* const each : {"/before", "/a/before", "/a/b/before", "/z"}) put(path + each, "x");
    bool is_mounted = false;
    fault::output_of("mount -t tmpfs qio " + path + "/a/b/mounted", &is_mounted);
    if (!is_mounted) QIO_SKIP("no tmpfs");
    put(path + "/a/b/mounted/kept", "x");
    for (int i = 0; i < 300; ++i) put(path + "/a/b/" + std::to_string(i), "x");
    fs::create_directories(path + "/a/after/in");
  }
  CHECK(entries(path) == std::set<std::string>{"a"});
  CHECK(entries(path + "/a") == std::set<std::string>{"b"});
  CHECK(entries(path + "/a/b") == std::set<std::string>{"mounted"});
  CHECK(contents(path + "/a/b/mounted/kept") == "x");
  fault::output_of("umount " + path + "/a/b/mounted");
}

TEST_CASE("the removal of a temporary directory ends, however deep lies what cannot be removed") {
  const fault::scratch directory;
  fs::permissions(directory.path, fs::perms::all);
  constexpr int depths[] = {3, 8, 9, 12, 40};
  CHECK(qio_test::in_child([&] {
          ::alarm(60);
          if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 1;
          for (const int depth : depths) {
            auto scratch = qio::temporary_directory<>::create({.within = directory.path.c_str()}).value();
            std::string place = scratch.path();
            for (int level = 0; level < depth; ++level) {
              for (const char* const each : {"/a", "/z"}) {
                fs::create_directories(place + each + "/in/in");
                put(place + each + "/in/file", "x");
              }
              place += "/m";
              fs::create_directory(place);
            }
            put(place + "/kept", "x");
            fs::permissions(place, fs::perms::owner_read | fs::perms::owner_exec);
          }
          return 0;
        }) == 0);
  std::multiset<int> left;
  for (const auto& scratch : fs::directory_iterator(directory.path)) {
    int depth = 0;
    std::string place = scratch.path();
    for (; fs::exists(place + "/m"); ++depth) {
      CHECK(entries(place) == std::set<std::string>{"m"});
      place += "/m";
    }
    CHECK(entries(place) == std::set<std::string>{"kept"});
    left.insert(depth);
  }
  CHECK(left == std::multiset<int>(std::begin(depths), std::end(depths)));
}

TEST_CASE("remove_tree() reports that it cannot find out what its directory is") {
  const fault::scratch directory;
  CHECK(qio_test::in_child([&] {
          if (!fault::forbid(__NR_statx, ENOTCONN)) return 1;
          const std::string path = directory.path + "/nothing-there";
          const auto removed = qio::remove_tree(path);
          if (removed || removed.error() != std::errc::not_connected) return 2;
          return removed.error().message().find(path) != std::string::npos ? 0 : 3;
        }) == 0);
}

TEST_CASE("a writer that throws leaves the old file and no other") {
  const fault::scratch directory;
  const std::string file = directory.path + "/file";
  put(file, "old");
  CHECK_THROWS_AS(qio::replace_file(file, [](qio::cached_file&) -> qio::result<void> { throw 1; }), int);
  CHECK(contents(file) == "old");
  CHECK(entries(directory.path) == std::set<std::string>{"file"});
}

TEST_CASE("a temporary file or directory for which there is no handle leaves nothing behind") {
  if (fault::sanitizer_needs_descriptors) QIO_SKIP("the sanitizer of undefined behavior needs descriptors of its own");
  const fault::scratch directory;
  const int answer = qio_test::in_child([&] {
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    rlimit before{};
    if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return 1;
    rlimit limit = before;
    int failures = 0;
    for (limit.rlim_cur = static_cast<rlim_t>(next); failures != 100; ++limit.rlim_cur) {
      if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
      const auto file = qio::temporary_file<>::create({.within = directory.path.c_str()});
      const auto made = qio::temporary_directory<>::create({.within = directory.path.c_str()});
      if (::setrlimit(RLIMIT_NOFILE, &before) != 0) return 1;
      if (file && made) return failures > 1 ? 0 : 2;
      ++failures;
      if (!made && made.error() != std::errc::too_many_files_open) return 3;
    }
    return 4;
  });
  CHECK(answer == 0);
  CHECK(entries(directory.path).empty());
}
