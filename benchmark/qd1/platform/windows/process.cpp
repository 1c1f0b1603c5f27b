// SPDX-License-Identifier: BSL-1.0
#include "platform/process.hpp"

#include <qio/system/windows/calls.hpp>

#include <io.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace qd1::platform {
namespace {

// Answered by a thread that Windows starts for it.
std::atomic<void (*)() noexcept> when_interrupted = nullptr;

BOOL WINAPI interrupted(DWORD event) {
  void (*const tell)() noexcept = when_interrupted.exchange(nullptr);
  if (tell != nullptr) tell();
  if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT)
    return tell != nullptr ? TRUE : FALSE;  // the second time: Windows ends the process
  // The console or the session ends, and so does the process when this returns, or after 5 s (HandlerRoutine's
  // documentation).
  ::Sleep(INFINITE);
  return TRUE;
}

double seconds(const FILETIME& time) {
  constexpr double unit = 1e-7;
  return (static_cast<double>(time.dwHighDateTime) * 4294967296. + static_cast<double>(time.dwLowDateTime)) * unit;
}

static_assert(sizeof(GROUP_AFFINITY) <= sizeof(std::array<std::uint64_t, 128>));

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  static const std::uint64_t frequency = [] {
    LARGE_INTEGER ticks_a_second;
    ::QueryPerformanceFrequency(&ticks_a_second);  // does not fail since Windows XP, nor does the other
    return static_cast<std::uint64_t>(ticks_a_second.QuadPart);
  }();
  LARGE_INTEGER now;
  ::QueryPerformanceCounter(&now);
  const auto ticks = static_cast<std::uint64_t>(now.QuadPart);
  constexpr std::uint64_t second = 1'000'000'000;
  return ticks / frequency * second + ticks % frequency * second / frequency;
}

std::optional<std::uint64_t> times_stopped() noexcept { return std::nullopt; }

std::optional<double> seconds_since_boot() { return static_cast<double>(::GetTickCount64()) * 1e-3; }

double seconds_suspended() noexcept {
  ULONGLONG awake = 0;  // in steps of 100 ns
  if (::QueryUnbiasedInterruptTime(&awake) == 0) return 0;
  return static_cast<double>(::GetTickCount64()) * 1e-3 - static_cast<double>(awake) * 1e-7;
}

// Windows does not report it. What is left is how far both clocks have gone apart by the end of the run, which is
// printed.
std::string why_no_cycles() { return {}; }

double processor_seconds() noexcept {
  FILETIME created, exited, kernel, user;
  if (::GetProcessTimes(::GetCurrentProcess(), &created, &exited, &kernel, &user) == 0) return 0;
  return seconds(kernel) + seconds(user);
}

// The thread that runs at a tick is charged the time since the last tick: 64 ticks a second.
double processor_seconds_step() noexcept { return 1. / 64; }

std::optional<std::uint64_t> bytes_fetched() { return std::nullopt; }

bool is_open_elsewhere(const std::string&, bool) { return false; }

pinned_to_this_processor::pinned_to_this_processor() noexcept {
  PROCESSOR_NUMBER here;
  ::GetCurrentProcessorNumberEx(&here);
  GROUP_AFFINITY only{};
  only.Group = here.Group;
  only.Mask = KAFFINITY(1) << here.Number;
  GROUP_AFFINITY before{};
  pinned_ = ::SetThreadGroupAffinity(::GetCurrentThread(), &only, &before) != 0;
  std::memcpy(before_.data(), &before, sizeof before);
}

pinned_to_this_processor::~pinned_to_this_processor() {
  GROUP_AFFINITY before;
  std::memcpy(&before, before_.data(), sizeof before);
  if (pinned_) ::SetThreadGroupAffinity(::GetCurrentThread(), &before, nullptr);
}

// The processors of the group that the process belongs to: 64 at most.
std::vector<std::uint64_t> allowed_processors() {
  std::vector<std::uint64_t> found;
  DWORD_PTR allowed = 0;
  DWORD_PTR all = 0;
  if (::GetProcessAffinityMask(::GetCurrentProcess(), &allowed, &all) == 0) return found;
  for (std::uint64_t each = 0; each < 8 * sizeof allowed; ++each)
    if ((allowed >> each & 1) != 0) found.push_back(each);
  return found;
}

void go_to_processor(std::uint64_t number) noexcept {
  const DWORD_PTR before = ::SetThreadAffinityMask(::GetCurrentThread(), DWORD_PTR(1) << number);
  if (before != 0) ::SetThreadAffinityMask(::GetCurrentThread(), before);
}

void on_first_interrupt(void (*tell)() noexcept) {
  when_interrupted = tell;
  ::SetConsoleCtrlHandler(interrupted, TRUE);
}

// Here it is always an error.
void outlive_readers() noexcept {}

// Console events arrive on a thread of their own and wake nobody.
void sleep_unless(bool (*interrupted)() noexcept, double seconds) noexcept {
  constexpr double step = 0.02;
  for (double left = seconds; left > 0 && !interrupted(); left -= step)
    ::Sleep(static_cast<DWORD>(std::ceil((left < step ? left : step) * 1000)));
}

utf8_output::utf8_output() noexcept : before_(::GetConsoleOutputCP()) { ::SetConsoleOutputCP(CP_UTF8); }
utf8_output::~utf8_output() { ::SetConsoleOutputCP(before_); }

bool progress_is_seen() noexcept {
  // Only where the terminal understands how a line is erased.
  const HANDLE terminal = ::GetStdHandle(STD_ERROR_HANDLE);
  DWORD mode = 0;
  if (::_isatty(::_fileno(stderr)) == 0 || ::GetConsoleMode(terminal, &mode) == 0) return false;
  return ::SetConsoleMode(terminal, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

bool output_is_terminal() noexcept {
  const HANDLE terminal = ::GetStdHandle(STD_OUTPUT_HANDLE);
  DWORD mode = 0;
  if (::_isatty(::_fileno(stdout)) == 0 || ::GetConsoleMode(terminal, &mode) == 0) return false;
  return ::SetConsoleMode(terminal, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

namespace {

std::optional<std::size_t> columns_of(DWORD stream) noexcept {
  CONSOLE_SCREEN_BUFFER_INFO facts;
  if (::GetConsoleScreenBufferInfo(::GetStdHandle(stream), &facts) == 0) return std::nullopt;
  return static_cast<std::size_t>(facts.srWindow.Right - facts.srWindow.Left + 1);
}

}  // namespace

std::optional<std::size_t> output_columns() noexcept { return columns_of(STD_OUTPUT_HANDLE); }

std::optional<std::size_t> progress_columns() noexcept { return columns_of(STD_ERROR_HANDLE); }

}  // namespace qd1::platform
