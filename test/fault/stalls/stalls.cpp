// The situations in which a context's thread might be blocked. For each change in a small form, which
// asserts results, counts, and that the context continues while something is held: what is held is released only after
// beats of the context. Nightly, `stalls '[table]'` also asserts bounds in time and prints the table of docs/stalls.md.
#include "catch.hpp"
#include "child_process.hpp"
#include "place.hpp"
#include "situations.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using namespace std::chrono_literals;
using namespace stalls;

/// What does not depend on time.
void check_results(const situation& each, const outcome& found) {
  CHECK(found.wrong.empty());
  CHECK(found.operations == found.right);
  CHECK(found.was_released);
  const qio::file_statistics& counts = found.statistics;
  const std::uint64_t served = counts.served_inline + counts.served_by_ring + counts.served_by_worker;
  if (served != 0) {
    CHECK(served >= found.transfers);
    CHECK(served <= found.operations);
  }
  if (each.never) CHECK(counts.served_inline == 0);
}

/// All situations of that name.
void check(const std::string& name) {
  std::string missing = "there is no such situation";
  bool was_there = false;
  for (const situation& each : all_situations()) {
    if (each.name != name || each.only_full) continue;
    const outcome found = each.bring_about({.never = each.never});
    if (!found.missing.empty()) {
      missing = found.missing;
      continue;
    }
    was_there = true;
    INFO(found.done << (found.wrong.empty() ? "" : ": ") << found.wrong);
    CHECK(found.beats.count() != 0);
    check_results(each, found);
  }
  if (!was_there) QIO_SKIP(missing);
}

// --- The table ---

constexpr nanoseconds longest_turn = 20ms, usual_turn = 1ms;
// A deadline after 5 ms has the operation canceled within 7 ms.
constexpr nanoseconds latest_cancellation = 2ms;
constexpr std::size_t enough_beats = 10'000;

std::string duration(nanoseconds time) {
  const double us = std::chrono::duration<double, std::micro>(time).count();
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), us < 1000 ? "%.0f µs" : "%.1f ms", us < 1000 ? us : us / 1000);
  return text.data();
}

/// What is not kept of the promise; empty if all of it is.
std::string broken(const situation& each, const outcome& found) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (!found.wrong.empty()) add("wrong result: " + found.wrong);
  if (!found.was_released) add("blocked until the time limit");
  const nanoseconds longest = found.beats.longest_turn();
  if (each.kept == promise::always) {
    if (longest > longest_turn) add("turn > 20 ms");
    if (found.beats.count() >= enough_beats && found.beats.nearly_all() > usual_turn) add("99.99 % > 1 ms");
    if (found.cancels.longest_turn() > latest_cancellation) add("canceled after 7 ms");
  }
  // The wait that began the last pause may not have been paid for when the measurement ends.
  if (each.kept == promise::pauses && found.beats.blocked() - longest > found.took / 17)
    add("waits for more than 1/17 of the time");
  return text;
}

form full_form() {
  form how{.full = true};
  if (const char* const seconds = std::getenv("QIO_STALLS_SECONDS"))
    how.time = std::chrono::seconds(std::atol(seconds));
  return how;
}

void print_row(const std::string& name, const std::string& done, const outcome& found, const std::string& verdict) {
  const bool has_deadlines = found.cancels.count() != 0;
  std::printf("| %s | %s | %s | %s | %s | %s | %llu | %s |\n", name.c_str(), done.c_str(),
              duration(found.beats.longest_turn()).c_str(), duration(found.beats.nearly_all()).c_str(),
              duration(found.beats.worst()).c_str(),
              has_deadlines ? duration(found.cancels.longest_turn()).c_str() : "–",
              static_cast<unsigned long long>(found.statistics.blocked_submissions), verdict.c_str());
  std::fflush(stdout);
}

/// "some": for how long at least one task of the group waited for I/O. Negative if the kernel does not count it.
std::chrono::microseconds io_pressure(const std::string& group) {
  std::ifstream file(group + "/io.pressure");
  std::string word;
  while (file >> word)
    if (word.starts_with("total=")) return std::chrono::microseconds(std::atoll(word.c_str() + 6));
  return -1us;
}

