// Which files a context opens and closes without a worker, and what that may cost.
#include "catch.hpp"
#include "disk.hpp"
#include "engines.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using fault::on_every_engine;
using qio::inline_transfers, qio::creation;
namespace fs = std::filesystem;

bool kernel_finds_at_once() {
  struct open_how how {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  const long handle = ::syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
  if (handle >= 0) ::close(static_cast<int>(handle));
  return handle >= 0;
}
constexpr const char* finds_nothing_at_once = "no openat2 with RESOLVE_CACHED (Linux 5.12)";
constexpr const char* no_leases = "the file system of the working directory grants no leases";

bool kernel_numbers_mounts() {
  qio::platform::file_place here;
  const auto file = qio::cached_file::open("/proc/self/exe");
  return file && here.find(file.value().native_handle()) && here.mount != 0;
}

/// A file that cannot be opened until another handle gives up its lease.
class leased_file {
 public:
  explicit leased_file(const std::string& directory) : path(directory + "/leased") {
    std::ofstream(path) << "contents";
    std::signal(SIGIO, SIG_IGN);  // which asks the holder to give it up
    holder_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    is_leased = ::fcntl(holder_, F_SETLEASE, F_WRLCK) == 0;
  }
  leased_file(const leased_file&) = delete;
  leased_file& operator=(const leased_file&) = delete;
  ~leased_file() { ::close(holder_); }
  void give_up() { ::fcntl(holder_, F_SETLEASE, F_UNLCK); }

  const std::string path;
  bool is_leased;

 private:
  int holder_;
};

bool grants_leases() {
  const fault::scratch directory;
  return leased_file(directory.path).is_leased;
}

/// Runs the task that `make(context)` returns on a new context, whose only worker is busy. Whether it had no need of a
/// worker. The context knows where `beside` is, a file that has been opened on it.
template <class Context, class Make>
bool ends_before_worker(const std::string& beside, Make&& make, qio::polling polling = qio::polling::off) {
  const fault::scratch directory;
  leased_file leased(directory.path);
  REQUIRE(leased.is_leased);
  auto context = Context::create({.workers = 1, .polling = polling}).value();
  CHECK(context.run(qio::cached_file::async_open(context, beside)));
  bool has_ended = false, has_ended_before = false;
  const auto occupy = [&]() -> qio::task<void> {
    const auto file = co_await qio::cached_file::async_open(context, leased.path);
    CHECK(file);
    has_ended_before = has_ended;
  };
  const auto run = [&]() -> qio::task<void> {
    co_await make(context);
    has_ended = true;
    leased.give_up();
  };
  const auto free_worker = [&]() -> qio::task<void> {
    static_cast<void>(co_await context.sleep_for(200ms));
    leased.give_up();
  };
  context.run(qio::when_all(occupy(), run(), free_worker()));
  return has_ended_before;
}

/// The time of a turn may have been used up by others, and a wait may have begun a pause; so it is tried again.
template <class Context, class Make>
bool needs_no_worker(const Context&, const std::string& beside, Make&& make) {
  for (int tries = 0; tries < 20; ++tries)
    if (ends_before_worker<Context>(beside, make)) return true;
  return false;
}
template <class Context, class Make>
bool needs_a_worker(const Context&, const std::string& beside, Make&& make) {
  return !ends_before_worker<Context>(beside, make);
}

template <class Mode, class Context>
auto opening(Context& on, const std::string& path, qio::open_options options = {},
             creation how = creation::open_existing, qio::access wanted = qio::access::read_write) {
  options.fallback = qio::if_unavailable::use_cache;
  return qio::basic_file<Mode>::async_open(on, path, wanted, how, options);
}

/// Opens the file, and closes it unless closing a mapped one takes a worker.
template <class Mode, class Context>
qio::task<void> open_and_close(Context& on, std::string path, qio::access wanted = qio::access::read_write) {
  auto file = co_await opening<Mode>(on, path, {}, creation::open_existing, wanted);
  CHECK((file && file.value().size().value() == 8));
  if (!file) co_return;
  if constexpr (!Mode::is_mapped) {
    const auto closed = co_await file.value().async_close();
    CHECK(closed);
  }
}

/// Far more often than the time of one turn allows.
template <class Context>
qio::task<void> open_and_close_often(Context& on, std::string path) {
  for (int i = 0; i < 200; ++i) co_await open_and_close<qio::cached>(on, path);
}

template <class Context>
qio::task<void> open_only(Context& on, std::string path, qio::open_options options, creation how) {
  const auto file = co_await opening<qio::cached>(on, path, options, how);
  CHECK(file);
}

/// Closes a file that `change` has changed.
template <class Context, class Change>
qio::task<void> close_changed(Context& on, std::string path, qio::open_options options, creation how, Change change) {
  auto file = qio::cached_file::open(on, path, qio::access::read_write, how, options).value();
  change(file);
  const auto closed = co_await file.async_close();
  CHECK(closed);
}

void signal_daemon(const fault::mounted& of, const std::string& signal) {
  fault::output_of("pkill -" + signal + " -f '^bindfs .*" + of.path + "'");
}

}  // namespace

