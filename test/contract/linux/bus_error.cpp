// The SIGBUS handler that mapped files install, in programs that have their own.
#include "../../child_process.hpp"
#include "../world.hpp"
#include <qio/call.hpp>
#include <qio/shared_log.hpp>

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>
#include <type_traits>

namespace contract {

#if !defined(__SANITIZE_THREAD__)
// The thread sanitizer has handlers of its own, and does not support fork well.

namespace {

using qio_test::ending_of;

volatile std::sig_atomic_t host_calls = 0;

// A file that is truncated can still be read up to the end of its last page, without a fault.
const std::size_t page_bytes = qio::platform::page_size();

// Installs the library's handler, as in a process where this has not happened yet.
void install_again() {
  qio::platform::guard::install();
  qio::platform::install_copy_guard();
}

void wait_for_next_look() {
  timespec before, now;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
  do ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  while (now.tv_nsec == before.tv_nsec && now.tv_sec == before.tv_sec);
}

// Truncates a file of at least two pages without the library, and reads what was cut off. 0 if the result is that of a
// cached file.
template <class World>
int read_cut_off(World& w, typename World::file& file) {
  memory buffer(page_bytes);
  if (::truncate((w.where / "data").c_str(), 100) != 0) return 10;
  const auto after = file.read_at(page_bytes, buffer.all());
  return after && after.value() == 0 ? 0 : 11;
}

}  // namespace

PROMISE(ignored_signal, mapped_only, "a program that ignores SIGBUS still ignores one that is sent to it") {
  auto file = w.with(2 * page_bytes);
  const auto ended = ending_of([&] {
    std::signal(SIGBUS, SIG_IGN);
    install_again();
    ::raise(SIGBUS);
    ::kill(::getpid(), SIGBUS);
    return read_cut_off(w, file);
  });
  CHECK(ended.status == 0);
}

PROMISE(default_signal, mapped_only, "a SIGBUS that is sent ends a program that has no handler for it") {
  const auto ended = ending_of([&] {
    std::signal(SIGBUS, SIG_DFL);
    install_again();
    ::raise(SIGBUS);
    return 1;
  });
  CHECK(ended.status == -SIGBUS);
}

PROMISE(host_mask, mapped_only, "a previous handler runs with the signals blocked that it requested") {
  const auto ended = ending_of([&] {
    struct sigaction host {};
    host.sa_handler = [](int) {
      sigset_t blocked;
      ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      host_calls = host_calls + (sigismember(&blocked, SIGUSR1) == 1 && sigismember(&blocked, SIGBUS) == 1 ? 1 : 100);
    };
    sigemptyset(&host.sa_mask);
    sigaddset(&host.sa_mask, SIGUSR1);
    ::sigaction(SIGBUS, &host, nullptr);
    install_again();
    ::raise(SIGBUS);
    ::raise(SIGBUS);
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return host_calls == 2 && sigismember(&blocked, SIGUSR1) == 0 ? 0 : 1;
  });
  CHECK(ended.status == 0);
}

PROMISE(replaced_handler, mapped_only, "after the program replaces the handler, transfers are system calls") {
  auto file = w.with(2 * page_bytes);
  CHECK(file.explain().find("transfers")->value == "copies");
  const auto ended = ending_of([&] {
    std::signal(SIGBUS, SIG_DFL);
    wait_for_next_look();
    if (file.explain().find("transfers")->value != "system calls") return 1;
    return read_cut_off(w, file);
  });
  CHECK(ended.status == 0);
}

PROMISE(restored_handler, mapped_only, "after the program restores the handler, transfers are copies again") {
  auto file = w.with(2 * page_bytes);
  const auto ended = ending_of([&] {
    struct sigaction ours {};
    struct sigaction host {};
    host.sa_handler = SIG_DFL;
    ::sigaction(SIGBUS, &host, &ours);
    wait_for_next_look();
    if (file.explain().find("transfers")->value != "system calls") return 1;
    ::sigaction(SIGBUS, &ours, nullptr);
    wait_for_next_look();
    if (file.explain().find("transfers")->value != "copies") return 2;
    return read_cut_off(w, file);
  });
  CHECK(ended.status == 0);
}

PROMISE(blocked_signal, mapped_only, "a thread that blocks SIGBUS transfers by system calls, and others by copies") {
  auto file = w.with(2 * page_bytes);
  const auto ended = ending_of([&] {
    sigset_t all;
    sigfillset(&all);
    int found = 0;
    std::thread blocking([&] {
      ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
      found = file.explain().find("transfers")->value != "system calls" ? 1 : read_cut_off(w, file);
    });
    blocking.join();
    if (found != 0) return found;
    if (file.explain().find("transfers")->value != "copies") return 2;
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    wait_for_next_look();
    if (file.explain().find("transfers")->value != "system calls") return 3;
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    wait_for_next_look();
    return file.explain().find("transfers")->value == "copies" ? 0 : 4;
  });
  CHECK(ended.status == 0);
}

PROMISE(cut_off_on_worker, mapped_only, "a mapped file that is truncated may be read on a worker") {
  auto file = w.with(2 * page_bytes);
  const auto ended = ending_of([&] {
    auto on = qio::context::create().value();
    if (file.explain().find("transfers")->value != "copies") return 1;
    return on.run(qio::async_call(on, [&] { return read_cut_off(w, file); })).value();
  });
  CHECK(ended.status == 0);
}

PROMISE(cut_off_in_visitor, mapped_only, "what the visitor of a shared_log reads from a mapped file may be truncated") {
  auto file = w.with(2 * page_bytes);
  const std::string path = w.where / "log";
  const auto ended = ending_of([&] {
    const auto accept = [](const qio::log_record&) { return true; };
    {
      auto log = qio::shared_log<qio::cached>::open(path, accept).value();
      if (!log.append({})) return 1;
    }
    int read = 2;
    const auto visit = [&](const qio::log_record&) {
      read = read_cut_off(w, file);
      return true;
    };
    if (!qio::shared_log<qio::cached>::open(path, visit)) return 3;
    return read;
  });
  CHECK(ended.status == 0);
}

PROMISE(other_copy, mapped_only,
        "a handler that another copy of the library installs later does not count as foreign") {
  auto file = w.with(2 * page_bytes);
  const auto ended = ending_of([&] {
    // This is what a copy in another configuration does.
    static struct sigaction below {};
    const auto above = [](int number, siginfo_t* information, void* context) {
      host_calls = host_calls + 1;
      below.sa_sigaction(number, information, context);
    };
    struct sigaction its {};
    its.sa_sigaction = above;
    its.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGBUS, &its, &below);
    qio::bus_error_handlers::add(above);
    wait_for_next_look();
    if (file.explain().find("transfers")->value != "copies") return 1;
    const int read = read_cut_off(w, file);
    return read == 0 && host_calls != 0 ? 0 : 2;
  });
  CHECK(ended.status == 0);
}

