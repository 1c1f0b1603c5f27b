// Opening beneath a directory: a path that stays there is opened, one that leads out is refused and changes nothing.
#include "../world.hpp"
#include "memory_directory.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

namespace contract {

namespace {

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

/// "inside", with "inside/deeper/file"; beside it "secret" and the directory "outside". Links out of it and within.
struct tree {
  explicit tree(const directory& where) : root(where.path()), inside(opened_in(where)) {
    std::filesystem::create_directory(root + "/outside");
    put(root + "/secret", "secret");
    put(root + "/inside/deeper/file", "contents");
    link("../secret", "link_up");
    link(absolute(root + "/secret"), "link_absolute");
    link("../outside", "directory_link");
    link("../outside/new", "dangling");
    link("deeper/../link_up", "link_to_link");
    link("deeper/file", "within");
    link("deeper", "directory_within");
  }

  void link(const std::string& target, const char* name) const {
    std::filesystem::create_symlink(target, root + "/inside/" + name);
  }
  bool outside_is_untouched() const {
    return contents(root + "/secret") == "secret" && std::filesystem::is_empty(root + "/outside") &&
           std::filesystem::is_symlink(root + "/inside/link_up");
  }

  std::string root;
  qio::directory inside;

 private:
  static qio::directory opened_in(const directory& where) {
    std::filesystem::create_directories(where / "inside/deeper");
    return qio::directory::open(where / "inside").value();
  }
};

// Why opening beneath a directory is unavailable here; empty if it is available.
std::string why_not_beneath() {
  const auto here = qio::directory::open(".");
  return here ? std::string() : here.error().message();
}

}  // namespace

#define BENEATH_OR_SKIP() \
  if (const std::string why = why_not_beneath(); !why.empty()) QIO_SKIP(why)

PROMISE(beneath_serves, everywhere_in_the_system, "a file opened beneath a directory is like any other") {
  BENEATH_OR_SKIP();
  const tree t(w.where);
  auto source = memory::with_pattern(0, 2 * 4096);
  for (const auto how : {creation::if_needed, creation::truncate_existing, creation::always_new}) {
    auto file = w.open_path("deeper/new", access::read_write, how, {.beneath = &t.inside}).value();
    CHECK(w.write(file, 0, source.all()).value() == source.all().size());
    memory buffer(2 * 4096);
    CHECK(w.read(file, 0, buffer.all()).value() == buffer.all().size());
    CHECK(holds_pattern(buffer.all(), 0));
    CHECK(std::filesystem::file_size(t.root + "/inside/deeper/new") == buffer.all().size());
  }
  CHECK(t.outside_is_untouched());
}

PROMISE(beneath_async_open, of_the_system, "async_open keeps a path beneath a directory, too") {
  BENEATH_OR_SKIP();
  const tree t(w.where);
  const auto open = [](auto& on, std::string path, const qio::directory& beneath) -> qio::task<qio::error> {
    const auto opened = co_await qio::basic_file<typename Where::mode>::async_open(
        on, path, access::read_write, creation::always_new, {.beneath = &beneath});
    co_return opened ? qio::error() : opened.error();
  };
  CHECK(!w.context->run(open(*w.context, "deeper/new", t.inside)).exists());
  CHECK(std::filesystem::exists(t.root + "/inside/deeper/new"));
  CHECK(w.context->run(open(*w.context, "../outside/new", t.inside)) == errc::leaves_directory);
  CHECK(t.outside_is_untouched());
}

PROMISE(beneath_creations, each_mode, "each creation works beneath a directory as it does elsewhere") {
  BENEATH_OR_SKIP();
  const tree t(w.where);
  const auto open = [&](const char* path, creation how) {
    return w.open_path(path, access::read_write, how, {.permissions = 0600, .beneath = &t.inside});
  };
  for (const char* path : {"deeper/file", "./deeper//file", "deeper/../deeper/file", "within", "directory_within/file"})
    CHECK(open(path, creation::open_existing));
  CHECK(open("deeper/file", creation::only_if_missing).error() == std::errc::file_exists);
  CHECK(open("deeper/missing", creation::open_existing).error() == std::errc::no_such_file_or_directory);
  CHECK(open("no/such", creation::if_needed).error() == std::errc::no_such_file_or_directory);
  CHECK(open("deeper", creation::always_new).error() == std::errc::is_a_directory);
  CHECK(open("deeper/", creation::always_new).error() == std::errc::is_a_directory);
  CHECK(open("", creation::always_new).error() == std::errc::no_such_file_or_directory);
  CHECK(contents(t.root + "/inside/deeper/file") == "contents");

  t.link("deeper/made", "to_be_made");
  CHECK(open("to_be_made", creation::if_needed));
  struct stat status;
  REQUIRE(::stat((t.root + "/inside/deeper/made").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);

  auto holder = qio::cached_file::open(t.root + "/inside/deeper/file").value();
  CHECK(open("within", creation::always_new));
  CHECK(std::filesystem::is_symlink(t.root + "/inside/within"));
  CHECK(std::filesystem::file_size(t.root + "/inside/deeper/file") == 0);
  CHECK(holder.size().value() == 8);
}

PROMISE(beneath_refuses, each_mode,
        "a path that leads out of the directory fails with leaves_directory, and changes nothing there") {
  BENEATH_OR_SKIP();
  const tree t(w.where);
  const std::string paths[] = {"../secret",     "deeper/../../secret", absolute(t.root + "/secret"),
                               "link_up",       "link_absolute",       "link_to_link",
                               "dangling",      "directory_link/new",  absolute(t.root + "/inside/deeper/file"),
                               "../outside/new"};
  for (const auto how : all_creations) {
    for (const std::string& path : paths) {
      CAPTURE(path, static_cast<int>(how));
      const auto refused = w.open_path(path, access::read_write, how, {.beneath = &t.inside});
      REQUIRE(!refused);
      // A new file does not replace a link, wherever the link leads.
      const bool is_there = how == creation::only_if_missing &&
                            std::filesystem::is_symlink(t.root + "/inside/" + path) && path.find("..") != 0;
      CHECK((refused.error() == errc::leaves_directory || (is_there && refused.error() == std::errc::file_exists)));
      CHECK(t.outside_is_untouched());
    }
    for (const char* path : {"..", "../", "../outside/", "deeper/../.."}) {
      CAPTURE(path, static_cast<int>(how));
      const auto refused = w.open_path(path, access::read_write, how, {.beneath = &t.inside});
      REQUIRE(!refused);
      CHECK(refused.error() == errc::leaves_directory);
    }
    for (const char* path : {".", "deeper/..", "deeper/."}) {
      CAPTURE(path, static_cast<int>(how));
      const auto refused = w.open_path(path, access::read_write, how, {.beneath = &t.inside});
      REQUIRE(!refused);
      CHECK((refused.error() == std::errc::is_a_directory ||
             (how == creation::only_if_missing && refused.error() == std::errc::file_exists)));
    }
  }
}

PROMISE(beneath_null, each_mode,
        "a path that contains a null character opens nothing beneath a directory, and is no directory") {
  BENEATH_OR_SKIP();
  const tree t(w.where);
  const std::string path("deeper/file\0/../../secret", 25);
  const auto refused = w.open_path(path, access::read_write, creation::if_needed, {.beneath = &t.inside});
  CHECK(refused.error() == errc::null_in_path);
  CHECK(refused.error().given() == 11);
  CHECK(qio::directory::open(std::string("/\0tmp", 5)).error() == errc::null_in_path);
}

PROMISE(beneath_magic, each_mode, "magic links are not followed beneath a directory") {
  BENEATH_OR_SKIP();
  const tree t(w.where);
  const auto process = qio::directory::open("/proc/self").value();
  const auto held = qio::cached_file::open(t.root + "/secret").value();
  const std::string by_number = "fd/" + std::to_string(held.native_handle());
  for (const std::string& path : {by_number, std::string("cwd/secret"), std::string("root/etc/passwd")})
    CHECK(w.open_path(path, access::read, creation::open_existing, {.beneath = &process}).error() ==
          std::errc::too_many_symbolic_link_levels);
  CHECK(!w.open_path(by_number, access::read_write, creation::always_new, {.beneath = &process}));
  CHECK(t.outside_is_untouched());
}

PROMISE(beneath_race, each_mode,
        "a link that another process creates during an open does not lead it out of the directory") {
  BENEATH_OR_SKIP();
  const tree t(w.where);
  const std::string real = t.root + "/inside/deeper", link = t.root + "/inside/directory_link";
  if (::renameat2(AT_FDCWD, real.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE) != 0)
    QIO_SKIP("this file system exchanges no names");
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) ::renameat2(AT_FDCWD, real.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  int opened = 0, refused = 0;
  bool all_told = true;
  for (int attempt = 0; attempt < 300; ++attempt) {
    for (const auto how : all_creations) {
      const auto file = w.open_path("deeper/file", access::read_write, how, {.beneath = &t.inside});
      if (file) {
        ++opened;
      } else if (file.error() == errc::leaves_directory) {
        ++refused;
      } else {
        all_told = all_told &&
                   (file.error() == std::errc::file_exists || file.error() == std::errc::no_such_file_or_directory ||
                    file.error() == std::errc::resource_unavailable_try_again);
      }
    }
  }
  stop = true;
  other.join();
  CAPTURE(opened, refused);
  CHECK(all_told);
  CHECK(t.outside_is_untouched());
}

PROMISE(beneath_removed, direct_only, "an open beneath a directory that fails late removes the file it created there") {
  BENEATH_OR_SKIP();
  const memory_directory shm;
  if (shm.path.empty()) QIO_SKIP("/dev/shm is no tmpfs");
  const auto beneath = qio::directory::open(shm.path).value();
  for (const auto how : {creation::if_needed, creation::only_if_missing, creation::always_new}) {
    CHECK(w.open_path("file", access::read_write, how, {.beneath = &beneath}).error() == errc::direct_in_memory);
    CHECK(shm.is_empty());
  }
}

PROMISE(beneath_handle, each_mode, "a directory handle refers to the same directory after a rename") {
  BENEATH_OR_SKIP();
  tree t(w.where);
  CHECK(!os::is_inherited(t.inside.native_handle()));
  std::filesystem::rename(t.root + "/inside", t.root + "/renamed");
  std::filesystem::create_directory(t.root + "/inside");
  CHECK(w.open_path("deeper/file", access::read, creation::open_existing, {.beneath = &t.inside}));

  qio::directory moved = std::move(t.inside);
  CHECK(w.open_path("deeper/file", access::read, creation::open_existing, {.beneath = &moved}));
  // Not anywhere, then.
  for (const auto how : all_creations)
    CHECK(w.open_path("secret", access::read_write, how, {.beneath = &t.inside}).error() ==
          std::errc::bad_file_descriptor);
  CHECK(!w.open_path(absolute(t.root + "/secret"), access::read, creation::open_existing, {.beneath = &t.inside}));

  CHECK(qio::directory::open(t.root + "/missing").error() == std::errc::no_such_file_or_directory);
  CHECK(qio::directory::open(t.root + "/secret").error() == std::errc::not_a_directory);
}

PROMISE(beneath_simulated, simulated, "a simulated disk fails with beneath_not_supported") {
  BENEATH_OR_SKIP();
  const auto here = qio::directory::open(".").value();
  CHECK(w.open_path("file", access::read_write, creation::if_needed, {.beneath = &here}).error() ==
        errc::beneath_not_supported);
}

}  // namespace contract
