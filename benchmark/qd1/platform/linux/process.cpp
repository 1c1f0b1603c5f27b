// SPDX-License-Identifier: BSL-1.0
#include "platform/process.hpp"

#include "platform/cycles.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>

namespace qd1::platform {
namespace {

void (*when_interrupted)() noexcept = nullptr;

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
  std::signal(SIGINT, [](int number) {
    when_interrupted();
    std::signal(number, SIG_DFL);
  });
}

// Terminals here take UTF-8. On Windows the destructor restores a setting, so the header cannot default it.
utf8_output::utf8_output() noexcept = default;
utf8_output::~utf8_output() {}

bool progress_is_seen() noexcept { return ::isatty(STDERR_FILENO) == 1; }

bool output_is_terminal() noexcept { return ::isatty(STDOUT_FILENO) == 1; }

std::optional<std::size_t> output_columns() noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace qd1::platform