TEST_CASE("opening and closing an existing file needs no worker on ext4, XFS, btrfs, tmpfs and overlay") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::scratch below;
  for (const std::string kind : {"ext4", "xfs", "btrfs", "tmpfs", "overlay"}) {
    const fault::mounted mounted(kind, 320 << 20, below.path);
    if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
    INFO(kind);
    const std::string path = mounted.path + "/file";
    std::ofstream(path) << "contents";
    const qio::access wanted = kind == "overlay" ? qio::access::read : qio::access::read_write;
    on_every_engine([&](auto& any) {
      const auto open = [&]<class Mode>(Mode) {
        return [&](auto& context) { return open_and_close<Mode>(context, path, wanted); };
      };
      CHECK(needs_no_worker(any, path, open(qio::cached())));
      CHECK(needs_no_worker(any, path, open(qio::uncached())));
      CHECK(needs_no_worker(any, path, open(qio::direct())));
      CHECK(needs_no_worker(any, path, open(qio::mapped())));
    });
  }
}

TEST_CASE("a worker opens a file of an overlay for writing, since that may copy the whole file") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::scratch below;
  const fault::mounted mounted("overlay", 320 << 20, below.path);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string path = mounted.path + "/file";
  std::ofstream(path) << "contents";
  on_every_engine([&](auto& any) {
    for (const qio::access wanted : {qio::access::write, qio::access::read_write})
      CHECK(
          needs_a_worker(any, path, [&](auto& context) { return open_and_close<qio::cached>(context, path, wanted); }));
  });
}

TEST_CASE("a worker opens direct files of a context that polls, which takes a transfer") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::mounted mounted("ext4", 16 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string path = mounted.path + "/file";
  std::ofstream(path) << "contents";
  on_every_engine([&](auto& any) {
    using Context = std::remove_cvref_t<decltype(any)>;
    CHECK_FALSE(ends_before_worker<Context>(
        path, [&](auto& context) { return open_and_close<qio::direct>(context, path); }, qio::polling::busy));
  });
}

