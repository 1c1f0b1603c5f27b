// Opening, as far as it is Linux's: links, pipes, permissions, file systems in memory.
#include "../world.hpp"
#include "memory_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace contract {

namespace {

mode_t permissions_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

PROMISE(always_new_limits, each_mode, "always_new replaces regular files only, and not the links that lead to them") {
  put(w.where / "target", "contents");
  std::filesystem::create_symlink("target", w.where / "link");
  CHECK(w.open("link", access::write, creation::always_new));
  CHECK(std::filesystem::is_symlink(w.where / "link"));
  CHECK(contents(w.where / "target").empty());

  REQUIRE(::mkfifo((w.where / "pipe").c_str(), 0600) == 0);
  CHECK(w.open("pipe", access::write, creation::always_new).error() == std::errc::file_exists);
  CHECK(std::filesystem::is_fifo(w.where / "pipe"));
  CHECK(w.where.entries() == 3);
}

PROMISE(dangling, each_mode, "if_needed and always_new create what a dangling symbolic link points to") {
  std::filesystem::create_symlink("other", w.where / "to other");
  CHECK(w.open("to other", access::write, creation::always_new));
  CHECK(std::filesystem::exists(w.where / "other"));
  CHECK(std::filesystem::is_symlink(w.where / "to other"));

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

PROMISE(context_not_inherited, each_engine_of_the_system,
        "what a context has open is not inherited by other programs") {
  const auto open_handles = [] {
    std::vector<int> found;
    for (int handle = 0; handle < 1024; ++handle)
      if (os::is_open(handle)) found.push_back(handle);
    return found;
  };
  const std::vector<int> before = open_handles();
  auto another = world<Where>::context_type::create().value();
  another.poll();
  const std::vector<int> after = open_handles();
  CHECK((after.size() > before.size()) == (another.explain().find("engine")->value != "pool"));
  for (const int handle : after)
    if (std::find(before.begin(), before.end(), handle) == before.end()) CHECK(!os::is_inherited(handle));
}

PROMISE(direct_flag, everywhere_in_the_system, "a direct file, and no other, has the system's flag") {
  auto file = w.with(0);
  CHECK(((::fcntl(file.native_handle(), F_GETFL) & O_DIRECT) != 0) == Where::mode::is_direct);
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
                          {.fallback = qio::if_unavailable::use_cache})
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
