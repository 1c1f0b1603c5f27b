// SPDX-License-Identifier: BSL-1.0
// What is being done, on standard error: one line that changes where a person watches a terminal; lines of their own
// with --progress; else nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qd1::progress {

/// Shows progress even if standard error is no terminal.
void request() noexcept;
/// Whether it is shown at all.
bool is_shown() noexcept;

/// On a terminal, replaces the line, unless it is the same; cut where the terminal ends.
void show(std::string_view what);
/// The first columns of a line.
std::string fitting(std::string line, std::size_t columns);
/// "writing 1 GiB of data: 40 %, 3 s left", after `elapsed` seconds.
std::string part_text(const std::string& what, std::uint64_t done, std::uint64_t of, double elapsed);
/// A line that stays.
void tell(std::string_view what);
/// Leaves the line empty.
void clear();

struct place {
  std::uint64_t round, rounds;
  std::size_t turn, turns;
  double elapsed;  ///< seconds
  double planned;  ///< seconds of all rounds, at most
};

void show_round(const place& at, const std::string& what);

/// From here on, `run` of `runs` is measured, counted from 0. All take equally long.
void begin_run(std::uint64_t run, std::uint64_t runs);
/// "run 2/5, "; empty: there is one run.
std::string run_text();
/// Before the first run, a line that stays: "5 runs of 8 series, up to 5 s each: at most 3 min". `seconds`: of one run.
void tell_plan(const std::string& of_a_run, double seconds);

/// Since qd1 was started, with the time in which data were written.
double seconds_of_program() noexcept;

/// "2 min 5 s", "40 s"
std::string duration_text(double seconds);

}  // namespace qd1::progress
