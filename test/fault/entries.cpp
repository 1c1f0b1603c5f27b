// Listing and removing where others interfere, permissions are missing, and file systems or names are unusual.
#include "catch.hpp"
#include "disk.hpp"
#include "hostile.hpp"
#include <qio/directory_reader.hpp>
#include <qio/qio.hpp>
#include <qio/status.hpp>
#include <qio/tree.hpp>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <string>
#include <thread>

namespace {

// Whether getdents64(2) leaves out the types, as some file systems do.
bool hides_types = false;

}  // namespace

// In front of the C library's. The most that a call takes is six arguments.
extern "C" long syscall(long number, ...) noexcept {
  static auto* const call = reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  std::array<long, 6> all;
  for (long& each : all) each = va_arg(list, long);
  va_end(list);
  const long answer = call(number, all[0], all[1], all[2], all[3], all[4], all[5]);
  if (number != SYS_getdents64) return answer;
  for (long at = 0; hides_types && at < answer;) {
    auto* const entry = reinterpret_cast<struct dirent64*>(all[1] + at);
    entry->d_type = DT_UNKNOWN;
    at += entry->d_reclen;
  }
  return answer;
}

namespace {

struct types_hidden {
  types_hidden() { hides_types = true; }
  types_hidden(const types_hidden&) = delete;
  types_hidden& operator=(const types_hidden&) = delete;
  ~types_hidden() { hides_types = false; }
};

void put(const std::string& path) { std::ofstream(path) << "contents"; }

std::size_t entries(const std::string& path) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

}  // namespace

TEST_CASE("remove_tree() never removes what is in a victim's directory, while its own is exchanged for a link to that",
          "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  // remove_tree() of "theirs/tree", in which "real" is exchanged with a link to the victim.
  const std::string tree = d.theirs + "/tree";
  long calls = 0;
  const auto plant = [&] {
    std::filesystem::create_directories(tree + "/real");
    put(tree + "/real/file");
    std::filesystem::create_directory_symlink("../../victim", tree + "/link");
    for (const std::string& each : {tree, tree + "/real", tree + "/link"})
      REQUIRE(::lchown(each.c_str(), fault::stranger, fault::stranger) == 0);
  };
  while (calls < fault::flips() / 20) {
    std::error_code ignored;
    std::filesystem::remove_all(tree, ignored);
    plant();
    fault::flipper other(tree + "/real", tree + "/link");
    for (int tries = 0; tries < 100 && std::filesystem::exists(tree); ++tries)
      static_cast<void>(qio::remove_tree(tree));  // it may find that the link is no directory
    ++calls;
    REQUIRE(d.victim_is_untouched());
    CHECK(!std::filesystem::exists(tree));
  }
}

TEST_CASE("remove_tree() and walk() follow no link, at the end of the path or within", "[hostile]") {
  const fault::scratch where;
  std::filesystem::create_directory(where.path + "/victim");
  put(where.path + "/victim/file");
  std::filesystem::create_directory(where.path + "/tree");
  std::filesystem::create_directory_symlink("../victim", where.path + "/tree/link");
  std::filesystem::create_symlink("missing", where.path + "/tree/dangling");
  std::size_t visited = 0;
  CHECK(qio::walk(where.path + "/tree", [&](const qio::walk_entry& entry) {
          ++visited;
          CHECK(entry.type == qio::file_type::symbolic_link);
        }).value());
  CHECK(visited == 2);
  CHECK(qio::remove_tree(where.path + "/tree").value() == 3);
  std::filesystem::create_directory_symlink("victim", where.path + "/link");
  CHECK(qio::remove_tree(where.path + "/link/").error() == std::errc::not_a_directory);
  CHECK(qio::remove_tree(where.path + "/link").value() == 1);
  CHECK(std::filesystem::exists(where.path + "/victim/file"));
}

