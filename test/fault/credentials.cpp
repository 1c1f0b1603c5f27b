// A process that drops root: from then on, its contexts act with its new credentials.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "engines.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

namespace {

using qio::access;
using qio::creation;

constexpr uid_t nobody = 65534;

bool become_nobody() {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
         ::setresuid(nobody, nobody, nobody) == 0;
}
bool act_as_nobody() { return ::seteuid(nobody) == 0; }

template <class Engine>
qio::error opening(qio::basic_context<Engine>& on, const char* path, access wanted,
                   creation how = creation::open_existing) {
  const auto open = [](auto& context, std::string name, access for_what, creation how_so) -> qio::task<qio::error> {
    const auto opened = co_await qio::cached_file::async_open(context, name, for_what, how_so);
    co_return opened ? qio::error() : opened.error();
  };
  return on.run(open(on, path, wanted, how));
}

/// In the current directory, which everybody may search and only root may write to.
bool make_files() {
  const auto make = [](const char* name, std::uint32_t permissions) {
    return qio::cached_file::open(name, access::write, creation::only_if_missing, {.permissions = permissions})
               .has_value() &&
           ::chmod(name, permissions) == 0;
  };
  return make("secret", 0600) && make("public", 0644) && make("program", 04777);
}

bool runs_as_root_when_executed(const char* name) {
  struct stat status;
  return ::stat(name, &status) == 0 && (status.st_mode & S_ISUID) != 0;
}

/// 0 if a context that root created and used opens none of root's files after `give_up`.
int opens_as_who_it_is(qio::context& made_by_root, bool (*give_up)()) {
  if (opening(made_by_root, "secret", access::read_write).exists()) return 10;
  auto kept = qio::cached_file::open(made_by_root, "secret", access::read_write);
  if (!kept || !give_up()) return 11;
  if (opening(made_by_root, "secret", access::read) != std::errc::permission_denied) return 12;
  if (opening(made_by_root, "public", access::write) != std::errc::permission_denied) return 13;
  if (opening(made_by_root, "new", access::write, creation::if_needed) != std::errc::permission_denied) return 14;
  if (opening(made_by_root, "public", access::write, creation::always_new) != std::errc::permission_denied) return 15;
  if (qio::cached_file::open(made_by_root, "secret").error() != std::errc::permission_denied) return 16;
  if (opening(made_by_root, "public", access::read).exists()) return 17;
  // An open file stays open: the permission was checked when it was opened.
  std::array<std::byte, 16> block{};
  if (!made_by_root.run(kept.value().async_write_at(0, block))) return 18;
  return 0;
}

/// 0 if a write by a context that root created and used counts as one by the process's current user. The kernel clears
/// the set-user-ID bit of a program that another user than root writes to.
int writes_as_who_it_is(qio::context& made_by_root, bool (*give_up)()) {
  auto file = qio::cached_file::open(made_by_root, "program", access::read_write, creation::open_existing,
                                     {.inline_writes = qio::inline_transfers::never});
  std::array<std::byte, 16> block{};
  if (!file || !made_by_root.run(file.value().async_write_at(0, block))) return 20;
  if (!runs_as_root_when_executed("program")) return 21;
  if (!give_up() || !made_by_root.run(file.value().async_write_at(0, block))) return 22;
  return runs_as_root_when_executed("program") ? 23 : 0;
}

/// Calls `check` with a context of each engine, each in a child process and a directory of its own. Returns the first
/// result that is not 0.
template <class Check>
int in_children(Check check) {
  int worst = 0;
  for (const auto engine :
       {qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers, qio::engine_kind::any}) {
    const fault::scratch directory;
    const int answer = qio_test::in_child([&] {
      if (::chmod(directory.path.c_str(), 0755) != 0 || ::chdir(directory.path.c_str()) != 0 || !make_files()) return 1;
      auto made_by_root = qio::context::create({.engine = engine});
      return made_by_root ? check(made_by_root.value()) : 0;  // other tests report why there is no ring
    });
    if (worst == 0) worst = answer;
  }
  return worst;
}

}  // namespace

TEST_CASE("a context that root created opens nothing as root after the process has changed its user") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  CHECK(in_children([](auto& context) { return opens_as_who_it_is(context, &become_nobody); }) == 0);
  CHECK(in_children([](auto& context) { return opens_as_who_it_is(context, &act_as_nobody); }) == 0);
}

TEST_CASE("a context that root created writes as the user that the process has at the time") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  CHECK(in_children([](auto& context) { return writes_as_who_it_is(context, &become_nobody); }) == 0);
  CHECK(in_children([](auto& context) { return writes_as_who_it_is(context, &act_as_nobody); }) == 0);
}

TEST_CASE("open checks the permissions of the calling thread, even if other threads are root") {
  if (::geteuid() != 0) QIO_SKIP("needs root");
  CHECK(in_children([](auto& context) {
          if (opening(context, "secret", access::read).exists()) return 10;  // a worker has begun as root
          ::setfsuid(nobody);                                                // for this thread only
          if (qio::cached_file::open(context, "secret").error() != std::errc::permission_denied) return 11;
          return qio::cached_file::open("secret").error() != std::errc::permission_denied ? 12 : 0;
        }) == 0);
}
