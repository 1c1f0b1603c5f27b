// SPDX-License-Identifier: BSL-1.0
#include "measure/progress.hpp"

#include "platform/process.hpp"
#include "text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

namespace qd1::progress {
namespace {

bool is_requested = false;
const std::uint64_t started_ns = platform::monotonic_ns();

// A terminal that has been closed, or a reader that has gone, does not end a measurement.
void put(const std::string& text) {
  try {
    fmt::print(stderr, "{}", text);
  } catch (const std::system_error&) {
    return;
  }
  std::fflush(stderr);
}

bool is_on_terminal() {
  static const bool seen = platform::progress_is_seen();
  return seen;
}

// Bytes of UTF-8 that continue a character have no column of their own.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

std::uint64_t current_run = 0;
std::uint64_t all_runs = 1;

// By what was needed so far, as soon as that means something; else by the plan.
double seconds_left(const place& at) {
  const double done = static_cast<double>(at.round * at.turns + at.turn) / static_cast<double>(at.rounds * at.turns);
  const double left = std::max(0., done < 0.02 ? at.planned - at.elapsed : at.elapsed * (1 - done) / done);
  return left + static_cast<double>(all_runs - 1 - current_run) * (at.elapsed + left);
}

}  // namespace

std::string fitting(std::string line, std::size_t columns) {
  std::size_t used = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (continues(line[at]) || used++ < columns) continue;
    line.erase(at);
  }
  return line;
}

std::string part_text(const std::string& what, std::uint64_t done, std::uint64_t of, double elapsed) {
  std::string text = fmt::format("{}: {} %", what, of == 0 ? 100 : done * 100 / of);
  if (done == 0 || elapsed <= 0) return text;
  return text + ", " + duration_text(elapsed * static_cast<double>(of - done) / static_cast<double>(done)) + " left";
}

void request() noexcept { is_requested = true; }

bool is_shown() noexcept { return is_requested || is_on_terminal(); }

void show(std::string_view what) {
  if (!is_on_terminal()) {
    static std::time_t last = 0;  // a line a second is enough
    if (!is_requested || what.empty() || std::time(nullptr) == last) return;
    last = std::time(nullptr);
    tell(what);
    return;
  }
  // A line that is broken could not be replaced.
  static std::string last;
  std::string line = fitting(printable_line(what), platform::progress_columns().value_or(80) - 1);
  if (line == last) return;
  put("\r\033[K" + line);
  last = std::move(line);
}

void tell(std::string_view what) {
  if (!is_shown()) return;
  put((is_on_terminal() ? "\r\033[K" : "") + printable(what) + '\n');
}

void clear() { show(""); }

void show_round(const place& at, const std::string& what) {
  if (!is_shown()) return;
  const std::string line = fmt::format("{}round {}/{}, {}/{}, {} left: {}", run_text(), at.round + 1, at.rounds,
                                       at.turn + 1, at.turns, duration_text(seconds_left(at)), what);
  is_on_terminal() ? show(line) : tell(line);
}

void begin_run(std::uint64_t run, std::uint64_t runs) {
  current_run = run;
  all_runs = runs;
}

std::string run_text() { return all_runs == 1 ? "" : fmt::format("run {}/{}, ", current_run + 1, all_runs); }

void tell_plan(const std::string& of_a_run, double seconds) {
  if (current_run != 0) return;
  tell(fmt::format("{}{} {}", all_runs == 1 ? "" : fmt::format("{} runs of ", all_runs), of_a_run,
                   duration_text(seconds * static_cast<double>(all_runs))));
}

double seconds_of_program() noexcept { return static_cast<double>(platform::monotonic_ns() - started_ns) * 1e-9; }

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace qd1::progress