TEST_CASE("remove_tree() fails with directory_not_empty, or wins, while others create files in the directory") {
  const fault::scratch where;
  const std::string tree = where.path + "/tree";
  std::filesystem::create_directory(tree);
  std::atomic<bool> ends = false;
  std::thread other([&] {
    for (int i = 0; !ends; i = (i + 1) % 100)
      if (const int made = ::open((tree + "/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0600); made >= 0)
        ::close(made);
  });
  const auto removed = qio::remove_tree(tree);
  ends = true;
  other.join();
  if (!removed) {
    CHECK(removed.error() == std::errc::directory_not_empty);
    CHECK(removed.error().message().starts_with("cannot remove " + tree));
  }
  REQUIRE(qio::remove_tree(tree));
  CHECK(!std::filesystem::exists(tree));
}

TEST_CASE("remove_tree() and walk() find out types that the file system does not report") {
  const fault::scratch where;
  const std::string tree = where.path + "/tree";
  std::filesystem::create_directories(tree + "/inner/empty");
  put(tree + "/file");
  put(tree + "/inner/file");
  std::filesystem::create_symlink("file", tree + "/link");
  const types_hidden hidden;
  auto reader = qio::directory_reader::open(tree).value();
  const auto batch = reader.next_batch().value();
  for (const qio::directory_entry& each : batch) {
    CHECK(each.type == qio::file_type::unknown);
    CHECK(reader.status(each).value().type != qio::file_type::unknown);
  }
  std::multiset<qio::file_type> types;
  CHECK(qio::walk(tree, [&](const qio::walk_entry& entry) { types.insert(entry.type); }).value());
  CHECK(types == std::multiset{qio::file_type::regular, qio::file_type::regular, qio::file_type::directory,
                               qio::file_type::directory, qio::file_type::symbolic_link});
  CHECK(qio::remove_tree(tree).value() == 6);
}

TEST_CASE("names that are not UTF-8, or contain newlines, are listed as they are and removed") {
  const fault::scratch where;
  const std::string tree = where.path + "/tree";
  const std::set<std::string> names = {"\xff\xfe", "a\nb", "\x1b[2J", " ", "-rf", "*", std::string(255, '\xc3')};
  std::filesystem::create_directory(tree);
  for (const std::string& each : names) put(tree + "/" + each);
  auto reader = qio::directory_reader::open(tree).value();
  std::set<std::string> found;
  const auto batch = reader.next_batch().value();
  for (const qio::directory_entry& each : batch) found.insert(std::string(each.name));
  CHECK(found == names);
  CHECK(qio::remove_tree(tree).value() == names.size() + 1);
}

TEST_CASE("a directory that is removed while it is listed ends") {
  const fault::scratch where;
  std::filesystem::create_directory(where.path + "/tree");
  auto reader = qio::directory_reader::open(where.path + "/tree").value();
  std::filesystem::remove(where.path + "/tree");
  CHECK(reader.next_batch().value().empty());
}

TEST_CASE("a directory that may not be read is an error that names it, unless it is empty and removed") {
  if (::geteuid() == 0 && ::seteuid(fault::stranger) != 0) QIO_SKIP("cannot become another user");
  struct user {
    ~user() { static_cast<void>(::seteuid(::getuid())); }
  } const restored;
  char path[] = "/tmp/qio-entries-XXXXXX";
  if (::mkdtemp(path) == nullptr) QIO_SKIP("no directory in /tmp");
  const std::string tree = path;
  std::filesystem::create_directories(tree + "/closed/inner");
  std::filesystem::create_directory(tree + "/empty");
  REQUIRE(::chmod((tree + "/closed").c_str(), 0) == 0);
  REQUIRE(::chmod((tree + "/empty").c_str(), 0) == 0);
  std::multiset<std::string> visited, failed;
  CHECK(qio::walk(tree, [&](const qio::walk_entry& entry) {
          (entry.failure.exists() ? failed : visited).emplace(entry.path);
          if (entry.failure.exists()) CHECK(entry.failure == std::errc::permission_denied);
        }).value());
  CHECK(visited == std::multiset<std::string>{"closed", "empty"});
  CHECK(failed == std::multiset<std::string>{"closed", "empty"});
  CHECK(!qio::walk(tree, [&](const qio::walk_entry& entry) {
           return entry.failure.exists() ? qio::walk_next::stop : qio::walk_next::proceed;
         }).value());
  CHECK(qio::directory_reader::open(tree + "/closed").error() == std::errc::permission_denied);
  CHECK(qio::remove_tree(tree + "/empty").value() == 1);
  const auto removed = qio::remove_tree(tree);
  CHECK(removed.error() == std::errc::permission_denied);
  CHECK(removed.error().message().starts_with("cannot remove " + tree + "/closed: "));
  REQUIRE(::chmod((tree + "/closed").c_str(), 0700) == 0);
  CHECK(qio::remove_tree(tree).value() == 3);
}

TEST_CASE("remove_tree() removes a tree of 10,000 levels with few descriptors") {
  const fault::scratch where;
  const std::string tree = where.path + "/tree";
  REQUIRE(::mkdir(tree.c_str(), 0700) == 0);
  int here = ::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int level = 1; level < 10'000; ++level) {
    REQUIRE(::mkdirat(here, "directory", 0700) == 0);
    const int next = ::openat(here, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(here);
    here = next;
  }
  ::close(here);
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  struct rlimit few = before;
  few.rlim_cur = 40;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto removed = qio::remove_tree(tree);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(removed.value() == 10'000);
}

TEST_CASE("remove_tree() does not enter a mount unless asked, and names it") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  const fault::scratch where;
  const std::string tree = where.path + "/tree", mount = tree + "/inner/mount";
  std::filesystem::create_directories(mount);
  std::filesystem::create_directory(where.path + "/elsewhere");
  put(where.path + "/elsewhere/file");
  bool ok = false;  // of the same file system, so with the same device
  fault::output_of("mount --bind " + where.path + "/elsewhere " + mount, &ok);
  if (!ok) QIO_SKIP("no bind mount can be made here");
  const auto removed = qio::remove_tree(tree);
  std::multiset<std::string> visited;
  CHECK(qio::walk(tree, [&](const qio::walk_entry& entry) { visited.emplace(entry.path); }, {.enters_mounts = false})
            .value());
  const std::size_t left = entries(where.path + "/elsewhere");
  const auto entered = qio::remove_tree(tree, {.enters_mounts = true});
  fault::output_of("umount " + mount);
  CHECK(removed.error() == qio::errc::is_mount_point);
  CHECK(removed.error().message().starts_with("cannot remove " + mount + ": "));
  CHECK(left == 1);
  CHECK(visited == std::multiset<std::string>{"inner", "inner/mount"});
  CHECK(entered.error() == std::errc::device_or_resource_busy);
  CHECK(entries(where.path + "/elsewhere") == 0);
}

TEST_CASE("listing, walking and removing beneath a directory do not leave it") {
  const fault::scratch where;
  std::filesystem::create_directories(where.path + "/inner/tree");
  std::filesystem::create_directory(where.path + "/outside");
  put(where.path + "/inner/tree/file");
  std::filesystem::create_directory_symlink("../outside", where.path + "/inner/link");
  const auto beneath = qio::directory::open(where.path + "/inner");
  if (!beneath) QIO_SKIP(beneath.error().message());
  CHECK(qio::directory_reader::open(beneath.value()).value().next_batch().value().size() == 2);
  CHECK(qio::directory_reader::open("tree", {.beneath = &beneath.value()}).value().next_batch().value().size() == 1);
  CHECK(qio::directory_reader::open("../outside", {.beneath = &beneath.value()}).error() ==
        qio::errc::leaves_directory);
  CHECK(qio::directory_reader::open("link", {.beneath = &beneath.value()}).error() == qio::errc::leaves_directory);
  CHECK(qio::walk("../outside", [](const qio::walk_entry&) {}, {.beneath = &beneath.value()}).error() ==
        qio::errc::leaves_directory);
  CHECK(qio::remove_tree("../outside", {.beneath = &beneath.value()}).error() == qio::errc::leaves_directory);
  CHECK(qio::remove_tree("link/x", {.beneath = &beneath.value()}).error() == qio::errc::leaves_directory);
  CHECK(qio::remove_tree("tree", {.beneath = &beneath.value(), .durable = true}).value() == 2);
  CHECK(std::filesystem::exists(where.path + "/outside"));
}
