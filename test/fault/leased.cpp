// How long an open waits for another process to give up its lease: on a clock that runs only while the open waits.
#include "catch.hpp"
#include "directory.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>

namespace {

using namespace std::chrono_literals;

/// What the clock shows. Waiting for nothing but time takes no time, and lets the clock advance.
std::atomic<std::int64_t> waited_milliseconds = 0;
std::chrono::milliseconds waited() { return std::chrono::milliseconds(waited_milliseconds.load()); }

}  // namespace

extern "C" int poll(pollfd* handles, nfds_t count, int timeout) {
  if (count != 0) return static_cast<int>(::syscall(SYS_poll, handles, count, timeout));
  waited_milliseconds += timeout;
  return 0;
}
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (clock != CLOCK_MONOTONIC) return static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  now->tv_sec = static_cast<time_t>(1000 + waited_milliseconds / 1000);
  now->tv_nsec = static_cast<long>(waited_milliseconds % 1000 * 1'000'000);
  return 0;
}

namespace {

/// A process that has leased a file, and does not give it up.
class stubborn_holder {
 public:
  explicit stubborn_holder(const std::string& path) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      std::signal(SIGIO, SIG_IGN);
      const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      const char answer = ::fcntl(file, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
      if (::write(ends[1], &answer, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char answer = 'n';
    has_lease = ::read(ends[0], &answer, 1) == 1 && answer == 'y';
    ::close(ends[0]);
    ::close(ends[1]);
  }
  stubborn_holder(const stubborn_holder&) = delete;
  stubborn_holder& operator=(const stubborn_holder&) = delete;
  ~stubborn_holder() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  bool has_lease = false;

 private:
  pid_t child_;
};

}  // namespace

TEST_CASE("an open waits for another process to give up its lease for a minute, and then fails") {
  REQUIRE(std::chrono::steady_clock::now().time_since_epoch() == 1000s);  // otherwise, the test would not end
  const qio_test::directory where;
  const std::string path = where / "file";
  std::ofstream(path) << "contents";
  const stubborn_holder other(path);
  if (!other.has_lease) QIO_SKIP("this file system grants no leases");
  const auto opened = qio::cached_file::open(path, qio::access::read_write);
  REQUIRE(!opened);
  CHECK(opened.error() == std::errc::resource_unavailable_try_again);
  CHECK(waited() >= 60s);
  CHECK(waited() < 61s);
}