PROMISE(cut_off_between_buffers, mapped_only,
        "a vectored read survives that the file is truncated, and that this is noticed, between two of its buffers") {
  auto file = w.with(4 * page_bytes);
  static std::string path;
  static decltype(file)* seen;
  static void* first;
  path = w.where / "data";
  seen = &file;
  first = ::mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(first != MAP_FAILED);
  memory rest(3 * page_bytes);
  const auto ended = ending_of([&] {
    // The first buffer cannot be written to before this has run.
    struct sigaction interlude {};
    interlude.sa_handler = [](int) {
      if (::mprotect(first, page_bytes, PROT_READ | PROT_WRITE) != 0 || ::truncate(path.c_str(), 100) != 0) ::_exit(10);
      if (seen->view(1 << 20, 1)) ::_exit(11);  // which finds out how long the file is now
    };
    ::sigaction(SIGSEGV, &interlude, nullptr);
    const std::vector<qio::mutable_buffer> buffers{{first, page_bytes}, {rest.all().data(), rest.all().size()}};
    const auto read = file.read_at(0, buffers);
    return read && read.value() == 100 ? 0 : 1;
  });
  ::munmap(first, page_bytes);
  CHECK(ended.status == 0);
}

PROMISE(declined, mapped_only, "a file opened without guards_copies transfers by system calls, and has views") {
  { auto made = w.with(2 * page_bytes); }
  auto file = w.open("data", access::read_write, creation::open_existing, {.guards_copies = false}).value();
  CHECK(file.explain().find("transfers")->value == "system calls");
  CHECK(holds_pattern(file.view(0, 2 * page_bytes).value(), 0));
  memory buffer(page_bytes);
  CHECK(file.read_at(100, buffer.all()).value() == page_bytes);
  CHECK(holds_pattern(buffer.all(), 100));
  auto source = memory::with_pattern(2 * page_bytes, page_bytes);
  CHECK(file.write_at(2 * page_bytes, source.all()).value() == page_bytes);
  CHECK(holds_pattern(file.view(0, 3 * page_bytes).value(), 0));
  const auto ended = ending_of([&] {
    std::signal(SIGBUS, SIG_IGN);
    auto another = w.open("data", access::read_write, creation::open_existing, {.guards_copies = false});
    struct sigaction present {};
    ::sigaction(SIGBUS, nullptr, &present);
    if (!another || present.sa_handler != SIG_IGN) return 1;
    return read_cut_off(w, another.value());
  });
  CHECK(ended.status == 0);
}

bool submits_writes_at_once(const std::string& where) {
  struct statfs system;
  if (::statfs(where.c_str(), &system) != 0) return false;
  const auto kind = static_cast<unsigned long>(system.f_type);
  return kind == XFS_SUPER_MAGIC || kind == BTRFS_SUPER_MAGIC;
}

PROMISE(limit_lowered, each_engine_of_the_system,
        "a write past RLIMIT_FSIZE fails with file_too_large, a millisecond after the limit is set") {
  const auto ended = ending_of([&] {
    auto on = world<Where>::new_context().value();
    auto file = qio::cached_file::open(on, w.where / "new", access::read_write, creation::always_new).value();
    memory buffer(4096);
    if (!on.run(file.async_write_at(0, buffer.all()))) return 1;
    struct rlimit limit;
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 4096;
    // XFS and btrfs carry out a ring's writes on the thread that submits them, which then gets the signal.
    if (qio_test::current.kind == qio::engine_kind::workers || !submits_writes_at_once(w.where / "."))
      std::signal(SIGXFSZ, SIG_DFL);
    else
      std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the limit is checked once a millisecond
    const auto refused = on.run(file.async_write_at(4096, buffer.all()));
    return !refused && refused.error() == std::errc::file_too_large ? 0 : 2;
  });
  CHECK(ended.status == 0);
}

#endif

}  // namespace contract
