// Files that several threads use, and one of them closes for all.
#include "../../child_process.hpp"
#include "../world.hpp"
#include <qio/shared_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

// Called by the next dup3() of this program, in place of the system's.
int (*next_dup3)(int from, int to, int flags) = nullptr;

}  // namespace

extern "C" int dup3(int from, int to, int flags) noexcept {
  if (next_dup3 != nullptr) return std::exchange(next_dup3, nullptr)(from, to, flags);
  return static_cast<int>(::syscall(SYS_dup3, from, to, flags));
}

namespace contract {

namespace {

template <class Where>
auto share(world<Where>& w, std::size_t bytes) {
  REQUIRE(w.with(bytes).close());
  return qio::shared_file<typename Where::mode>::open(w.where / "data", access::read_write).value();
}

std::string path_in(const directory& where) { return std::filesystem::canonical(where.path()).string() + "/data"; }

bool has_descriptor(const directory& where) {
  const std::string path = path_in(where);
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    if (std::filesystem::read_symlink(each.path(), closed).string().starts_with(path)) return true;
  }
  return false;
}

/// Whether neither a descriptor nor a mapping of this process keeps the file open.
bool is_released(const directory& where) {
  const std::string path = path_in(where);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(path) != std::string::npos) return false;
  return !has_descriptor(where);
}

}  // namespace

PROMISE(shared_file_use, of_the_system,
        "files that are opened on a shared_file use one handle, each on its own context") {
  auto shared = share(w, 8192);
  auto other = world<Where>::new_context().value();
  auto first = shared.open_on(*w.context).value();
  auto second = shared.open_on(other).value();
  auto blocking = shared.open_blocking().value();
  CHECK(first.native_handle() == second.native_handle());
  CHECK(first.native_handle() == blocking.native_handle());
  CHECK(first.alignment() == second.alignment());

  auto source = memory::with_pattern(8192, 4096);
  memory block(4096);
  CHECK(w.write(first, 8192, source.all()).value() == 4096);
  CHECK(other.run(second.async_read_at(8192, block.all())).value() == 4096);
  CHECK(holds_pattern(block.all(), 8192));
  CHECK(blocking.read_at(4096, block.all()).value() == 4096);
  CHECK(holds_pattern(block.all(), 4096));
  CHECK(w.sync(first, qio::sync_kind::data));
  CHECK(blocking.sync());
  CHECK(first.release().error() == errc::handle_is_shared);
  CHECK(first.close());
  CHECK(other.run(second.async_close()));
  CHECK(blocking.read_at(0, block.all()).value() == 4096);
  CHECK(shared.is_open());
}

PROMISE(shared_file_close, of_the_system,
        "closing a shared_file closes the file, although idle contexts have files of it") {
  auto shared = share(w, 8192);
  auto other = world<Where>::new_context().value();
  auto first = shared.open_on(*w.context).value();
  auto second = shared.open_on(other).value();
  auto blocking = shared.open_blocking().value();
  auto source = memory::with_pattern(0, 4096);
  memory block(4096);
  REQUIRE(w.read(first, 0, block.all()).value() == 4096);
  REQUIRE(other.run(second.async_read_at(0, block.all())).value() == 4096);
  std::filesystem::remove(w.where / "data");

  std::thread closer([&shared] { CHECK(shared.close()); });
  closer.join();
  CHECK(is_released(w.where));
  CHECK(!shared.is_open());
  const auto has_ended = [](const auto& answer) {
    return !answer && answer.error() == std::errc::bad_file_descriptor &&
           answer.error().message().find("the file is not open") != std::string::npos;
  };
  CHECK(has_ended(shared.close()));
  CHECK(has_ended(shared.open_on(other)));
  CHECK(has_ended(shared.open_blocking()));
  CHECK(has_ended(w.read(first, 0, block.all())));
  CHECK(has_ended(w.write(first, 0, source.all())));
  CHECK(has_ended(w.sync(first, qio::sync_kind::everything)));
  CHECK(has_ended(w.resize(first, 0)));
  CHECK(has_ended(first.size()));
  CHECK(has_ended(other.run(second.async_read_at(4096, block.all()))));
  CHECK(has_ended(other.run(second.async_write_at(4096, source.all(), {.durable = true}))));
  CHECK(has_ended(blocking.read_at(0, block.all())));
  CHECK(has_ended(blocking.write_at(0, source.all())));
  CHECK(has_ended(blocking.sync()));
  CHECK(has_ended(blocking.size()));
  if constexpr (Where::mode::is_mapped) CHECK(has_ended(blocking.view(0, 4096)));
  CHECK(has_ended(first.share_with(other)));
  CHECK(first.is_open());
  CHECK(second.close());
  CHECK(first.close());
  CHECK(has_ended(blocking.release()));
}

