// Opening: each access and creation, and what a failed open leaves behind.
#include "world.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace contract {

namespace {

constexpr access all_access[] = {access::read, access::write, access::read_write};

mode_t permissions_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

/// A directory on tmpfs, for as long as it lives; its path is empty where there is none.
class memory_directory {
 public:
  memory_directory() {
    struct statfs system;
    if (::statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) return;
    std::string name = "/dev/shm/qio-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path = name;
  }
  ~memory_directory() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  bool is_empty() const { return std::filesystem::is_empty(path); }
  std::string path;
};

}  // namespace

PROMISE(existing, each_mode, "open_existing opens what is there, and nothing else") {
  put(w.where / "old", "contents");
  for (const access each : all_access) {
    CHECK(w.open("old", each, creation::open_existing));
    const auto missing = w.open("missing", each, creation::open_existing);
    REQUIRE(!missing);
    CHECK(missing.error() == std::errc::no_such_file_or_directory);
    CHECK(missing.error().code().category() == std::system_category());
  }
  CHECK(contents(w.where / "old") == "contents");
  CHECK(w.where.entries() == 1);
}

PROMISE(if_needed, each_mode, "if_needed keeps what is there, and creates what is not") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    CHECK(w.open("old", each, creation::if_needed));
    CHECK(contents(w.where / "old") == "contents");
    auto created = w.open("new", each, creation::if_needed);
    REQUIRE(created);
    CHECK(created.value().size().value() == 0);
    CHECK(std::filesystem::remove(w.where / "new"));
  }
}

PROMISE(only_if_missing, each_mode, "only_if_missing refuses what is there") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    CHECK(w.open("old", each, creation::only_if_missing).error() == std::errc::file_exists);
    CHECK(contents(w.where / "old") == "contents");
    CHECK(w.open("new", each, creation::only_if_missing));
    CHECK(std::filesystem::remove(w.where / "new"));
  }
}

PROMISE(truncate_existing, each_mode, "truncate_existing empties what is there, and needs access to write") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    const auto opened = w.open("old", each, creation::truncate_existing);
    if (each == access::read) {
      CHECK(opened.error() == errc::access_not_granted);
      CHECK(contents(w.where / "old") == "contents");
    } else {
      REQUIRE(opened);
      CHECK(opened.value().size().value() == 0);
      CHECK(contents(w.where / "old").empty());
    }
    CHECK(w.open("missing", access::write, creation::truncate_existing).error() ==
          std::errc::no_such_file_or_directory);
  }
}

PROMISE(truncated_is_empty, each_mode, "a file that was truncated by open holds what is written then, and no more") {
  { auto before = w.with(2 * 4096); }
  auto file = w.open("data", access::read_write, creation::truncate_existing).value();
  const std::size_t part = w.unit == 1 ? 10 : w.unit;
  memory buffer(3 * part);
  CHECK(file.read_at(0, buffer.all()).value() == 0);
  if constexpr (Where::mode::is_mapped) CHECK(file.view(0, 1).error() == errc::beyond_end);
  auto source = memory::with_pattern(0, 2 * part);
  CHECK(file.write_at(0, source.part(0, part)).value() == part);
  CHECK(file.write_at(part, source.part(part, part)).value() == part);
  CHECK(file.size().value() == 2 * part);
  CHECK(file.read_at(0, buffer.all()).value() == 2 * part);
  CHECK(holds_pattern(buffer.part(0, 2 * part), 0));
}

PROMISE(always_new, each_mode, "always_new puts an empty file in place of the old one, which its holders keep") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    auto holder = qio::cached_file::open(w.where / "old").value();
    auto opened = w.open("old", each, creation::always_new);
    REQUIRE(opened);
    CHECK(opened.value().size().value() == 0);
    CHECK(contents(w.where / "old").empty());
    std::array<std::byte, 8> kept;
    CHECK(holder.read_at(0, kept).value() == 8);
    CHECK(kept[0] == std::byte{'c'});
    CHECK(w.where.entries() == 1);
  }
  CHECK(w.open("new", access::write, creation::always_new));
  CHECK(w.where.entries() == 2);
}

PROMISE(always_new_limits, each_mode, "always_new replaces regular files only, and not the links that lead to them") {
  put(w.where / "target", "contents");
  std::filesystem::create_symlink("target", w.where / "link");
  CHECK(w.open("link", access::write, creation::always_new));
  CHECK(std::filesystem::is_symlink(w.where / "link"));
  CHECK(contents(w.where / "target").empty());

  const std::string longest(255, 'n');
  CHECK(w.open(longest.c_str(), access::write, creation::always_new));
  CHECK(std::filesystem::exists(w.where / longest.c_str()));

  REQUIRE(::mkfifo((w.where / "pipe").c_str(), 0600) == 0);
  CHECK(w.open("pipe", access::write, creation::always_new).error() == std::errc::file_exists);
  CHECK(std::filesystem::is_fifo(w.where / "pipe"));
  CHECK(w.where.entries() == 4);
}

