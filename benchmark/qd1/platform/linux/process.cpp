// SPDX-License-Identifier: BSL-1.0
#include "platform/process.hpp"

#include "platform/cycles.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace qd1::platform {
namespace {

namespace fs = std::filesystem;

void (*when_interrupted)() noexcept = nullptr;

// proc_pid_fdinfo(5): "flags:	0100002", those of open(2), in octal.
bool is_writable(const fs::path& facts) {
  std::ifstream file(facts);
  unsigned flags = 0;
  for (std::string key; file >> key;)
    if (key == "flags:" && file >> std::oct >> flags) return (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
  return false;
}

// fs::equivalent() compares no devices.
bool is_same(const fs::path& one, const fs::path& other) {
  struct stat a, b;
  if (::stat(one.c_str(), &a) != 0 || ::stat(other.c_str(), &b) != 0) return false;
  return (a.st_dev == b.st_dev && a.st_ino == b.st_ino) ||
         (S_ISBLK(a.st_mode) && S_ISBLK(b.st_mode) && a.st_rdev == b.st_rdev);
}

// The names are compared first: looking at a file of a file system that does not answer would not end.
bool has_open(const fs::path& process, const fs::path& wanted, bool for_writing, int& left) {
  std::error_code failed;
  for (fs::directory_iterator each(process / "fd", failed), end; !failed && each != end && left-- > 0;
       each.increment(failed)) {
    std::error_code ignored;
    if (fs::read_symlink(each->path(), ignored).filename() == wanted.filename() && is_same(each->path(), wanted) &&
        (!for_writing || is_writable(process / "fdinfo" / each->path().filename())))
      return true;
  }
  return false;
}

// Has room for more processors than cpu_set_t alone.
struct processor_set {
  cpu_set_t words[8];
  cpu_set_t* data() noexcept { return words; }
};

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Whatever stopped it (SIGSTOP, SIGTSTP), this signal lets it go on.
std::optional<std::uint64_t> times_stopped() noexcept {
  static std::atomic<std::uint64_t> count = 0;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  [[maybe_unused]] static const auto before =
      std::signal(SIGCONT, [](int) { count.fetch_add(1, std::memory_order_relaxed); });
  return count.load(std::memory_order_relaxed);
}

// proc_uptime(5)
std::optional<double> seconds_since_boot() {
  std::ifstream file("/proc/uptime");
  double seconds = 0;
  return file >> seconds ? std::optional(seconds) : std::nullopt;
}

double seconds_suspended() noexcept {
  timespec with, without;
  if (::syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &with) != 0 ||
      ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &without) != 0)
    return 0;
  return static_cast<double>(with.tv_sec - without.tv_sec) + static_cast<double>(with.tv_nsec - without.tv_nsec) * 1e-9;
}

std::string why_no_cycles() {
  // The kernel takes a counter off this list when it has caught it drifting, or differing between processors.
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/available_clocksource");
  const std::string sources{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || sources.find(cycle_clock_source) != std::string::npos) return {};
  return "the kernel does not list " + std::string(cycle_clock_source) + " among its clock sources";
}

double processor_seconds() noexcept {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The sum of both is what the scheduler has counted, in nanoseconds.
double processor_seconds_step() noexcept { return 1e-6; }

// proc_pid_io(5): "read_bytes: 4096".
std::optional<std::uint64_t> bytes_fetched() {
  std::ifstream counts("/proc/self/io");
  std::uint64_t value = 0;
  for (std::string key; counts >> key >> value;)
    if (key == "read_bytes:") return value;
  return std::nullopt;
}

// proc_pid_fd(5). Processes of other users do not show their files, and any process may end meanwhile.
bool is_open_elsewhere(const std::string& path, bool for_writing) {
  std::error_code failed;
  const fs::path wanted = fs::canonical(path, failed);
  const std::string own = std::to_string(::getpid());
  int left = 100'000;  // others may open as many files as they like
  for (fs::directory_iterator process("/proc", failed), end; !failed && process != end; process.increment(failed)) {
    const std::string number = process->path().filename();
    if (number == own || number.find_first_not_of("0123456789") != std::string::npos) continue;
    if (has_open(process->path(), wanted, for_writing, left)) return true;
  }
  return false;
}

pinned_to_this_processor::pinned_to_this_processor() noexcept {
  const int processor = ::sched_getcpu();
  auto* const before = reinterpret_cast<cpu_set_t*>(before_.data());
  if (processor < 0 || ::sched_getaffinity(0, sizeof before_, before) != 0) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<unsigned>(processor), &only);
  pinned_ = ::sched_setaffinity(0, sizeof only, &only) == 0;
}

pinned_to_this_processor::~pinned_to_this_processor() {
  if (pinned_) ::sched_setaffinity(0, sizeof before_, reinterpret_cast<const cpu_set_t*>(before_.data()));
}

std::vector<std::uint64_t> allowed_processors() {
  std::vector<std::uint64_t> found;
  processor_set allowed{};
  if (::sched_getaffinity(0, sizeof allowed, allowed.data()) != 0) return found;
  for (std::size_t each = 0; each < 8 * sizeof allowed; ++each)
    if (CPU_ISSET_S(each, sizeof allowed, allowed.data())) found.push_back(each);
  return found;
}

void go_to_processor(std::uint64_t number) noexcept {
  processor_set before{};
  processor_set only{};
  if (number >= 8 * sizeof only || ::sched_getaffinity(0, sizeof before, before.data()) != 0) return;
  CPU_SET_S(static_cast<std::size_t>(number), sizeof only, only.data());
  if (::sched_setaffinity(0, sizeof only, only.data()) == 0) ::sched_setaffinity(0, sizeof before, before.data());
}

void on_first_interrupt(void (*tell)() noexcept) {
  when_interrupted = tell;
  for (const int each : {SIGINT, SIGTERM})
    std::signal(each, [](int number) {
      when_interrupted();
      std::signal(number, SIG_DFL);
    });
  // A terminal that closes sends several. Under nohup(1) it is ignored, and stays so.
  if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) std::signal(SIGHUP, [](int) { when_interrupted(); });
}

void outlive_readers() noexcept { std::signal(SIGPIPE, SIG_IGN); }

// Between the question and the sleep no interrupt is lost: the signal is let in only while the thread sleeps.
void sleep_unless(bool (*interrupted)() noexcept, double seconds) noexcept {
  constexpr double longest = 3600;
  const double whole = std::floor(std::min(seconds, longest));
  const timespec time{static_cast<time_t>(whole), static_cast<long>((std::min(seconds, longest) - whole) * 1e9)};
  sigset_t held, before;
  ::sigemptyset(&held);
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&held, each);
  if (::pthread_sigmask(SIG_BLOCK, &held, &before) != 0) return;
  if (!interrupted()) ::ppoll(nullptr, 0, &time, &before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Terminals here take UTF-8. On Windows the destructor restores a setting, so the header cannot default it.
utf8_output::utf8_output() noexcept = default;
utf8_output::~utf8_output() {}

bool progress_is_seen() noexcept { return ::isatty(STDERR_FILENO) == 1; }

bool output_is_terminal() noexcept { return ::isatty(STDOUT_FILENO) == 1; }

namespace {

std::optional<std::size_t> columns_of(int handle) noexcept {
  winsize size{};
  if (::ioctl(handle, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace

std::optional<std::size_t> output_columns() noexcept { return columns_of(STDOUT_FILENO); }

std::optional<std::size_t> progress_columns() noexcept { return columns_of(STDERR_FILENO); }

}  // namespace qd1::platform