PROMISE(shared_file_fork, of_the_system,
        "a child process that is forked while a shared_file is being closed has no other descriptor of the file") {
  static pid_t child = -1;
  static const directory* where = nullptr;
  auto shared = share(w, 4096);
  auto mine = shared.open_on(*w.context).value();
  where = &w.where;
  next_dup3 = [](int from, int to, int flags) {
    // The file has been replaced, and what closing it needs is still open.
    const int replaced = ::dup3(from, to, flags);
    child = ::fork();
    if (child == 0) ::_exit(has_descriptor(*where) ? 1 : 0);
    return replaced;
  };
  CHECK(shared.close());
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

PROMISE(shared_file_last, each_engine_of_the_system,
        "fork() does not wait while a shared_file frees the space of its file") {
  static const directory* where = nullptr;
  static bool is_open_at_last = false;
  auto shared = share(w, 4096);
  auto mine = shared.open_on(*w.context).value();
  where = &w.where;
  // The first call replaces the handle. Only the second one ends the file, so no close() does, for which fork() waits.
  next_dup3 = [](int from, int to, int flags) {
    next_dup3 = [](int nothing, int last, int more) {
      is_open_at_last = has_descriptor(*where);
      return ::dup3(nothing, last, more);
    };
    return static_cast<int>(::syscall(SYS_dup3, from, to, flags));
  };
  CHECK(shared.close());
  CHECK(next_dup3 == nullptr);
  next_dup3 = nullptr;
  CHECK(is_open_at_last);
  CHECK(!has_descriptor(w.where));
}

PROMISE(shared_file_lock, of_the_system, "closing a shared_file that a context has used often releases its locks") {
  auto shared = share(w, 4096);
  auto file = shared.open_on(*w.context).value();
  REQUIRE(os::lock_whole(file.native_handle()));
  auto stranger = w.open("data", access::read_write, creation::open_existing).value();
  REQUIRE(!os::lock_whole(stranger.native_handle()));
  auto block = memory::with_pattern(0, 4096);
  // A ring would register a file that is so busy.
  for (int transfers = 0; transfers < 200; ++transfers) REQUIRE(w.write(file, 0, block.all()));
  CHECK(shared.close());
  CHECK(os::lock_whole(stranger.native_handle()));
}

PROMISE(shared_file_flight, of_the_system,
        "what is in flight when a shared_file is closed ends with a result of its own") {
  for (int repeated = 0; repeated < 20; ++repeated) {
    auto shared = share(w, 16 * 4096);
    auto file = shared.open_on(*w.context).value();
    std::vector<memory> blocks;
    for (int i = 0; i < 16; ++i) blocks.emplace_back(4096);
    unsigned ended = 0, wrong = 0;
    std::vector<qio::read_request> requests;
    for (unsigned i = 0; i < 16; ++i) requests.push_back({i * 4096u, blocks[i].all()});
    auto reads = file.async_read_many(requests);
    reads.start([&](const qio::result<std::size_t>&) {
      for (unsigned i = 0; i < 16; ++i, ++ended) {
        const auto& answer = requests[i].answer;
        const bool is_read = answer && answer.value() == 4096 && holds_pattern(blocks[i].all(), i * 4096u);
        wrong += is_read || (!answer && answer.error() == std::errc::bad_file_descriptor) ? 0u : 1u;
      }
    });
    std::thread closer([&shared] { static_cast<void>(shared.close()); });
    w.context->run();
    closer.join();
    CHECK(ended == 16);
    CHECK(wrong == 0);
    CHECK(is_released(w.where));
  }
}

PROMISE(shared_file_threads, of_the_system,
        "threads open files on a shared_file and read them while one of them closes it") {
  for (int repeated = 0; repeated < 5; ++repeated) {
    auto shared = share(w, 16 * 4096);
    std::atomic<int> busy = 0, wrong = 0;
    const auto use = [&] {
      auto context = world<Where>::new_context().value();
      memory block(4096);
      for (unsigned i = 0;; ++i) {
        auto file = shared.open_on(context);
        auto other = shared.open_blocking();
        for (unsigned reads = 0; file && other && reads < 8; ++reads) {
          const std::uint64_t at = (i + reads) % 16 * 4096;
          const auto answer = reads % 2 == 0 ? context.run(file.value().async_read_at(at, block.all()))
                                             : other.value().read_at(at, block.all());
          const bool is_right = answer ? answer.value() == 4096 && holds_pattern(block.all(), at)
                                       : answer.error() == std::errc::bad_file_descriptor;
          if (!is_right) ++wrong;
        }
        for (const auto& failure : {file ? qio::error() : file.error(), other ? qio::error() : other.error()})
          if (failure.exists() && failure != std::errc::bad_file_descriptor) ++wrong;
        if (!file || !other) return;
        if (i == 0) ++busy;
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(use);
    while (busy != 3) std::this_thread::yield();
    CHECK(shared.close());
    for (std::thread& each : threads) each.join();
    CHECK(wrong == 0);
    CHECK(is_released(w.where));
  }
}

PROMISE(shared_file_outlived, of_the_system,
        "the files of a shared_file may outlive it, and their handle is never another file's") {
  std::optional shared = share(w, 4096);
  auto file = shared->open_on(*w.context).value();
  const int handle = file.native_handle();
  shared.reset();
  CHECK(is_released(w.where));
  memory block(4096);
  {
    // Would get the number, if it were free.
    auto stranger = w.open("data", access::read, creation::open_existing).value();
    CHECK(stranger.native_handle() != handle);
    CHECK(w.read(file, 0, block.all()).error() == std::errc::bad_file_descriptor);
  }
  CHECK(file.close());
  CHECK(::fcntl(handle, F_GETFD) < 0);
}

PROMISE(shared_file_view, mapped_only,
        "loading from a view whose shared_file was closed raises SIGBUS, and so does storing") {
  auto shared = qio::shared_file<qio::mapped>::share(w.with(8192)).value();
  auto file = shared.open_blocking().value();
  const std::span<std::byte> view = file.writable_view(0, 8192).value();
  REQUIRE(shared.close());
  for (const bool stores : {false, true}) {
    const auto ended = qio_test::ending_of([&] {
      std::signal(SIGBUS, SIG_DFL);
      volatile std::byte& first = view[0];
      if (stores) first = std::byte{1};
      return std::to_integer<int>(first);
    });
    CHECK(ended.status == -SIGBUS);
  }
}

PROMISE(shared_file_without_descriptors, mapped_only,
        "a mapped shared_file is not closed without the descriptors for it, and is in use until it is") {
  auto shared = share(w, 3 * 4096);
  auto file = shared.open_blocking().value();
  const auto ended = qio_test::ending_of([&] {
    std::vector<int> taken;
    for (int next; (next = ::dup(STDIN_FILENO)) >= 0;) {
      taken.push_back(next);
      const rlimit limit{static_cast<rlim_t>(next) + 1, static_cast<rlim_t>(next) + 1};
      if (taken.size() == 4 && ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    }
    memory block(4096);
    for (int free = 0; free < 2; ++free) {
      const auto refused = shared.close();
      if (refused || refused.error() != std::errc::too_many_files_open || !shared.is_open()) return 2;
      if (file.read_at(0, block.all()).value() != 4096) return 3;
      ::close(taken.back());
      taken.pop_back();
    }
    if (!shared.close() || shared.is_open()) return 4;
    return file.read_at(0, block.all()).error() == std::errc::bad_file_descriptor ? 0 : 5;
  });
  CHECK(ended.status == 0);
}

PROMISE(locked_shared_file, mapped_only, "a shared_file whose mappings are locked in memory is closed for all") {
  const std::size_t bytes = 5 * 1024 * 1024;
  REQUIRE(w.with(bytes).close());
  if (::geteuid() != 0) QIO_SKIP("it takes root, which may change to another user");
  const std::string path = path_in(w.where);  // to which the other user may not get
  const auto ended = qio_test::ending_of([&] {
    const rlimit limit{8 * 1024 * 1024, 8 * 1024 * 1024};
    auto opened = w.open("data", access::read_write, creation::open_existing).value();
    const int handle = opened.release().value();
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || ::setresuid(65534, 65534, 65534) != 0) return 1;
    if (::mlockall(MCL_FUTURE) != 0) return 1;
    auto locked = qio::basic_file<typename Where::mode>::adopt(handle);
    if (!locked) return 3;
    auto shared = qio::shared_file<typename Where::mode>::share(std::move(locked).value());
    if (!shared || !shared.value().close()) return 4;
    std::ifstream maps("/proc/self/maps");
    if (!maps) return 5;
    for (std::string line; std::getline(maps, line);)
      if (line.find(path) != std::string::npos) return 6;
    return 0;
  });
  if (ended.status == 1) QIO_SKIP("memory may not be locked here");
  CHECK(ended.status == 0);
}

PROMISE(shared_file_of, each_mode, "a file without a context becomes a shared_file, unless others use its handle") {
  auto file = w.with(4096);
  auto context = qio::context::create().value();
  using shared_file = qio::shared_file<typename Where::mode>;
  {
    auto second = file.share_with(context).value();
    CHECK(shared_file::share(std::move(file)).error() == errc::handle_is_shared);
    CHECK(file.is_open());  // NOLINT(bugprone-use-after-move): see share()
  }
  auto other = w.open("data", access::read, creation::open_existing).value();
  auto shared = shared_file::share(std::move(other)).value();
  CHECK(!other.is_open());  // NOLINT(bugprone-use-after-move)
  CHECK(shared_file::share(std::move(other)).error() == std::errc::bad_file_descriptor);  // NOLINT
  memory block(4096);
  CHECK(shared.open_blocking().value().read_at(0, block.all()).value() == 4096);
  CHECK(shared.open_blocking().value().write_at(0, block.all()).error() == errc::access_not_granted);
  CHECK(shared_file::open(w.where / "none").error() == std::errc::no_such_file_or_directory);
  auto again = std::move(shared);
  CHECK(again.open_blocking());
  again = shared_file::open(w.where / "data").value();
  CHECK(again.is_open());
}

}  // namespace contract
