// Directories of another user, who exchanges what is in them while files are opened there.
#include "hostile.hpp"

#include "child_process.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using qio::access;
using qio::creation;

constexpr creation all_creations[] = {creation::open_existing,     creation::if_needed,  creation::only_if_missing,
                                      creation::truncate_existing, creation::always_new, creation::emptied};
constexpr creation that_create[] = {creation::if_needed, creation::only_if_missing, creation::always_new,
                                    creation::emptied};

qio::result<qio::platform::opening> begin(const std::string& path, creation how) {
  return qio::platform::opening::begin(path, qio::platform::anywhere, access::read_write, how, 0666, {});
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_same_file(int handle, const std::string& path) {
  struct stat one, other;
  return ::fstat(handle, &one) == 0 && ::stat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/// Moves this process into a user namespace in which all users but root are unknown.
bool leaves_other_users() {
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  std::ofstream map("/proc/self/uid_map");
  map << "0 0 1" << std::flush;
  return bool(map);
}

std::size_t entries(const std::string& directory) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

}  // namespace

TEST_CASE("an open that fails late removes the file that it created, even if the path leads elsewhere by then",
          "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  for (const auto how : that_create) {
    CAPTURE(static_cast<int>(how));
    {
      const auto begun = begin(d.theirs + "/real/new", how);
      REQUIRE(begun);
      std::filesystem::rename(d.theirs + "/real", d.theirs + "/moved");
      std::filesystem::create_directory_symlink("../victim", d.theirs + "/real");
      std::filesystem::rename(d.root + "/victim/file", d.root + "/victim/new");
    }
    CHECK(contents(d.root + "/victim/new") == "contents");
    CHECK(entries(d.theirs + "/moved") == 0);
    std::filesystem::rename(d.root + "/victim/new", d.root + "/victim/file");
    std::filesystem::remove(d.theirs + "/real");
    std::filesystem::rename(d.theirs + "/moved", d.theirs + "/real");
  }
}

TEST_CASE("an open that fails late keeps a file that another user has put in place of its own", "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const std::string directory = d.theirs + "/real";
  for (const auto how : that_create) {
    CAPTURE(static_cast<int>(how));
    std::string made;
    {
      const auto begun = begin(directory + "/new", how);
      REQUIRE(begun);
      for (const auto& each : std::filesystem::directory_iterator(directory)) made = each.path();
      std::filesystem::rename(made, d.theirs + "/aside");
      std::ofstream(made) << "theirs";
    }
    CHECK(contents(made) == "theirs");
    std::filesystem::remove(made);
  }
}

TEST_CASE("an open that fails late never changes a victim's directory, while its own is exchanged for a link to that",
          "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const auto beneath = qio::directory::open(d.root);
  const std::string relative = "theirs/real/file";
  long opens = 0, losses = 0;
  {
    fault::flipper other(d.theirs + "/real", d.theirs + "/link");
    while (other.goes_on(opens)) {
      for (const qio::directory* within : {static_cast<const qio::directory*>(nullptr), &beneath.value()}) {
        const std::string path = within == nullptr ? d.root + "/" + relative : relative;
        // Refused late, since files in memory cannot be direct.
        if (qio::direct_file::open(path, access::read_write, creation::only_if_missing, {.beneath = within})) ++losses;
        ++opens;
        if (d.victim_is_untouched()) continue;
        ++losses;
        d.restore();
      }
    }
    CHECK(other.works());
  }  // nothing is exchanged from here on: each of the two names is counted once
  CAPTURE(opens);
  CHECK(losses == 0);
  CHECK(entries(d.theirs + "/real") + entries(d.theirs + "/link") == 1);  // the victim's file; nothing is left behind
}