TEST_CASE("a coroutine that opens and closes many files needs no worker, and leaves the others their turn") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string path = mounted.path + "/file";
  std::ofstream(path) << "contents";
  on_every_engine([&](auto& any) {
    CHECK(needs_no_worker(any, path, [&](auto& context) { return open_and_close_often(context, path); }));
    bool has_slept = false;
    int opened = 0;
    const auto open_until = [&]() -> qio::task<void> {
      for (; !has_slept && opened < 100'000; ++opened) co_await open_and_close<qio::cached>(any, path);
    };
    const auto sleep = [&]() -> qio::task<void> {
      static_cast<void>(co_await any.sleep_for(1ms));
      has_slept = true;
    };
    any.run(qio::when_all(open_until(), sleep()));
    CHECK(opened < 100'000);
  });
}

TEST_CASE("a coroutine that asks for missing files again and again leaves the others their turn") {
  on_every_engine([&](auto& any) {
    bool has_slept = false;
    int asked = 0;
    const auto ask_until = [&]() -> qio::task<void> {
      for (; !has_slept && asked < 100'000; ++asked) CHECK_FALSE(co_await opening<qio::cached>(any, "missing"));
    };
    const auto sleep = [&]() -> qio::task<void> {
      static_cast<void>(co_await any.sleep_for(1ms));
      has_slept = true;
    };
    any.run(qio::when_all(ask_until(), sleep()));
    CHECK(asked < 100'000);
  });
}

TEST_CASE("a worker opens and closes what may wait, and all if asked to") {
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string path = mounted.path + "/file", beside = mounted.path + "/beside";
  const auto make_file = [&] { std::ofstream(path) << "contents"; };
  std::ofstream(beside) << "contents";
  const auto nothing = [](auto&) {};
  on_every_engine([&](auto& any) {
    make_file();
    for (const creation how : {creation::open_existing, creation::if_needed, creation::always_new,
                               creation::truncate_existing, creation::emptied, creation::only_if_missing}) {
      CAPTURE(static_cast<int>(how));
      if (how == creation::only_if_missing) fs::remove(path);
      const bool is_asked = how == creation::open_existing;
      const qio::open_options options{.inline_opening = is_asked ? inline_transfers::never : inline_transfers::always};
      CHECK(needs_a_worker(any, beside, [&](auto& context) { return open_only(context, path, options, how); }));
    }
    make_file();
    CHECK(needs_a_worker(any, beside, [&](auto& context) {
      return close_changed(context, path, {.inline_opening = inline_transfers::never}, creation::open_existing,
                           nothing);
    }));
    CHECK(needs_a_worker(any, beside, [&](auto& context) {
      return close_changed(context, path, {}, creation::truncate_existing, nothing);
    }));
    CHECK(needs_a_worker(any, beside, [&](auto& context) {
      return close_changed(context, path, {}, creation::open_existing, [](auto& file) { CHECK(file.resize(4)); });
    }));
    CHECK(needs_a_worker(any, beside, [&](auto& context) {
      return close_changed(context, path, {}, creation::open_existing, [&](auto&) { fs::remove(path); });
    }));
    make_file();
    CHECK(needs_no_worker(any, beside, [&](auto& context) {
      return close_changed(context, path, {}, creation::open_existing, nothing);
    }));
  });
}

TEST_CASE("the file system of the first file that is opened there is found out by a worker") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const fault::scratch elsewhere;
  const std::string path = mounted.path + "/file", beside = elsewhere.path + "/file";
  for (const std::string& each : {path, beside}) std::ofstream(each) << "contents";
  on_every_engine([&](auto& any) {
    CHECK(needs_a_worker(any, beside, [&](auto& context) { return open_and_close<qio::cached>(context, path); }));
    CHECK(needs_no_worker(any, path, [&](auto& context) { return open_and_close<qio::cached>(context, path); }));
    // Linux before 6.8 has no numbers of mounts that are given only once, so the context asks again after any mount.
    const auto open_after_mount = [&](auto& context) {
      const fault::mounted another("tmpfs", 1 << 20);
      return open_and_close<qio::cached>(context, path);
    };
    if (kernel_numbers_mounts())
      CHECK(needs_no_worker(any, path, open_after_mount));
    else
      CHECK(needs_a_worker(any, path, open_after_mount));
  });
}

TEST_CASE("a mount is noticed where only the context's thread sees it") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (kernel_numbers_mounts()) QIO_SKIP("mounts have numbers of their own (Linux 6.8), and need not be watched");
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string path = mounted.path + "/file";
  std::ofstream(path) << "contents";
  bool is_apart = false;
  std::thread([&] {
    is_apart =
        ::unshare(CLONE_FS | CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!is_apart) return;
    on_every_engine([&](auto& any) {
      CHECK(needs_no_worker(any, path, [&](auto& context) { return open_and_close<qio::cached>(context, path); }));
      CHECK(needs_a_worker(any, path, [&](auto& context) {
        const fault::mounted another("tmpfs", 1 << 20);
        return open_and_close<qio::cached>(context, path);
      }));
    });
  }).join();
  if (!is_apart) QIO_SKIP("no mount namespace of its own for a thread");
}

TEST_CASE("a missing file is reported without a worker, and a directory or a pipe by one") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::mounted mounted("ext4", 16 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string beside = mounted.path + "/file", missing = mounted.path + "/missing";
  const std::string directory = mounted.path + "/directory", pipe = mounted.path + "/pipe";
  std::ofstream(beside) << "contents";
  fs::create_directory(directory);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto fails = [](auto& context, std::string path, auto why) -> qio::task<void> {
    const auto file = co_await opening<qio::cached>(context, path);
    CHECK(!file);
    if (file) co_return;
    CHECK(file.error() == why);
    CHECK(file.error().message().find(path) != std::string::npos);
  };
  on_every_engine([&](auto& any) {
    CHECK_FALSE(fs::exists(missing));  // and the kernel remembers that
    CHECK(needs_no_worker(
        any, beside, [&](auto& context) { return fails(context, missing, std::errc::no_such_file_or_directory); }));
    CHECK(needs_a_worker(any, beside,
                         [&](auto& context) { return fails(context, directory, std::errc::is_a_directory); }));
    CHECK(needs_a_worker(any, beside, [&](auto& context) { return fails(context, pipe, qio::errc::no_offsets); }));
  });
}

TEST_CASE("a context goes on while an open waits for the daemon of a FUSE file system") {
  const fault::scratch below;
  const fault::mounted mounted("fuse", 0, below.path);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string path = mounted.path + "/file";
  std::ofstream(path) << "contents";
  on_every_engine([&](auto& context) {
    std::vector<std::string> events;
    const auto open = [&]() -> qio::task<void> {
      const auto file = co_await qio::cached_file::async_open(context, path);
      events.push_back(file ? "opened" : file.error().message());
    };
    const auto go_on = [&]() -> qio::task<void> {
      static_cast<void>(co_await context.sleep_for(10ms));
      events.push_back("went on");
      signal_daemon(mounted, "CONT");
    };
    static_cast<void>(fs::file_size(path));  // the kernel has the names on the path in memory
    signal_daemon(mounted, "STOP");
    // If the context stands still, nobody else continues the daemon.
    std::atomic<bool> is_over = false, stood_still = false;
    std::thread watches([&] {
      for (int i = 0; i < 2000 && !is_over; ++i) std::this_thread::sleep_for(10ms);
      stood_still = !is_over;
      if (stood_still) signal_daemon(mounted, "CONT");
    });
    context.run(qio::when_all(open(), go_on()));
    is_over = true;
    watches.join();
    CHECK(!stood_still);
    CHECK(events == std::vector<std::string>{"went on", "opened"});
  });
}

TEST_CASE("after an open that waited below an overlay, workers open the files there") {
  if (!kernel_finds_at_once()) QIO_SKIP(finds_nothing_at_once);
  if (!grants_leases()) QIO_SKIP(no_leases);
  const fault::scratch below;
  const fault::mounted slow("fuse", 0, below.path);
  if (!slow.missing.empty()) QIO_SKIP(slow.missing);
  std::ofstream(below.path + "/file") << "contents";
  const fault::mounted mounted("overlay", 0, slow.path);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const std::string path = mounted.path + "/file";
  on_every_engine([&](auto& any) {
    using Context = std::remove_cvref_t<decltype(any)>;
    // The wait is not counted if the thread was also preempted, so it is tried again.
    bool is_counted = false;
    for (int tries = 0; tries < 20 && !is_counted; ++tries) {
      const bool needed_no_worker = ends_before_worker<Context>(path, [&](auto& context) -> qio::task<void> {
        static_cast<void>(fs::file_size(path));
        signal_daemon(slow, "STOP");
        std::thread continues([&] {
          std::this_thread::sleep_for(50ms);
          signal_daemon(slow, "CONT");
        });
        const auto waited = co_await qio::cached_file::async_open(context, path);
        continues.join();
        CHECK(waited);
        is_counted = waited && waited.value().statistics().blocked_submissions == 1;
        const auto later = co_await qio::cached_file::async_open(context, path);  // the pause is 0.8 s long
        CHECK(later);
      });
      if (is_counted) CHECK_FALSE(needed_no_worker);
    }
    CHECK(is_counted);
  });
}

TEST_CASE(
    "always_new refuses the link in /proc to a removed file, even if the file system denies that the file exists") {
  const fault::scratch below, above;
  bool ok = false;
  const std::string said = fault::output_of("bindfs -o hard_remove " + below.path + ' ' + above.path, &ok);
  if (!ok) QIO_SKIP("no bindfs: " + said);
  const std::string path = above.path + "/gone";
  const int held = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ::unlink(path.c_str());
  struct stat status;
  for (int tries = 0; ::fstat(held, &status) == 0 && tries < 300; ++tries) ::usleep(10'000);  // cached for a second
  const bool is_denied = ::fstat(held, &status) != 0;
  const auto refused =
      qio::cached_file::open("/proc/self/fd/" + std::to_string(held), qio::access::write, creation::always_new);
  const bool is_empty = fs::is_empty(below.path);  // no "gone (deleted)"
  ::close(held);
  fault::output_of("fusermount -u " + above.path + " || umount --lazy " + above.path);
  if (!is_denied) QIO_SKIP("this FUSE file system still reports a file that was removed");
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == std::errc::too_many_symbolic_link_levels);
  CHECK(is_empty);
}
