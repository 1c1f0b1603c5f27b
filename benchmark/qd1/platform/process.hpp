// SPDX-License-Identifier: BSL-1.0
// What the operating system reports about time and this process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1::platform {

/// Nanoseconds since some time in the past; never set back.
std::uint64_t monotonic_ns() noexcept;

/// Why the system itself does not trust the processor's counter; empty if it does.
std::string why_no_cycles();

/// Processor time of this process, user and system, of all threads, in seconds.
double processor_seconds() noexcept;

/// The resolution of that time, in seconds.
double processor_seconds_step() noexcept;

/// Bytes that have been read from devices for this process so far, by all threads. None where the system does not
/// report it.
std::optional<std::uint64_t> bytes_fetched();

/// Whether another process has the file open, or open for writing, among those that this one may inspect.
bool is_open_elsewhere(const std::string& path, bool for_writing = false);

/// Counts from the first call on how often this process was stopped and continued. None where the system does not
/// report it.
std::optional<std::uint64_t> times_stopped() noexcept;

/// Seconds since the system was started, of a clock of its own that no library comes between; and how many of them it
/// was suspended.
std::optional<double> seconds_since_boot();
double seconds_suspended() noexcept;

/// Keeps the calling thread on the processor it is on, as long as it exists, where the system lets it.
class pinned_to_this_processor {
 public:
  pinned_to_this_processor() noexcept;
  pinned_to_this_processor(const pinned_to_this_processor&) = delete;
  pinned_to_this_processor& operator=(const pinned_to_this_processor&) = delete;
  ~pinned_to_this_processor();

 private:
  std::array<std::uint64_t, 128> before_{};  // the set of processors that was allowed, in the system's own form
  bool pinned_ = false;
};

/// The processors that the calling thread may run on, by the system's numbers. Empty where the system does not report
/// them.
std::vector<std::uint64_t> allowed_processors();

/// Moves the calling thread to one of them. It is not kept there.
void go_to_processor(std::uint64_t number) noexcept;

/// Calls `tell` when the process is asked to end, in whatever thread or signal handler that arrives: by Ctrl-C, SIGTERM
/// or SIGHUP; on Windows by Ctrl-C, Ctrl-Break, or the end of the console or the session. The second Ctrl-C or SIGTERM
/// ends the process.
void on_first_interrupt(void (*tell)() noexcept);

/// From here on, printing to a pipe whose reader has gone is an error, and does not end the process.
void outlive_readers() noexcept;

/// Sleeps, or returns at once if `interrupted()`, or early when an interrupt arrives. May return early without one.
void sleep_unless(bool (*interrupted)() noexcept, double seconds) noexcept;

/// As long as it exists, terminals take what is printed for UTF-8.
class utf8_output {
 public:
  utf8_output() noexcept;
  utf8_output(const utf8_output&) = delete;
  utf8_output& operator=(const utf8_output&) = delete;
  ~utf8_output();

 private:
  [[maybe_unused]] unsigned before_ = 0;  // what the terminal took it for; on Windows
};

/// Whether standard error is watched by a person.
bool progress_is_seen() noexcept;

/// Whether standard output is a terminal that understands colors.
bool output_is_terminal() noexcept;

/// The columns of the terminal that standard output writes to; none if it is no terminal.
std::optional<std::size_t> output_columns() noexcept;
/// The same of standard error, which shows progress.
std::optional<std::size_t> progress_columns() noexcept;

}  // namespace qd1::platform