TEST_CASE("an open beneath another user's directory never leaves it, while names are exchanged there", "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const auto beneath = qio::directory::open(d.theirs);
  if (!beneath) QIO_SKIP(beneath.error().message());
  const qio::open_options options{.beneath = &beneath.value()};
  const std::string victim = d.root + "/victim/file";
  std::ofstream(d.theirs + "/beside") << "theirs";
  fault::flipper other(d.theirs + "/real", d.theirs + "/link");
  auto context = qio::context::create().value();
  // From then on, files there are opened on the context's thread.
  REQUIRE(context.run(qio::cached_file::async_open(context, "beside", access::read, creation::open_existing, options)));
  long opens = 0, losses = 0;
  while (other.goes_on(opens)) {
    for (const auto how : all_creations) {
      static_cast<void>(qio::cached_file::open("real/file", access::read_write, how, options));
      ++opens;
    }
    const auto opened =
        context.run(qio::cached_file::async_open(context, "real/file", access::read, creation::open_existing, options));
    ++opens;
    if (opened && is_same_file(opened.value().native_handle(), victim)) ++losses;
    if (d.victim_is_untouched()) continue;
    ++losses;
    d.restore();
  }
  CAPTURE(opens);
  CHECK(other.works());
  CHECK(losses == 0);
}

TEST_CASE("an open beneath a directory does not wait for a file that another process has leased", "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const auto beneath = qio::directory::open(d.theirs);
  if (!beneath) QIO_SKIP(beneath.error().message());
  std::ofstream(d.theirs + "/real/file") << "theirs";
  const auto before = std::signal(SIGIO, SIG_IGN);  // which asks the holder to give the lease up
  const int holder = ::open((d.theirs + "/real/file").c_str(), O_RDWR | O_CLOEXEC);
  const bool is_leased = ::fcntl(holder, F_SETLEASE, F_WRLCK) == 0;
  for (const creation how : {creation::open_existing, creation::if_needed, creation::truncate_existing}) {
    if (!is_leased) break;
    CAPTURE(static_cast<int>(how));
    const auto opened = qio::cached_file::open("real/file", access::read_write, how, {.beneath = &beneath.value()});
    REQUIRE(!opened);
    CHECK(opened.error() == std::errc::resource_unavailable_try_again);
  }
  ::close(holder);
  std::signal(SIGIO, before);
  if (!is_leased) QIO_SKIP("no leases on /dev/shm");
  CHECK(contents(d.theirs + "/real/file") == "theirs");
}