/// A control group of version 2, for this process's child; empty if there is none. Needs no controller.
std::string new_group() {
  const std::string root = output_of("awk '$3 == \"cgroup2\" { print $2; exit }' /proc/self/mounts");
  const std::string group = root + "/qio-stalls-" + std::to_string(::getpid());
  return root.empty() || ::mkdir(group.c_str(), 0755) != 0 ? std::string() : group;
}

}  // namespace

TEST_CASE("cold reads return the right data, and their counts add up") { check("cold reads"); }
TEST_CASE("a context continues while the device of its reads hangs") { check("a device that hangs"); }
TEST_CASE("a context continues to read while another process holds the file's lock") { check("a held lock"); }
TEST_CASE("a context that runs nothing inline continues while another process holds the file's lock") {
  check("a held lock, nothing inline");
}
TEST_CASE("transfers beside a process that uses the same file return what they must") {
  check("a busy file");
  check("a busy file, nothing inline");
}
TEST_CASE("writes beside a process that keeps the journal busy return what they must") {
  check("a slow journal");
  check("a slow journal, nothing inline");
}
TEST_CASE("writes to a disk that another process fills and frees succeed or find no space") {
  check("a full disk");
  check("a full disk, nothing inline");
}
TEST_CASE("operations on a frozen file system complete after it") { check("a frozen file system"); }
TEST_CASE("a context that runs nothing inline continues while a file system is frozen") {
  check("a frozen file system, nothing inline");
}
TEST_CASE("a context continues while a FUSE daemon is stopped") { check("a stopped FUSE daemon"); }
TEST_CASE("opening a file of the lower layer for writing returns that file") { check("copy-up"); }
TEST_CASE("a context continues while an open waits for a copy between the layers of an overlay") {
  check("a copy-up that waits");
}
TEST_CASE("a context continues while an open waits for another process's lease") { check("a lease"); }
TEST_CASE("a context continues while the device of its reads is suspended") { check("a suspended device"); }

TEST_CASE("no situation blocks a context's thread for longer than promised", "[.][table]") {
  if (!why_no_private_mounts().empty()) QIO_SKIP(why_no_private_mounts());
  form how = full_form();
  const char* const only = std::getenv("QIO_STALLS_ONLY");
  std::printf(
      "| situation | what was done | longest turn | 99.99 %% | timer | deadline | blocked_submissions | bound |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const situation& each : all_situations()) {
    if (only != nullptr && each.name.find(only) == std::string::npos) continue;
    how.never = each.never;
    const outcome found = each.bring_about(how);
    if (!found.missing.empty()) {
      std::printf("| %s | not here: %s | – | – | – | – | – | – |\n", each.name.c_str(), found.missing.c_str());
      continue;
    }
    const std::string failure = broken(each, found);
    const std::string kept = each.kept == promise::none ? "(for comparison)" : "kept";
    print_row(each.name, found.done, found, failure.empty() ? kept : "**" + failure + "**");
    INFO(each.name << ": " << found.done << ": " << failure);
    CHECK(failure.empty());
    check_results(each, found);
    if (each.kept == promise::always && !found.opens) CHECK(found.statistics.blocked_submissions == 0);
  }
}

// The kernel counts a thread that waits for a ring's completions (io_uring_enter) as waiting for I/O, even if all that
// is in flight listens for wake(), unless the call has IORING_ENTER_NO_IOWAIT. A control group of its own leaves out
// what other processes wait for.
TEST_CASE("an idle context does not count as waiting for I/O") {
  const std::string group = new_group();
  if (group.empty()) QIO_SKIP("no control group of version 2 can be made");
  const int pressure = qio_test::in_child([&] {  // of 10 ms each
    std::ofstream(group + "/cgroup.procs") << ::getpid() << std::flush;
    auto context = qio::context::create().value();
    const auto before = io_pressure(group);
    if (before < 0us) return 98;
    const auto sleep = [&]() -> qio::task<void> { static_cast<void>(co_await context.sleep_for(500ms)); };
    context.run(sleep());
    return static_cast<int>((io_pressure(group) - before) / 10ms);
  });
  ::rmdir(group.c_str());
  if (pressure == 98) QIO_SKIP("the kernel does not count what a control group waits for (io.pressure)");
  CHECK(pressure < 25);
}
