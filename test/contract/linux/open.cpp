// Opening on Linux: links, pipes, permissions, file systems in memory.
#include "../world.hpp"
#include "memory_directory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace contract {

namespace {

void make_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int handle = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int bound = ::bind(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::close(handle);
  REQUIRE(bound == 0);
}

/// A process that has a lease on a file, and gives it up when the kernel asks it to.
class lease_holder {
 public:
  explicit lease_holder(const std::string& path) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      sigset_t asked;
      sigemptyset(&asked);
      sigaddset(&asked, SIGIO);
      sigprocmask(SIG_BLOCK, &asked, nullptr);
      const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      const char answer = ::fcntl(file, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
      if (::write(ready[1], &answer, 1) != 1 || answer == 'n') ::_exit(1);
      int number = 0;
      sigwait(&asked, &number);
      ::_exit(0);
    }
    char answer = 'n';
    const bool answered = ::read(ready[0], &answer, 1) == 1;
    ::close(ready[0]);
    ::close(ready[1]);
    has_lease = answered && answer == 'y';
  }
  lease_holder(const lease_holder&) = delete;
  lease_holder& operator=(const lease_holder&) = delete;
  ~lease_holder() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  bool has_lease = false;

 private:
  pid_t child_;
};

}  // namespace

PROMISE(always_new_limits, each_mode,
        "always_new replaces regular files only, and keeps the symbolic links that lead to them") {
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

PROMISE(no_offsets, everywhere_in_the_system, "opening a pipe, a socket or a terminal fails at once") {
  REQUIRE(::mkfifo((w.where / "pipe").c_str(), 0600) == 0);
  make_socket(w.where / "socket");
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::vector<std::string> paths{w.where / "pipe", w.where / "socket"};
  if (terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0) paths.push_back(::ptsname(terminal));
  for (const access each : all_access)
    for (const auto how : {creation::open_existing, creation::if_needed, creation::truncate_existing}) {
      if (each == access::read && how == creation::truncate_existing) continue;
      for (const std::string& path : paths) {
        CAPTURE(path);
        const auto refused = w.open_path(path, each, how);
        REQUIRE(!refused);
        CHECK(refused.error() == errc::no_offsets);
      }
    }
  if (terminal >= 0) ::close(terminal);
  CHECK(w.where.entries() == 2);
}

PROMISE(pipes_stall_nothing, of_the_system, "opening pipes that have no writer does not delay other opens") {
  REQUIRE(::mkfifo((w.where / "pipe").c_str(), 0600) == 0);
  put(w.where / "file", "contents");
  const auto open = [](auto& on, std::string path) -> qio::task<qio::error> {
    const auto opened = co_await qio::basic_file<typename Where::mode>::async_open(on, path);
    co_return opened ? qio::error() : opened.error();
  };
  std::vector<qio::task<qio::error>> opens;
  for (int each = 0; each < 16; ++each) opens.push_back(open(*w.context, w.where / "pipe"));
  opens.push_back(open(*w.context, w.where / "file"));
  const std::vector<qio::error> failures = w.context->run(qio::when_all(std::move(opens)));
  CHECK(!failures.back().exists());
  CHECK(std::count(failures.begin(), failures.end(), qio::error(errc::no_offsets)) == 16);
}

PROMISE(waits_for_no_data, everywhere_in_the_system, "an opened file does not have O_NONBLOCK, and keeps O_DSYNC") {
  put(w.where / "file", "contents");
  for (const auto how : {creation::open_existing, creation::if_needed, creation::always_new}) {
    auto file = w.open("file", access::read_write, how, {.durable_writes = true}).value();
    const int flags = ::fcntl(file.native_handle(), F_GETFL);
    CHECK((flags & O_NONBLOCK) == 0);
    CHECK((flags & O_DSYNC) != 0);
  }
}

PROMISE(leased, each_mode, "an open waits until another process has given up its lease on the file") {
  put(w.where / "file", "contents");
  for (const auto how : {creation::open_existing, creation::if_needed}) {
    const lease_holder other(w.where / "file");
    if (!other.has_lease) QIO_SKIP("this file system grants no leases");
    CHECK(w.open("file", access::read_write, how));
  }
}

PROMISE(names_taken, each_mode, "always_new succeeds if others have taken predictable temporary names") {
  const std::string stem = w.where / ".qio-" + std::to_string(::getpid()) + '-';
  for (int number = 0; number < 100; ++number) put(stem + std::to_string(number), "theirs");
  CHECK(w.open("new", access::write, creation::always_new));
  CHECK(w.where.entries() == 101);
}

PROMISE(names_unpredictable, each_mode, "the temporary name of always_new cannot be predicted from the previous one") {
  std::vector<std::string> names;
  for (int each = 0; each < 2; ++each) {
    const auto begun = qio::platform::opening::begin(w.where / "new", qio::platform::anywhere, access::write,
                                                     creation::always_new, 0666, {});
    REQUIRE(begun);
    names.push_back(std::filesystem::directory_iterator(w.where.path())->path().filename());
  }
  CHECK(names[0] != names[1]);
  CHECK(w.where.entries() == 0);
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

PROMISE(permissions_of_new, each_mode, "a created file has the requested permissions, less the umask") {
  const mode_t before = ::umask(027);
  CHECK(w.open("default", access::write, creation::if_needed));
  CHECK(w.open("private", access::read_write, creation::only_if_missing, {.permissions = 0600}));
  CHECK(w.open("program", access::read_write, creation::always_new, {.permissions = 0777}));
  CHECK(w.open("unwritable", access::read_write, creation::if_needed, {.permissions = 0444}));
  ::umask(before);
  CHECK(os::permissions_of(w.where / "default") == 0640);
  CHECK(os::permissions_of(w.where / "private") == 0600);
  CHECK(os::permissions_of(w.where / "program") == 0750);
  CHECK(os::permissions_of(w.where / "unwritable") == 0440);
}

PROMISE(context_not_inherited, each_engine_of_the_system, "other programs do not inherit what a context has open") {
  const auto open_handles = [] {
    std::vector<int> found;
    for (int handle = 0; handle < 1024; ++handle)
      if (os::is_open(handle)) found.push_back(handle);
    return found;
  };
  const std::vector<int> before = open_handles();
  auto another = world<Where>::new_context().value();
  another.poll();
  const std::vector<int> after = open_handles();
  CHECK((after.size() > before.size()) == (another.explain().find("engine")->value != "pool"));
  for (const int handle : after)
    if (std::find(before.begin(), before.end(), handle) == before.end()) CHECK(!os::is_inherited(handle));
}

PROMISE(direct_flag, everywhere_in_the_system, "only a direct file has O_DIRECT") {
  auto file = w.with(0);
  CHECK(((::fcntl(file.native_handle(), F_GETFL) & O_DIRECT) != 0) == Where::mode::is_direct);
}

PROMISE(direct_refused, direct_only, "direct I/O that the file system would fake is refused, and no file is created") {
  const memory_directory shm;
  if (shm.path.empty()) QIO_SKIP("/dev/shm is not a tmpfs");
  const std::string path = shm.path + "/file";
  for (const auto how : {creation::if_needed, creation::only_if_missing, creation::always_new, creation::emptied}) {
    const auto refused = w.open_path(path, access::read_write, how);
    REQUIRE(!refused);
    CHECK(refused.error() == errc::direct_in_memory);
    CHECK(refused.error() == std::errc::operation_not_supported);
    CHECK(shm.is_empty());
  }
  put(path, "contents");
  for (const auto how : {creation::truncate_existing, creation::always_new, creation::emptied}) {
    CHECK(w.open_path(path, access::read_write, how).error() == errc::direct_in_memory);
    CHECK(contents(path) == "contents");
  }
}

PROMISE(direct_device, direct_only, "a direct open of a character device fails, and says that it is one") {
  for (const char* const path : {"/dev/null", "/dev/zero"}) {
    const auto refused = w.open_path(path, access::read, creation::open_existing);
    REQUIRE(!refused);
    CHECK(refused.error() == errc::direct_to_character_device);
    CHECK(refused.error() == std::errc::operation_not_supported);
    CHECK(refused.error().message().find("character device") != std::string::npos);
  }
}

PROMISE(direct_degraded, direct_only,
        "a direct file that falls back to the cache reports that, and still requires alignment") {
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