PROMISE(failed_open, each_mode, "an open that fails leaves the disk as it was") {
  std::filesystem::create_directory(w.where / "directory");
  for (const access each : all_access)
    for (const auto how : {creation::open_existing, creation::if_needed, creation::only_if_missing,
                           creation::truncate_existing, creation::always_new}) {
      CHECK(!w.open("directory", each, how));
      CHECK(!w.open("directory/no/such", each, how));
    }
  CHECK(w.open("directory", access::read, creation::open_existing).error() == std::errc::is_a_directory);
  CHECK(w.open("directory", access::write, creation::always_new).error() == std::errc::is_a_directory);
  CHECK(w.where.entries() == 1);
  CHECK(std::filesystem::is_empty(w.where / "directory"));
}

PROMISE(dangling, each_mode, "if_needed creates what a dangling symbolic link points to") {
  std::filesystem::create_symlink("target", w.where / "link");
  CHECK(w.open("link", access::read_write, creation::if_needed));
  CHECK(std::filesystem::exists(w.where / "target"));
  CHECK(w.open("link", access::read_write, creation::only_if_missing).error() == std::errc::file_exists);
}

PROMISE(permissions, each_mode, "a created file has the permissions asked for, less the umask") {
  const mode_t before = ::umask(027);
  CHECK(w.open("default", access::write, creation::if_needed));
  CHECK(w.open("private", access::read_write, creation::only_if_missing, {.permissions = 0600}));
  CHECK(w.open("program", access::read_write, creation::always_new, {.permissions = 0777}));
  CHECK(w.open("unwritable", access::read_write, creation::if_needed, {.permissions = 0444}));
  ::umask(before);
  CHECK(permissions_of(w.where / "default") == 0640);
  CHECK(permissions_of(w.where / "private") == 0600);
  CHECK(permissions_of(w.where / "program") == 0750);
  CHECK(permissions_of(w.where / "unwritable") == 0440);
}

PROMISE(not_inherited, everywhere, "handles are not inherited by child processes") {
  auto file = w.with(0);
  CHECK((::fcntl(file.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(((::fcntl(file.native_handle(), F_GETFL) & O_DIRECT) != 0) == Where::mode::is_direct);
}

PROMISE(no_leak, each_mode, "an open that fails closes what it had opened") {
  const auto handles = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto before = handles();
  CHECK(!w.open("missing", access::read, creation::open_existing));
  CHECK(!w.open_path(w.where.path(), access::read, creation::open_existing));
  { auto opened = w.open("new", access::write, creation::if_needed); }
  CHECK(handles() == before);
}

PROMISE(direct_refused, direct_only, "direct I/O that the file system would fake is refused, and nothing created") {
  const memory_directory shm;
  if (shm.path.empty()) QIO_SKIP("/dev/shm is no tmpfs");
  const std::string path = shm.path + "/file";
  for (const auto how : {creation::if_needed, creation::only_if_missing, creation::always_new}) {
    const auto refused = w.open_path(path, access::read_write, how);
    REQUIRE(!refused);
    CHECK(refused.error() == errc::direct_in_memory);
    CHECK(refused.error() == std::errc::operation_not_supported);
    CHECK(shm.is_empty());
  }
  put(path, "contents");
  for (const auto how : {creation::truncate_existing, creation::always_new}) {
    CHECK(w.open_path(path, access::read_write, how).error() == errc::direct_in_memory);
    CHECK(contents(path) == "contents");
  }
}

PROMISE(direct_degraded, direct_only, "where it is let degrade it says so, and goes on demanding alignment") {
  const memory_directory shm;
  if (shm.path.empty()) QIO_SKIP("/dev/shm is no tmpfs");
  auto file = w.open_path(shm.path + "/file", access::read_write, creation::if_needed,
                          {.fallback = qio::if_not_direct::use_cache})
                  .value();
  CHECK(!file.is_direct());
  const qio::explanation facts = file.explain();
  CHECK(facts.find("direct")->value == "off");
  CHECK(facts.find("direct")->reason.find("tmpfs") != std::string::npos);
  CHECK(file.alignment() == qio::alignment{4096, 4096, 4096});

  auto block = memory::with_pattern(0, 8192);
  CHECK(file.write_at(0, block.all()).value() == 8192);
  CHECK(file.write_at(512, block.all()).error() == errc::misaligned_offset);
  CHECK(file.resize(5000));
  memory read(8192);
  CHECK(file.read_at(0, read.all()).value() == 5000);
  CHECK(holds_pattern(read.part(0, 5000), 0));
}

}  // namespace contract