TEST_CASE("an open without a worker opens the file that it has found, whatever its name leads to by then",
          "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const std::string path = d.theirs + "/real/file", moved = d.theirs + "/moved";
  std::ofstream(path) << "theirs";
  qio::platform::known_file_systems known;
  known.remember(begin(path, creation::open_existing).value().storage());
  bool is_found = false;
  const auto exchange = [&](const qio::platform::file_storage&) {
    std::filesystem::rename(path, moved);
    std::filesystem::create_symlink("../../victim/file", path);
    return is_found = true;
  };
  const auto opened =
      qio::platform::opening::begin_at_once(path, qio::platform::anywhere, access::read_write, {}, known, exchange);
  if (!is_found) QIO_SKIP("no openat2 with RESOLVE_CACHED (Linux 5.12)");
  REQUIRE(opened);
  CHECK(is_same_file(opened.value().handle(), moved));
  CHECK_FALSE(is_same_file(opened.value().handle(), path));
  CHECK((::fcntl(opened.value().handle(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("always_new follows no link of another user in a sticky directory that everybody may write to", "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const std::string shared = d.root + "/shared";
  std::filesystem::create_directory(shared);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  const auto link = [&](const char* name, uid_t owner) {
    std::filesystem::create_symlink("../victim/file", shared + "/" + name);
    REQUIRE(::lchown((shared + "/" + name).c_str(), owner, owner) == 0);
  };
  const auto replace = [&](const char* name) {
    const auto opened = qio::cached_file::open(shared + "/" + name, access::write, creation::always_new);
    return opened ? qio::error() : opened.error();
  };
  link("theirs", fault::stranger);
  CHECK(replace("theirs") == std::errc::permission_denied);
  // Nor by way of one that may be followed.
  std::filesystem::create_symlink("theirs", shared + "/to_theirs");
  CHECK(replace("to_theirs") == std::errc::permission_denied);
  CHECK(d.victim_is_untouched());

  SECTION("one's own is not, either, if it has a second name, which another user may have made") {
    link("own", 0);
    std::filesystem::create_hard_link(shared + "/own", shared + "/second");
    CHECK(replace("second") == std::errc::permission_denied);
    CHECK(d.victim_is_untouched());
  }
  SECTION("one's own is followed") {
    link("own", 0);
    CHECK(!replace("own").exists());
    CHECK(contents(d.root + "/victim/file").empty());
  }
  SECTION("so is one of the directory's owner") {
    REQUIRE(::chown(shared.c_str(), fault::stranger, fault::stranger) == 0);
    CHECK(!replace("theirs").exists());
    CHECK(contents(d.root + "/victim/file").empty());
  }
  SECTION("whose link it is goes by who the thread is") {
    REQUIRE(::chown((d.root + "/victim").c_str(), fault::stranger, fault::stranger) == 0);
    ::setfsuid(fault::stranger);
    const qio::error failure = replace("theirs");
    ::setfsuid(0);
    CHECK(!failure.exists());
  }
  SECTION("where others cannot make links the owner does not matter") {
    REQUIRE(::chmod(shared.c_str(), 0755) == 0);
    CHECK(!replace("theirs").exists());
  }
}

TEST_CASE("always_new never replaces a victim's file, while another user's file is exchanged for a link to it",
          "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const std::string shared = d.root + "/shared", name = shared + "/name", link = shared + "/link";
  std::filesystem::create_directory(shared);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  std::filesystem::create_symlink("../victim/file", link);
  std::filesystem::create_symlink("../theirs/real/file", name);
  for (const std::string& each : {name, link}) REQUIRE(::lchown(each.c_str(), fault::stranger, 0) == 0);
  fault::flipper other(name, link);
  long opens = 0, losses = 0;
  for (; other.goes_on(opens); ++opens) {
    if (qio::cached_file::open(name, access::write, creation::always_new)) ++losses;
    if (!d.victim_is_untouched()) {
      ++losses;
      d.restore();
    }
  }
  CHECK(other.works());
  CHECK(losses == 0);
}

TEST_CASE("always_new follows no link whose owner is unknown in this user namespace", "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const std::string shared = d.root + "/shared", link = shared + "/link";
  std::filesystem::create_directory(shared);
  std::filesystem::create_symlink("../victim/file", link);
  // Two users, whom the namespace shows as one: nobody.
  REQUIRE(::lchown(link.c_str(), 4711, 4711) == 0);
  REQUIRE(::chown(shared.c_str(), 4712, 4712) == 0);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  const int answer = qio_test::in_child([&] {
    if (!leaves_other_users()) return 2;
    const auto opened = qio::cached_file::open(link, access::write, creation::always_new);
    return !opened && opened.error() == std::errc::permission_denied ? 0 : 1;
  });
  if (answer == 2) QIO_SKIP("user namespaces are unavailable");
  CHECK(answer == 0);
  CHECK(d.victim_is_untouched());
}

TEST_CASE("always_new refuses a magic link that leads elsewhere than its text says", "[hostile]") {
  const fault::hostile_directory d;
  if (!d.missing.empty()) QIO_SKIP(d.missing);
  const std::string moved = d.theirs + "/real/moved";
  std::ofstream(moved) << "theirs";
  const int held = ::open(moved.c_str(), O_RDWR | O_CLOEXEC);
  const std::string magic = "/proc/self/fd/" + std::to_string(held);
  const auto replace = [&] { return qio::cached_file::open(magic, access::write, creation::always_new); };
  CHECK(replace());  // the text is the file's name
  std::ofstream(moved) << "another's";
  CHECK(replace().error() == std::errc::too_many_symbolic_link_levels);  // "…/moved (deleted)"
  CHECK(contents(moved) == "another's");
  CHECK(entries(d.theirs + "/real") == 1);
  ::close(held);
}

TEST_CASE("opening a terminal does not make it the controlling terminal", "[hostile]") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) QIO_SKIP("no terminals");
  const std::string name = ::ptsname(terminal);
  const int answer = qio_test::in_child([&] {
    ::setsid();  // as daemons do
    for (const creation how : {creation::open_existing, creation::if_needed, creation::truncate_existing})
      static_cast<void>(qio::cached_file::open(name, access::read_write, how));  // for writing alone, Linux never does
    static_cast<void>(qio::directory::open(name));
    return ::open("/dev/tty", O_RDWR | O_CLOEXEC) >= 0 ? 1 : 0;
  });
  ::close(terminal);
  CHECK(answer == 0);
}
