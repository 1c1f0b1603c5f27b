// Other processes that keep something from a context: a lock, a lease, a device, a file system. What they hold is
// released on every way out, also if the test is killed.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace stalls {

using undoing = std::function<void()>;  ///< releases what is held; empty if it could not be held

/// A process that holds something until it is asked to release it. It also releases it when the test ends in any way,
/// and when the time limit has passed, because a context whose thread is blocked never asks.
class guard {
 public:
  static constexpr std::chrono::milliseconds usual_limit = std::chrono::seconds(30);

  /// `hold` runs in that process, and returns what releases again.
  template <class Hold>
  explicit guard(Hold hold, std::chrono::milliseconds limit = usual_limit) {
    std::array<int, 2> asks{}, holds{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, asks.data()) != 0) return;
    if (::pipe2(holds.data(), O_CLOEXEC) != 0) return;
    const pid_t test = ::getpid();
    child_ = ::fork();
    if (child_ == 0) {
      ::close(asks[1]);
      // Ctrl-C ends the test, which is noticed below, and must not end this process before it has released.
      for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGIO}) ::signal(each, SIG_IGN);
      const undoing undo = hold();
      if (!undo) ::_exit(2);
      static_cast<void>(::write(holds[1], "", 1) == 1);
      const bool asked = is_asked(asks[0], test, limit);
      undo();
      ::_exit(asked ? 0 : 1);
    }
    ::close(asks[0]);
    ::close(holds[1]);
    ask_ = asks[1];
    char ignored{};
    holds_ = ::read(holds[0], &ignored, 1) == 1;
    ::close(holds[0]);
  }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() { static_cast<void>(was_asked()); }

  /// False if that cannot be held here.
  bool holds() const { return holds_; }
  void release() {
    if (ask_ >= 0) static_cast<void>(::send(ask_, "", 1, MSG_NOSIGNAL));
  }
  /// Waits until it is released. True if it was asked for, false if the time limit passed before.
  bool was_asked() {
    if (ask_ >= 0) ::close(std::exchange(ask_, -1));
    int status = 1;
    if (child_ > 0 && ::waitpid(std::exchange(child_, -1), &status, 0) > 0) was_asked_ = status == 0;
    return was_asked_;
  }

 private:
  // The end of the test closes the socket, unless another child of it still has it open.
  static bool is_asked(int socket, pid_t test, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end && ::getppid() == test) {
      pollfd watched{socket, POLLIN, 0};
      if (::poll(&watched, 1, 10) == 0) continue;
      char ignored{};
      return ::read(socket, &ignored, 1) == 1;
    }
    return false;
  }

  pid_t child_ = -1;
  int ask_ = -1;
  bool holds_ = false, was_asked_ = false;
};

/// A process that does the same again and again until it is destroyed, for at most a minute.
class neighbor {
 public:
  /// `prepare` runs in that process, and returns what it then repeats: false if that fails.
  template <class Prepare>
  explicit neighbor(Prepare prepare) {
    std::array<int, 2> works{};
    if (::pipe2(works.data(), O_CLOEXEC) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::signal(SIGALRM, SIG_DFL);
      ::alarm(60);
      auto repeated = prepare();
      while (repeated())
        if (works[1] >= 0 && ::write(works[1], "", 1) == 1) ::close(std::exchange(works[1], -1));
      ::_exit(1);
    }
    ::close(works[1]);
    char ignored{};
    works_ = ::read(works[0], &ignored, 1) == 1;
    ::close(works[0]);
  }
  neighbor(const neighbor&) = delete;
  neighbor& operator=(const neighbor&) = delete;
  ~neighbor() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  /// Whether it has succeeded once.
  bool works() const { return works_; }

 private:
  pid_t child_ = -1;
  bool works_ = false;
};

// --- What a guard may hold ---

/// Freezes the file system of a directory: writers wait.
inline auto freezing(std::string path) {
  return [path = std::move(path)]() -> undoing {
    const int directory = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (directory < 0 || ::ioctl(directory, FIFREEZE, 0) != 0) return {};
    return [directory] { ::ioctl(directory, FITHAW, 0); };
  };
}

/// Stops a process.
inline auto stopping(pid_t process) {
  return [process]() -> undoing {
    if (process <= 0 || ::kill(process, SIGSTOP) != 0) return {};
    return [process] { ::kill(process, SIGCONT); };
  };
}

/// Holds a lease: nobody opens the file before it is released.
inline auto leasing(std::string path) {
  return [path = std::move(path)]() -> undoing {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 || ::fcntl(file, F_SETLEASE, F_WRLCK) != 0) return {};
    return [file] { ::fcntl(file, F_SETLEASE, F_UNLCK); };
  };
}

inline bool succeeds(const std::string& command) {
  return std::system(("{ " + command + "\n} >/dev/null 2>&1").c_str()) == 0;
}

/// Runs one command to hold, another to release, also if the first fails.
inline auto commanding(std::string hold, std::string undo) {
  return [hold = std::move(hold), undo = std::move(undo)]() -> undoing {
    const undoing release = [undo] { succeeds(undo); };
    if (succeeds(hold)) return release;
    release();
    return {};
  };
}

/// Holds the lock of a file's inode: in a write of the file's first page, which waits for its data. That is in memory
/// that userfaultfd(2) fills when the lock is released.
inline auto locking(std::string path) {
  return [path = std::move(path)]() -> undoing {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const auto faults = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
    void* const memory = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uintptr_t>(memory), page};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (file < 0 || faults < 0 || memory == MAP_FAILED || ::ioctl(faults, UFFDIO_API, &api) != 0 ||
        ::ioctl(faults, UFFDIO_REGISTER, &range) != 0)
      return {};
    auto* const writes = new std::thread([=] { static_cast<void>(::pwrite(file, memory, page, 0) > 0); });
    uffd_msg fault{};
    if (::read(faults, &fault, sizeof fault) != sizeof fault) return {};  // the write has the lock, and needs its data
    return [=] {
      uffdio_zeropage fill{};
      fill.range = range.range;
      ::ioctl(faults, UFFDIO_ZEROPAGE, &fill);
      writes->join();
    };
  };
}

}  // namespace stalls
