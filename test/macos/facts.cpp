// What only a machine with macOS (or FreeBSD) can answer: see docs/macos.md. Prints what it sees; judges nothing.
//   facts [DIRECTORY]   where its file is created, such as a folder of a share; the current directory
#include <qio/qio.hpp>

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t block = 16384, blocks = 4096;

std::string path;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  ::unlink(path.c_str());
  std::exit(1);
}

int opened(int flags) {
  const int handle = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (handle < 0) give_up(path.c_str());
  return handle;
}

/// The median time of 200 calls in microseconds, and the error of the last one that failed.
template <class Call>
void time_calls(const char* name, Call&& call) {
  std::vector<double> took;
  int failure = 0;
  for (unsigned i = 0; i < 200; ++i) {
    const auto begun = clock::now();
    if (!call(i)) failure = errno;
    took.push_back(std::chrono::duration<double, std::micro>(clock::now() - begun).count());
  }
  std::nth_element(took.begin(), took.begin() + 100, took.end());
  std::printf("  %-44s %10.1f us%s%s\n", name, took[100], failure != 0 ? "  " : "",
              failure != 0 ? std::strerror(failure) : "");
}

alignas(block) std::byte memory[block];

bool read_block(int handle, unsigned i) {
  const auto at = static_cast<off_t>((std::uint64_t(i) * 2654435761u % blocks) * block);
  return ::pread(handle, memory, block, at) == static_cast<ssize_t>(block);
}
bool write_block(int handle, unsigned i) {
  return ::pwrite(handle, memory, block, static_cast<off_t>(i * block)) == static_cast<ssize_t>(block);
}

void uncached_reads() {
  std::puts(
      "Does F_NOCACHE bypass pages that are cached already? (If it takes as long as a cached read, it does not.)");
  const int cached = opened(O_RDONLY), uncached = opened(O_RDONLY);
  for (unsigned i = 0; i < blocks; ++i) read_block(cached, i);
  qio::platform::ask_to_avoid_cache(uncached);  // F_NOCACHE; FreeBSD: O_DIRECT
  time_calls("pread() of cached pages", [&](unsigned i) { return read_block(cached, i); });
  time_calls("the same with F_NOCACHE", [&](unsigned i) { return read_block(uncached, i); });
  time_calls("pread() of them after that", [&](unsigned i) { return read_block(cached, i); });
  ::close(cached);
  ::close(uncached);
}

void durable_writes() {
  std::puts("Does O_DSYNC flush the drive? (If it takes much less than F_FULLFSYNC, it does not.)");
  const int plain = opened(O_RDWR), durable = opened(O_RDWR | O_DSYNC);
  time_calls("pwrite() with O_DSYNC", [&](unsigned i) { return write_block(durable, i); });
  time_calls("pwrite() and fsync()", [&](unsigned i) { return write_block(plain, i) && ::fsync(plain) == 0; });
#if defined(F_FULLFSYNC)
  std::puts("What do F_FULLFSYNC and F_BARRIERFSYNC return here? (Start this in a directory of a share, too.)");
  time_calls("pwrite() and F_BARRIERFSYNC",
             [&](unsigned i) { return write_block(plain, i) && ::fcntl(plain, F_BARRIERFSYNC) >= 0; });
  time_calls("pwrite() and F_FULLFSYNC",
             [&](unsigned i) { return write_block(plain, i) && ::fcntl(plain, F_FULLFSYNC) >= 0; });
#endif
  ::close(plain);
  ::close(durable);
}

sigjmp_buf before;
volatile sig_atomic_t raised = 0, its_code = 0;

void on_fault(int number, siginfo_t* information, void*) {
  raised = number;
  its_code = information->si_code;
  siglongjmp(before, 1);
}

void touch(const char* what, const std::byte* at) {
  raised = 0;
  const volatile std::byte* const volatile from = at;
  if (sigsetjmp(before, 1) == 0) static_cast<void>(*from);
  const char* const name = raised == SIGBUS ? "SIGBUS" : raised == SIGSEGV ? "SIGSEGV" : "no signal";
  std::printf("  %-44s %s, code %d\n", what, name, static_cast<int>(its_code));
}

void mappings() {
  std::puts("Which signal does an access past the end of a mapped file raise? Does the mapping show what is added?");
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
  ::sigaction(SIGSEGV, &action, nullptr);
  const int handle = opened(O_RDWR);
  ::ftruncate(handle, block);
  void* const mapped = ::mmap(nullptr, 4 * block, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
  if (mapped == MAP_FAILED) return std::perror("  mmap() past the end");
  const auto* const bytes = static_cast<const std::byte*>(mapped);
  touch("within the file", bytes);
  touch("past its end", bytes + 2 * block);
  ::ftruncate(handle, 4 * block);
  touch("there, after the file has grown", bytes + 2 * block);
  ::ftruncate(handle, block);
  touch("there, after it was truncated again", bytes + 2 * block);
  ::mmap(mapped, 4 * block, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
  touch("memory that nobody may access", bytes);
  ::munmap(mapped, 4 * block);
  ::close(handle);
}

void wake_handle() {
  std::puts("Is a kqueue with EVFILT_USER readable while it is set, and only then?");
  qio::platform::event event;
  if (!event.open()) return std::perror("  kqueue()");
  const auto show = [&](const char* when) {
    pollfd asked{event.handle(), POLLIN, 0};
    std::printf("  %-44s %s\n", when, ::poll(&asked, 1, 0) == 1 ? "readable" : "not readable");
  };
  show("at first");
  event.set();
  event.set();
  show("set twice");
  event.reset();
  show("reset");
  std::thread other([&] { event.set(); });
  pollfd asked{event.handle(), POLLIN, 0};
  std::printf("  %-44s %s\n", "set by another thread during poll()",
              ::poll(&asked, 1, 5000) == 1 ? "readable" : "not readable");
  other.join();
}

#if defined(F_PREALLOCATE)
void reserved_space() {
  std::puts("What does F_PREALLOCATE reserve, and does ftruncate() keep it?");
  const int handle = opened(O_RDWR);
  ::ftruncate(handle, 0);
  const auto show = [&](const char* when, int answer) {
    struct stat status {};
    ::fstat(handle, &status);
    std::printf("  %-44s %lld bytes long, %lld allocated%s%s\n", when, static_cast<long long>(status.st_size),
                static_cast<long long>(status.st_blocks) * 512, answer < 0 ? ", " : "",
                answer < 0 ? std::strerror(errno) : "");
  };
  const auto reserve = [&] {
    fstore_t wanted{};
    wanted.fst_flags = F_ALLOCATEALL | F_ALLOCATEPERSIST;
    wanted.fst_posmode = F_PEOFPOSMODE;
    wanted.fst_length = 1 << 20;
    return ::fcntl(handle, F_PREALLOCATE, &wanted);
  };
  show("empty", 0);
  show("after 1 MiB was reserved", reserve());
  show("after the same again", reserve());
  show("after ftruncate() to 1 MiB", ::ftruncate(handle, 1 << 20));
  ::close(handle);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  path = std::string(argc > 1 ? argv[1] : ".") + "/qio-facts.tmp";
  const int handle = opened(O_RDWR | O_CREAT | O_TRUNC);
  for (unsigned i = 0; i < blocks; ++i)
    if (!write_block(handle, i)) give_up("pwrite");
  ::close(handle);
  uncached_reads();
  durable_writes();
  mappings();
  wake_handle();
#if defined(F_PREALLOCATE)
  reserved_space();
#endif
  ::unlink(path.c_str());
}
